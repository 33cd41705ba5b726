"""Detectors side by side: what they find, what an attacker reads behind each, what they cost."""
