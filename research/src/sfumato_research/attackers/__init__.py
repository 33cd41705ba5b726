"""Which attack gets most out of which release: one table of both (research/protocol.md)."""
