"""Releases too large for memory: files in, files out, resumable."""
