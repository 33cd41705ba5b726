"""The tables of PRIVEMB, run again."""
