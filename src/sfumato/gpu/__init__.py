"""Noise on a GPU: torch tensors in and out, the guarantees of `sfumato.mechanisms`."""

from sfumato.gpu.plans import runs_on_device
from sfumato.gpu.release import BackendName, on_device, privatize

__all__ = ["BackendName", "on_device", "privatize", "runs_on_device"]
