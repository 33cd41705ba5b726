"""ONNX models as bytes: the few messages of its protobuf format that a graph is made of.

Field numbers are those of onnx.proto3, in the order in which they stand there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Attribute = int | float | Sequence[int]
_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
_FLOAT, _INT, _INTS = 1, 2, 7
CONTRIBUTED = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""


def tensor(name: str, values: NDArray[np.generic]) -> bytes:
    """A constant of the graph."""
    dims = b"".join(_number(1, size) for size in values.shape)
    kind = _number(2, _TYPES[values.dtype.name])
    return dims + kind + _text(8, name) + _bytes(9, np.ascontiguousarray(values).tobytes())


def node(
    kind: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Attribute] | None = None,
    domain: str = "",
) -> bytes:
    """One operator."""
    parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs]
    parts += [_text(3, outputs[0]), _text(4, kind)]
    parts += [_bytes(5, _attribute(name, value)) for name, value in (attributes or {}).items()]
    return b"".join([*parts, _text(7, domain)])


def value(name: str, shape: Sequence[str | int]) -> bytes:
    """A float input or output; a size that is a name may be any."""
    sizes = (_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape)
    dims = b"".join(_bytes(1, size) for size in sizes)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, _TYPES["float32"]) + _bytes(2, dims)))


def model(
    nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes]
) -> bytes:
    """The whole, for operators of opset 17 and of ONNX Runtime."""
    graph = [_bytes(1, each) for each in nodes]
    graph += [_text(2, "sfumato"), *(_bytes(5, each) for each in tensors)]
    graph += [*(_bytes(11, each) for each in inputs), *(_bytes(12, each) for each in outputs)]
    opsets = [_bytes(8, _text(1, domain) + _number(2, at)) for domain, at in (("", 17), (CONTRIBUTED, 1))]
    return b"".join([_number(1, 8), *opsets, _bytes(7, b"".join(graph))])


def _attribute(name: str, given: Attribute) -> bytes:
    if isinstance(given, float):
        return _text(1, name) + _varint(2 << 3 | 5) + np.float32(given).tobytes() + _number(20, _FLOAT)
    if isinstance(given, int):
        return _text(1, name) + _number(3, given) + _number(20, _INT)
    return _text(1, name) + b"".join(_number(8, each) for each in given) + _number(20, _INTS)


def _number(field: int, given: int) -> bytes:
    return _varint(field << 3) + _varint(given)


def _text(field: int, given: str) -> bytes:
    return _bytes(field, given.encode())


def _bytes(field: int, given: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(given)) + given


def _varint(given: int) -> bytes:
    given &= (1 << 64) - 1
    found = bytearray()
    while given > 0x7F:
        found.append(given & 0x7F | 0x80)
        given >>= 7
    return bytes([*found, given])
