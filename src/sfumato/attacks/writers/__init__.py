"""Attacks that write the text: a small network of our own, and what corrects it."""
