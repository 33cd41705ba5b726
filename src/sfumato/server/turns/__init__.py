"""The work of a request: its turn, its share of the processor, texts embedded together, one release."""
