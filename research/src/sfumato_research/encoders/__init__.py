"""How good the study encoders are: similarity, search and the room their vectors take."""
