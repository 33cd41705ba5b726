"""One part of each kind for Sfumato."""
