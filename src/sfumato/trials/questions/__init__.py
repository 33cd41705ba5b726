"""Attackers who ask something else than what a vector says: the worst case, many releases, known texts, an oracle."""
