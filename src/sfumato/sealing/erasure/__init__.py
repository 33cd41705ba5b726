"""Salts of rows, and their destruction."""
