"""The tables of STAMP, run again."""
