"""Vectors come back from their bytes within the stated error, and other bytes are refused."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import ArtifactError, ParameterError, VectorError
from sfumato.sealing.crypto.packing import pack, packed_size, unpack

RNG = np.random.Generator(np.random.PCG64(3))
UNIT = RNG.standard_normal((500, 384)).astype(np.float32)
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)


def test_int8_is_off_by_half_a_step_at_most_and_the_largest_value_is_kept():
    largest = np.abs(UNIT).max(axis=1, keepdims=True)
    for vectors in (UNIT, UNIT.astype(np.float64) * 1e6, UNIT * 1e-20):
        back = unpack(pack(vectors, "int8"), 384, "int8")
        step = np.abs(vectors).max(axis=1, keepdims=True) / 127
        assert (np.abs(back - vectors) <= step * 0.50001).all()
    back = unpack(pack(UNIT, "int8"), 384, "int8")
    assert np.allclose(np.abs(back).max(axis=1, keepdims=True), largest, rtol=1e-6)
    cosine = (back * UNIT).sum(axis=1) / np.linalg.norm(back, axis=1)
    assert cosine.min() > 0.9999


def test_an_int8_row_is_a_scale_and_its_steps():
    (part,) = pack(np.array([[1.0, -0.5, 0.25]]), "int8")
    assert np.frombuffer(part[:4], "<f4")[0] == np.float32(1 / 127)
    assert np.frombuffer(part[4:], "i1").tolist() == [127, -64, 32]


def test_half_and_single_precision_are_what_numpy_makes_of_them():
    for precision, dtype in (("float16", "<f2"), ("float32", "<f4")):
        parts = pack(UNIT, precision)
        assert parts == [row.tobytes() for row in UNIT.astype(dtype)]
        assert np.array_equal(unpack(parts, 384, precision), UNIT.astype(dtype).astype(np.float32))


@pytest.mark.parametrize("precision", ["int8", "float16", "float32"])
def test_shapes_sizes_and_edges(precision):
    for count, dim in ((0, 5), (1, 1), (3, 7)):
        vectors = RNG.standard_normal((count, dim)).astype(np.float32)
        parts = pack(vectors, precision)
        back = unpack(parts, dim, precision)
        assert back.shape == (count, dim) and back.dtype == np.float32 and back.flags.writeable
        assert all(len(part) == packed_size(dim, precision) for part in parts)
    edges = np.array([[0, 0, 0], [1e-45, 0, -1e-45], [-1, 0, 0]], np.float32)
    assert np.allclose(unpack(pack(edges, precision), 3, precision), edges, atol=1e-40)


def test_int8_at_the_ends_of_single_precision():
    ends = np.array([[3.4e38, -3.4e38, 1.0]], np.float32)
    assert np.allclose(unpack(pack(ends, "int8"), 3, "int8"), ends, rtol=1e-6, atol=1e36)
    for share in np.linspace(0.999999, 1, 20):  # what is packed is unpacked, or was refused
        last = np.array([[np.finfo(np.float32).max * share]])
        try:
            parts = pack(last, "int8")
        except VectorError:
            continue
        assert np.allclose(unpack(parts, 1, "int8"), last, rtol=1e-6)


@pytest.mark.parametrize(("precision", "value"), [("int8", 1e300), ("float16", 70_000.0), ("float32", 1e39)])
def test_a_value_too_large_names_its_row(precision, value):
    with pytest.raises(VectorError, match=f"Row 1 has a value too large for {precision}") as caught:
        pack(np.array([[1.0, 2.0], [value, 0.0]]), precision)
    assert caught.value.row == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(bad):
    with pytest.raises(VectorError):
        pack(np.array([[1.0, bad]]), "int8")


def test_parts_of_another_size_are_refused_by_number():
    parts = pack(UNIT[:5], "int8")
    parts[3] = parts[3][:-1]
    with pytest.raises(ArtifactError, match="Row 3 has 387"):
        unpack(parts, 384, "int8")
    with pytest.raises(ArtifactError, match="Row 0"):
        unpack(pack(UNIT[:1], "int8"), 384, "float16")


@pytest.mark.parametrize("precision", ["int8", "float16", "float32"])
def test_parts_that_hold_no_finite_values_are_refused(precision):
    size = packed_size(4, precision)
    with pytest.raises(ArtifactError, match="finite"):
        unpack([b"\0" * size, b"\xff" * size], 4, precision)


def test_settings_are_checked():
    with pytest.raises(ParameterError, match="int8, float16"):
        pack(UNIT, "int4")
    with pytest.raises(ParameterError, match="at least one"):
        unpack([], 0, "int8")
