"""What protectors of this project leak and keep."""
