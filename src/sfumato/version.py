"""The version, in one place: the package metadata is built from this file."""

__version__ = "0.2.0"
