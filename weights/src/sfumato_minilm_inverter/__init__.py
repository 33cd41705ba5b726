"""Weights that read all-MiniLM-L6-v2 vectors back into text: `sfumato attack vectors.npy --attack minilm`."""

from pathlib import Path

__version__ = "0.2.0"


def model_path() -> str:
    """The folder with config.json and tensors.safetensors."""
    return str(Path(__file__).parent / "model")
