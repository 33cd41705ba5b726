"""Research on Sfumato: papers run again on public data, and what only that needs."""

__version__ = "0.2.0"
