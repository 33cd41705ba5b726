"""Adapters: protected embeddings where other frameworks expect an encoder of their own."""
