"""A token tagger on MiniLM's first layers: people, places, dates, diseases and more, in texts of any case."""
