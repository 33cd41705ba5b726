"""Which language a text is in, and which texts no detector reads."""
