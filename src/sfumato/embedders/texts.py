"""What every embedder asks of the texts and of the vectors it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, VectorError

_AT_ONCE = 1 << 14
"""Rows of a tensor that are widened to float64 at a time."""


def checked_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list, or refuse them all, naming a row and never its content."""
    if isinstance(texts, str | bytes):
        raise InputError(f"`texts` must be a list of str. Found a single {type(texts).__name__}.")
    found = list(texts)
    wrong = ""
    for row, text in enumerate(found):
        if not isinstance(text, str):
            wrong = f"must be a str. Found {type(text).__name__}."
        elif not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                wrong = "must be encodable in UTF-8. Found half of a surrogate pair."
        if wrong:  # raised out here because a chained UnicodeEncodeError would carry the text
            raise InputError(f"Row {row} of `texts` {wrong}")
    return found


def unit_rows(vectors: NDArray[Any], first_row: int = 0) -> NDArray[np.float32]:
    """Return the rows at unit length; each depends on its own numbers alone, to the last bit."""
    wide: NDArray[np.float64] = np.asarray(vectors, np.float64)
    lengths = np.sqrt(_row_sums(wide * wide))
    good = np.isfinite(lengths) & (lengths > 0)
    if not good.all():
        _refuse(first_row + int(np.argmin(good[:, 0])))
    units: NDArray[np.float32] = (wide / lengths).astype(np.float32)
    return units


def unit_tensor(vectors: Any) -> Any:
    """Return the rows of a tensor at unit length, on its device, with the bits of `unit_rows`."""
    import torch

    if vectors.device.type != "cuda":  # where torch's square root may be off by a last place
        return torch.from_numpy(unit_rows(vectors.cpu().numpy())).to(vectors.device)
    return _unit_there(vectors)


def _unit_there(vectors: Any) -> Any:
    import torch

    units = torch.empty_like(vectors)
    bad = []
    for rows, out in zip(vectors.split(_AT_ONCE), units.split(_AT_ONCE), strict=True):
        wide = rows.double()
        lengths = _row_sums(wide * wide).sqrt()
        bad.append(~(torch.isfinite(lengths) & (lengths > 0)))
        out.copy_(wide / lengths)
    wrong = torch.nonzero(torch.cat(bad))
    if len(wrong):
        _refuse(int(wrong[0, 0]))
    return units


def _row_sums(terms: Any) -> Any:
    """`[n, 1]` sums of the rows, added in an order that arrays and tensors share: half to half."""
    while terms.shape[1] > 1:
        half = terms.shape[1] // 2
        folded = terms[:, :half] + terms[:, half : 2 * half]
        if terms.shape[1] % 2:
            folded[:, 0] += terms[:, -1]
        terms = folded
    return terms


def _refuse(row: int) -> NoReturn:
    raise VectorError(
        f"The model gave row {row} a vector that is zero or not finite. Leave that text out, or use "
        "another model.",
        row,
    )
