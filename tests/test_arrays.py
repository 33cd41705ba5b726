"""The gate: what comes in, in which form, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.arrays import as_vectors, check_rows, row_blocks
from sfumato.errors import InputError, ParameterError, VectorError
from sfumato.numbers import finite_number, whole_number

ROWS = np.array([[3.0, 4.0], [0.0, 1.0], [1.0, 0.0]]) / 5.0


class FakeTensor:
    """Looks like a torch tensor that needs gradients."""

    def __init__(self, values, dtype="torch.float32"):
        self.values, self.dtype = values, dtype

    def detach(self):
        return self

    def cpu(self):
        return self

    def float(self):
        return FakeTensor(self.values.astype(np.float32))

    def numpy(self):
        if self.dtype == "torch.bfloat16":
            raise TypeError("numpy has no bfloat16")
        return self.values


FakeTensor.__module__ = "torch"


@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        ROWS.tolist(),
        tuple(map(tuple, ROWS)),
        np.ma.array(ROWS),
        pa.array(ROWS.tolist()),
        pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 2),
        pa.chunked_array([ROWS[:1].tolist(), ROWS[1:].tolist()]),
        FakeTensor(ROWS),
        FakeTensor(ROWS, "torch.bfloat16"),
        ROWS.astype(">f8"),
        np.asfortranarray(ROWS),
    ],
    ids=[
        "numpy",
        "list",
        "tuple",
        "masked",
        "arrow-list",
        "arrow-fixed",
        "arrow-chunks",
        "torch",
        "bf16",
        "big",
        "F",
    ],
)
def test_every_form_gives_the_same_rows(given):
    array = as_vectors(given)
    assert array.dtype in (np.float32, np.float64) and array.dtype.isnative
    assert np.allclose(array, ROWS, atol=1e-7)


def test_precision_is_kept_and_arrays_are_not_copied():
    single = ROWS.astype(np.float32)
    assert as_vectors(single) is single
    assert as_vectors(ROWS) is ROWS
    assert as_vectors(ROWS.astype(np.float16)).dtype == np.float32
    assert as_vectors(np.array([[1, 2]])).dtype == np.float64


def test_a_slice_of_an_arrow_column_is_that_slice():
    column = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 2)
    assert np.array_equal(as_vectors(column[1:]), ROWS[1:])
    assert as_vectors(column[:0]).shape == (0, 2)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ([[1.0], [1.0, 2.0]], "rectangular|real numbers"),
        ([["a", "b"]], "real numbers"),
        (np.array([[True]]), "real numbers"),
        (np.array([[1j]]), "real numbers"),
        (np.array([[None, 1.0]]), "real numbers"),
        (np.zeros(3), "two-dimensional.*X\\[None"),
        (np.zeros((1, 2, 3)), "two-dimensional"),
        (np.float64(1.0), "two-dimensional"),
        (np.zeros((2, 0)), "at least one dimension"),
        (None, "real numbers|two-dimensional"),
        ("text", "real numbers"),
        (np.ma.masked_array([[1.0, 2.0]], [[False, True]]), "masked"),
        (pa.array([1.0, 2.0]), "list type"),
        (pa.array([[1.0], None]), "Row 1 .* null"),
        (pa.array([[1.0], [None]]), "null numbers"),
        (pa.array([[1.0], [1.0, 2.0]]), "one length"),
    ],
)
def test_what_is_no_array_of_vectors_is_refused(given, rule):
    with pytest.raises(VectorError, match=rule) as caught:
        as_vectors(given)
    assert isinstance(caught.value, InputError) and isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_wrong_dimension_is_named():
    with pytest.raises(VectorError, match="dimension 3. Found 2"):
        as_vectors(ROWS, dim=3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_checked_one_by_one(dtype):
    good = np.full((9, 4), 0.5, dtype)
    check_rows(good, 1.0)
    check_rows(good * dtype(1.0005), 1.0)
    for value, rule in (
        (np.nan, "NaN"),
        (np.inf, "NaN or infinity"),
        (0.0, "zero"),
        (0.6, "above the bound 1"),
    ):
        bad = good.copy()
        bad[7] = value
        with pytest.raises(VectorError, match=f"Row 7.*{rule}") as caught:
            check_rows(bad, 1.0)
        assert caught.value.row == 7


def test_bounds_hold_where_squares_overflow_or_vanish():
    check_rows(np.full((2, 4), 4e5, np.float32), 1e6)
    check_rows(np.full((2, 4), 1e-20, np.float32), 1e-6)
    with pytest.raises(VectorError, match="above"):
        check_rows(np.full((2, 4), 1e30, np.float32), 1e6)
    with pytest.raises(VectorError, match="above"):
        check_rows(np.full((2, 4), 1e200), 1e6)
    with pytest.raises(VectorError, match="too small"):
        check_rows(np.full((2, 4), 5e-324), 1.0)


def test_the_bad_row_is_found_in_a_large_array():
    large = np.full((40_000, 256), 1 / 16, np.float32)
    large[39_999, 255] = np.nan
    with pytest.raises(VectorError, match="Row 39999"):
        check_rows(large, 1.0)


def test_row_blocks_cover_everything_once():
    array = np.arange(20.0).reshape(10, 2)
    pieces = list(row_blocks(array, 6))
    assert [start for start, _ in pieces] == [0, 3, 6, 9]
    assert np.array_equal(np.concatenate([piece for _, piece in pieces]), array)


def test_numbers():
    assert finite_number(np.float32(2), "x", 1, 3) == 2.0
    assert whole_number(np.int8(2), "x", 1, 3) == 2
    for bad in (True, "2", None, 4, -1, float("nan"), 1j):
        with pytest.raises(ParameterError, match="`x` must be"):
            finite_number(bad, "x", 1, 3)
    for bad in (True, "2", 2.0, None, 4):
        with pytest.raises(ParameterError, match="`x` must be"):
            whole_number(bad, "x", 1, 3)
