"""Sealed collections over HTTP: which ones a tenant has, one client for each, what is asked of them."""
