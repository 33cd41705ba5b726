"""Texts with a concept, without it, with another in its place, and which of them are alike."""
