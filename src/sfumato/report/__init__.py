"""Reports: figures as one self-contained HTML page."""
