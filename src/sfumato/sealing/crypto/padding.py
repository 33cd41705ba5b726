"""Padmé: sizes that tell little, at 12 % more bytes at most (Nikitin et al., PETS 2019, section 4).

A size keeps only as many leading bits as its own length has bits, so that what is under M bytes has
O(log log M) bits of size left. Below `LEAST`, where Padmé would hide next to nothing, all sizes are one.
"""

from __future__ import annotations

from sfumato.errors import ArtifactError, ParameterError

LEAST = 64
"""The smallest size class, in bytes."""
LARGEST = (1 << 30) - 1
"""Bytes that may be padded."""

_PREFIX = 4


def padme(length: int) -> int:
    """The smallest size of Padmé that is not under `length`."""
    if length < 2:
        return max(length, 0)
    exponent = length.bit_length() - 1
    dropped = exponent - exponent.bit_length()
    mask = (1 << dropped) - 1 if dropped > 0 else 0
    return (length + mask) & ~mask


def size_class(length: int) -> int:
    """The number of bytes that `padded` makes of `length` bytes, its own length among them."""
    if not 0 <= length <= LARGEST:
        raise ParameterError(f"What is padded must have 0 to {LARGEST} bytes. Found {length}.")
    return padme(max(length + _PREFIX, LEAST))


def padded(plain: bytes) -> bytes:
    """The length, the bytes, and zeros up to a size that many other lengths share."""
    size = size_class(len(plain))
    return (len(plain).to_bytes(_PREFIX, "big") + plain).ljust(size, b"\0")


def unpadded(whole: bytes) -> bytes:
    """What `padded` was given; anything that it does not make is refused."""
    length = int.from_bytes(whole[:_PREFIX], "big")
    end = _PREFIX + length
    # A second spelling of the same bytes would be a place to hide something in.
    if length > LARGEST or len(whole) != size_class(length) or whole.count(0, end) != len(whole) - end:
        raise ArtifactError("A padded record must be as long as its length asks for. It is damaged.")
    return whole[_PREFIX:end]
