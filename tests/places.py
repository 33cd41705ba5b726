"""Where tests of tensors put them: on a GPU if the machine has one, as CI's has not."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def there(array: NDArray[np.generic]) -> torch.Tensor:
    """An array as a tensor on the device."""
    return torch.from_numpy(array).to(DEVICE)
