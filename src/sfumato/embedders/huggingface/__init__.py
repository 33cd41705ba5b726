"""Local Hugging Face models, for the encoder that is made of one and for the attacks that write with them."""
