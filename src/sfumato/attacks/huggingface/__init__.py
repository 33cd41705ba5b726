"""Attacks that train or load Hugging Face models from local folders."""
