"""Open concepts: spans of the notes that are like a few examples, for a person to confirm."""
