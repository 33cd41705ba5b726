"""What finds a concept in a text, one file a way."""
