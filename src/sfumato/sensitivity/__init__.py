"""Where a concept lives in an embedding: masks and noise covariances."""

from sfumato.sensitivity.mask import Mask
from sfumato.sensitivity.shapes import Dense, Diagonal, Factored, Shape

__all__ = ["Dense", "Diagonal", "Factored", "Mask", "Shape"]
