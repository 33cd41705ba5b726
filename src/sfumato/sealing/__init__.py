"""Sealed search: rows that a store can find and cannot read."""
