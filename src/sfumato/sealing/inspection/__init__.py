"""Looking at what others hold: bytes of files, for what must not be there; a store, for what it shows."""
