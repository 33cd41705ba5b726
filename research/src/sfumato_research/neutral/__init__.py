"""Ways of making a text neutral, side by side: research/protocol-neutral.md."""
