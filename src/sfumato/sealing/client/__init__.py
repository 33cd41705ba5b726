"""The client of a sealed collection: its file, what it sends, how it writes, learns cells and searches."""
