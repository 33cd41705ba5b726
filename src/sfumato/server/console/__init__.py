"""The page a person looks at, and what it can try."""
