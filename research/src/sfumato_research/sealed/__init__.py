"""What sealed search costs, and what a store that holds it can learn: research/protocol.md."""
