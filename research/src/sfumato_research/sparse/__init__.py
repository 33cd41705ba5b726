"""The tables of SPARSE, run again."""
