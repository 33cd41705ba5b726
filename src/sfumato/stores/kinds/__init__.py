"""One file a vector store, and what reads the folders they keep."""
