"""What a protector leaks and keeps where people labelled what is sensitive: research/protocol.md."""
