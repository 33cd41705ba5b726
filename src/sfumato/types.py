"""Names for the arrays that are passed around."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""`(n, d)` embeddings as they are released."""
Floats = NDArray[np.float64]
"""What is computed with."""
FloatArray = NDArray[np.float32] | NDArray[np.float64]
"""Embeddings as they come in."""
Rows = NDArray[np.intp]
"""Numbers of rows."""
Flags = NDArray[np.bool_]
"""Which rows."""
