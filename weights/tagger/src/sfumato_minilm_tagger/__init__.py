"""Weights that find people, places, dates, identifiers and medical terms: Sfumato's detector `tagger`."""

__version__ = "0.2.0"
