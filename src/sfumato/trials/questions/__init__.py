"""Attackers who ask another question: the worst case, many releases, known texts, an oracle."""
