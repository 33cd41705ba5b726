"""Cells that only the client knows: learned, routed to, and measured."""
