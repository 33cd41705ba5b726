"""Attacks on texts that are known: which one is it, and what lies between two spaces."""
