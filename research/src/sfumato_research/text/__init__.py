"""Readers, judges and made-up passages behind the study of private text (STAMP), and an attack on it."""
