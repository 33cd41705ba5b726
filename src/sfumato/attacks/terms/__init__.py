"""Attacks that name the sensitive terms of a text."""
