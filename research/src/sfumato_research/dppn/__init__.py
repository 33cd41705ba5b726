"""The tables of DPPN, run again."""
