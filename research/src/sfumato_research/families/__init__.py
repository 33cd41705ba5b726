"""The frontier study on several families of encoders (research/protocol-families.md)."""
