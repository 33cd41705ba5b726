"""SmolLM2-135M as an encoder, and the spread of its states that its vectors are divided by."""
