"""Terms everybody knows: people, places, organisations, medicine."""
