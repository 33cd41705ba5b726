"""A memory for assistants on a sealed collection: what is remembered, what is asked, who serves it."""
