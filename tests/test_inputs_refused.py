"""Input files that are refused: one clear line, and never what they hold."""

from __future__ import annotations

import gzip
import os
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import inputs
from sfumato.errors import InputError, ParameterError, VectorError
from tests.test_inputs import SECRET, VECTORS, make, write

BAD_LINES = {
    "a.jsonl": {
        b'{"text": "Zanzibar"': "is not valid JSON",
        b'["Zanzibar"]': "JSON object. Found list",
        b'{"body": "Zanzibar"}': "no `text`",
        b'{"text": null}': "Found null",
        b'{"text": 5}': "Found int",
        b'{"text": "Zanzibar \\ud83d"}': "surrogate",
        b'{"text": "Zanzibar", "spans": "x"}': "list as `spans`. Found str",
        b'{"text": "Zanzibar", "spans": [{"start": 0, "end": 9, "label": "x"}]}': "0 <= start < end <= 8",
        b'{"text": "Zanzibar", "spans": [{"start": true, "end": 2, "label": "x"}]}': "span (number 0)",
        b'{"text": "Zanzibar", "spans": [{"start": 2, "end": 2, "label": "x"}]}': "span (number 0)",
        b'{"text": "Zanzibar", "spans": [{"start": 0, "end": 2}]}': "span (number 0)",
        b'{"text": "Zanzibar", "spans": [[0, 2, "x"]]}': "span (number 0)",
        b'{"text": "Zanzibar \xff"}': "not valid UTF-8",
        b'{"text": "Zanzibar \x00"}': "binary data",
        b"[" * 100_000: "is not valid JSON",
        b'{"text": "Zanzibar", "n": ' + b"9" * 5000 + b"}": "is not valid JSON",
    },
    "a.txt": {b"Zanzibar \xff": "not valid UTF-8", b"Zanzibar \x00": "binary data"},
    "a.csv": {b'1,"Zanzibar': "rules of CSV", b"1,Zanzibar,3": "has to have 2 fields. Found 3"},
    "a.tsv": {b"Zanzibar": "has to have 2 fields. Found 1"},
}
FIRST = {"a.jsonl": b'{"text": "fine"}', "a.txt": b"fine", "a.csv": b"id,text", "a.tsv": b"id\ttext"}


@pytest.mark.parametrize(
    ("name", "line", "wrong"),
    [(name, line, wrong) for name, lines in BAD_LINES.items() for line, wrong in lines.items()],
)
def test_a_bad_line_is_named_and_never_shown(tmp_path, name, line, wrong):
    path = write(tmp_path / name, FIRST[name] + b"\n" + line + b"\n")
    with pytest.raises(InputError, match="^Line 2 of ") as caught:
        list(inputs.read(path))
    shown = str(caught.value)
    assert wrong in shown and "\n" not in shown and shown.endswith((".", "characters."))
    quiet(caught.value)


def quiet(error):
    """Neither the message nor anything chained to it shows the content."""
    while error is not None:
        assert SECRET not in repr(error) + str(vars(error)), error
        held = getattr(error, "object", b"")
        assert SECRET.encode() not in (held if isinstance(held, bytes) else str(held).encode())
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("header", ["Zanzibar,1", "text,text", "", "text,a,a"])
def test_a_header_is_asked_for_and_never_shown(tmp_path, header):
    with pytest.raises(InputError, match="column names") as caught:
        inputs.read_texts(write(tmp_path / "a.csv", header + "\n1,2\n"))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl.gz", "a.npy", "a.parquet"])
def test_missing_and_empty_files(tmp_path, name):
    path = tmp_path / name
    for call in (inputs.read, inputs.count):
        with pytest.raises(InputError, match="no such file"):
            call(path)
    path.touch()
    with pytest.raises(InputError, match="is empty"):
        inputs.read(path)
    os.remove(path)
    path.mkdir()
    with pytest.raises(InputError, match="Found a folder"):
        inputs.read(path)


def test_files_without_rows(tmp_path):
    empty = pa.table({"text": pa.array([], pa.string())})
    pq.write_table(empty, tmp_path / "a.parquet")
    for path in (
        tmp_path / "a.parquet",
        write(tmp_path / "a.csv", "text\n"),
        write(tmp_path / "a.jsonl", "\n"),
        write(tmp_path / "a.txt.gz", ""),
    ):
        with pytest.raises(InputError, match="holds no rows"):
            list(inputs.read(path))
    np.save(tmp_path / "a.npy", np.empty((0, 3)))
    with pytest.raises(InputError, match="with rows and columns"):
        list(inputs.read(tmp_path / "a.npy"))


def test_wrong_names_and_parameters(tmp_path):
    with pytest.raises(InputError, match="has to end in .*Found .xlsx"):
        inputs.read(tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="Found no ending"):
        inputs.read(tmp_path / "data")
    with pytest.raises(InputError, match="Parquet compresses itself"):
        inputs.read(tmp_path / "a.parquet.gz")
    for options in ({"batch": 0}, {"start": -1}):
        with pytest.raises(ParameterError):
            inputs.read(make(tmp_path / "a.txt"), **options)
    with pytest.raises(InputError, match="texts are needed"):
        inputs.read_texts(make(tmp_path / "a.npy"))
    with pytest.raises(InputError, match="vectors are needed"):
        inputs.read(tmp_path / "a.txt", need="embedding")


def test_damaged_files(tmp_path):
    cases = {
        "not-zipped.txt.gz": b"plain",
        "cut.txt.gz": gzip.compress(b"text " * 1000)[:-20],
        "cut.npy": make(tmp_path / "a.npy").read_bytes()[:-8],
        "cut.npy.gz": gzip.compress(make(tmp_path / "a.npy").read_bytes()[:-8]),
        "header.npy": b"\x93NUMPY\x01\x00",
        "other.npy": b"hello",
        "other.parquet": b"PAR1 hello",
        "cut.parquet": make(tmp_path / "a.parquet").read_bytes()[:200],
    }
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match="again|numpy.save"):
            list(inputs.read(tmp_path / name))
    whole = bytearray(make(tmp_path / "a.parquet").read_bytes())
    whole[4:60] = bytes(56)
    (tmp_path / "pages.parquet").write_bytes(whole)
    with pytest.raises(InputError):
        list(inputs.read(tmp_path / "pages.parquet"))


def test_arrays_that_are_no_table_of_numbers(tmp_path):
    path = tmp_path / "a.npy"
    for array, wrong in [
        (np.array([{SECRET: 1}], dtype=object), "pickled"),
        (np.array([[SECRET]]), "real numbers"),
        (np.zeros(3), r"\(3,\)"),
        (np.zeros((2, 3, 4)), "2, 3, 4"),
        (np.zeros((2, 3), complex), "real numbers"),
        (np.zeros((2, 0)), "rows and columns"),
    ]:
        np.save(path, array, allow_pickle=True)
        with pytest.raises(InputError, match=wrong) as caught:
            list(inputs.read(path))
        quiet(caught.value)
    with gzip.open(tmp_path / "f.npy.gz", "wb") as handle:
        np.save(handle, np.asfortranarray(VECTORS))
    with pytest.raises(InputError, match="by columns"):
        list(inputs.read(tmp_path / "f.npy.gz"))


def test_parquet_columns_that_do_not_fit(tmp_path):
    path = tmp_path / "a.parquet"
    ragged = pa.array([[1.0, 2.0], [3.0, 4.0], [5.0]])
    invalid = pa.array([b"fine", b"Zanzibar \xff"]).cast(pa.binary()).view(pa.string())
    for table, wrong, kind in [
        ({"body": [SECRET]}, "no column `text` or `embedding`. It has: body. Name", InputError),
        ({"text": [1, 2]}, "has to hold strings. Found int64", InputError),
        ({"text": [SECRET, "b", None]}, "Row 2 of .*null", InputError),
        ({"text": invalid}, "rows 0 to 1 of .* not valid UTF-8", InputError),
        ({"text": ["a", "b"], "other": invalid}, "not valid UTF-8", InputError),
        ({"embedding": ragged}, "Row 2 of .* length 1.*first has 2", VectorError),
        ({"embedding": pa.array([[1.0], None])}, "Row 1 of .*null", VectorError),
        ({"embedding": pa.array([[1.0, 1.0], [1.0, None]])}, "Row 1 of .* null number", VectorError),
        ({"embedding": pa.array([[], []], pa.list_(pa.float32()))}, "Row 0 of .* length 0", VectorError),
        ({"embedding": ["a"]}, "lists of numbers. Found string", InputError),
        ({"embedding": [["a"]]}, "lists of numbers", InputError),
        ({"text": ["a"], "spans": [[{"start": 0, "end": 3, "label": "x"}]]}, "Row 0 .* span", InputError),
    ]:
        pq.write_table(pa.table(table), path)
        for size in (1, 100):
            with pytest.raises(kind, match=wrong if size > 1 else None) as caught:
                list(inputs.read(path, batch=size))
            quiet(caught.value)
    with pytest.raises(InputError, match="no column `text`"):
        pq.write_table(pa.table({"embedding": [[1.0]]}), path)
        inputs.read_texts(path)


def test_an_unreadable_file_is_one_clear_line(tmp_path, monkeypatch):
    path = make(tmp_path / "a.txt")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        inputs.read_texts(path)


def test_errors_are_raised_where_the_file_is_named(tmp_path):
    """A missing file stops at once and not at the first batch."""
    try:
        inputs.read(tmp_path / "a.txt")
    except InputError:
        assert SECRET not in traceback.format_exc()
    else:
        pytest.fail("nothing was raised")
