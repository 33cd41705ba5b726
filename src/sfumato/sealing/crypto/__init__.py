"""Keys, sealed records and files, and the sizes they have."""
