"""Every kind of input file, read whole, from the middle, zipped and broken."""

from __future__ import annotations

import gzip
import json
import os
import traceback
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import inputs
from sfumato.errors import InputError, ParameterError, VectorError

SECRET = "Zanzibar"
TEXTS = [f"{SECRET} one", "", 'quote " and, comma', "naïve \u2028 café \x0b", "tab and 'more'"]
SPANS = [[(0, 8, "place")], [], [], [(0, 5, "word"), (6, 7, "sign")], []]
VECTORS = np.arange(20, dtype=np.float32).reshape(5, 4) + 1


def write(path, data):
    data = data.encode() if isinstance(data, str) else data
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def records():
    marked = [[{"start": a, "end": b, "label": c} for a, b, c in spans] for spans in SPANS]
    return [{"text": t, "spans": s, "id": i} for i, (t, s) in enumerate(zip(TEXTS, marked, strict=True))]


def make(path):
    kind = "".join(path.suffixes).lower().removesuffix(".gz")
    if kind == ".txt":
        return write(path, "\n".join(TEXTS) + "\n")
    if kind == ".jsonl":
        return write(path, "\n".join(json.dumps(r) + "\n" for r in records()))
    if kind == ".csv":
        rows = [f'{i},"{text.replace(chr(34), chr(34) * 2)}"' for i, text in enumerate(TEXTS)]
        return write(path, "id,text\r\n" + "\r\n".join(rows) + "\r\n")
    if kind == ".tsv":
        return write(path, "id\ttext\n" + "".join(f"{i}\t{text}\n" for i, text in enumerate(TEXTS)))
    if kind == ".parquet":
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), 4)
        table = {"embedding": vectors, **pa.table(pa.Table.from_pylist(records()).to_pydict()).to_pydict()}
        pq.write_table(pa.table({**table, "embedding": vectors}), path, row_group_size=2)
        return path
    with (gzip.open if path.suffix == ".gz" else open)(path, "wb") as handle:
        np.save(handle, VECTORS)
    return path


KINDS = ["a.txt", "a.jsonl", "a.csv", "a.tsv", "a.npy"]
KINDS = KINDS + [f"{name}.gz" for name in KINDS] + ["a.parquet", "A.TXT"]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_every_kind_is_read_whole(tmp_path, name, size):
    path = make(tmp_path / name)
    batches = list(inputs.read(path, batch=size))
    assert [b.first_row for b in batches] == list(range(0, 5, size))
    assert all(len(b) <= size for b in batches) and sum(map(len, batches)) == 5
    if ".npy" not in name:
        assert [text for b in batches for text in b.texts] == TEXTS
        assert inputs.read_texts(path) == TEXTS
    if ".npy" in name or ".parquet" in name:
        found = np.concatenate([b.vectors for b in batches])
        assert found.dtype == np.float32 and np.array_equal(found, VECTORS) and found.flags.c_contiguous
    if ".jsonl" in name or ".parquet" in name:
        assert [spans for b in batches for spans in b.spans] == SPANS
    if ".npy" not in name and not name.lower().startswith("a.txt"):
        assert [int(i) for b in batches for i in b.columns["id"]] == list(range(5))
        assert all(set(b.columns) == {"id"} for b in batches)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("start", [0, 1, 3, 4, 5])
def test_reading_goes_on_from_a_row(tmp_path, name, start):
    path = make(tmp_path / name)
    whole = list(inputs.read(path, batch=100))[0]
    rest = list(inputs.read(path, batch=2, start=start))
    ends = [start, *(b.first_row + len(b) for b in rest)]
    assert [b.first_row for b in rest] == ends[:-1] and ends[-1] == 5
    assert all(len(b) <= 2 for b in rest)
    if whole.texts is not None:
        assert [text for b in rest for text in b.texts] == whole.texts[start:]
    if whole.vectors is not None and rest:
        assert np.array_equal(np.concatenate([b.vectors for b in rest]), whole.vectors[start:])
    with pytest.raises(InputError, match="cannot be read from row 6 on: it has 5"):
        list(inputs.read(path, start=6))


def test_count_where_it_is_cheap(tmp_path):
    for name in ("a.txt", "a.npy", "a.npy.gz", "a.parquet"):
        assert inputs.count(make(tmp_path / name)) == 5
    for name in ("a.csv", "a.jsonl", "a.txt.gz"):
        assert inputs.count(make(tmp_path / name)) is None
    assert inputs.count(write(tmp_path / "b.txt", "one\ntwo")) == 2


def test_only_what_is_needed_is_read(tmp_path):
    path = make(tmp_path / "a.parquet")
    (batch,) = inputs.read(path, need="embedding", columns=())
    assert batch.texts is None and batch.spans is None and not batch.columns and len(batch) == 5
    (batch,) = inputs.read(path, need="text", columns=["id", "text"])
    assert batch.vectors is None and set(batch.columns) == {"id"}
    for name in ("a.csv", "a.jsonl"):
        (batch,) = inputs.read(make(tmp_path / name), columns=())
        assert batch.texts == TEXTS and not batch.columns
    for name in ("a.parquet", "a.csv", "a.jsonl", "a.txt"):
        with pytest.raises(InputError, match="has no column `uid`"):
            list(inputs.read(make(tmp_path / name), columns=["uid"]))


def test_small_print(tmp_path):
    # A byte order mark, an unfinished last line, Windows line ends.
    assert inputs.read_texts(write(tmp_path / "a.txt", "\ufeffone\r\ntwo")) == ["one", "two"]
    assert inputs.read_texts(write(tmp_path / "b.csv", '\ufefftext\n"two\nlines"\n\n')) == ["two\nlines"]
    assert inputs.read_texts(write(tmp_path / "c.txt", "\n")) == [""]
    long = "x" * 300_000
    assert inputs.read_texts(write(tmp_path / "d.csv", f"text\n{long}\n")) == [long]
    assert inputs.read_texts(write(tmp_path / "e.tsv", 'text\tid\n"open\t1\n')) == ['"open']
    (batch,) = inputs.read(write(tmp_path / "f.jsonl", '{"text":"a","n":1}\n\n{"text":"b","spans":null}\n'))
    assert batch.columns == {"n": [1, None]} and batch.spans == [[], []]
    (batch,) = inputs.read(write(tmp_path / "g.csv", "text,spans,embedding\na,b,c\n"))
    assert batch.spans is None and batch.columns == {"spans": ["b"], "embedding": ["c"]}


def test_numbers_of_every_kind_become_floats(tmp_path):
    for kind, wanted in [("f2", "f4"), (">f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("u1", "f8")]:
        np.save(tmp_path / "a.npy", VECTORS.astype(kind))
        (batch,) = inputs.read(tmp_path / "a.npy")
        assert batch.vectors.dtype == wanted and np.array_equal(batch.vectors, VECTORS)
    np.save(tmp_path / "a.npy", np.asfortranarray(VECTORS))
    assert np.array_equal(next(inputs.read(tmp_path / "a.npy", batch=2)).vectors, VECTORS[:2])
    for column in (pa.array(VECTORS.tolist()), pa.array(VECTORS.tolist(), pa.large_list(pa.float16()))):
        pq.write_table(pa.table({"embedding": column}), tmp_path / "a.parquet")
        (batch,) = inputs.read(tmp_path / "a.parquet")
        assert np.array_equal(batch.vectors, VECTORS) and batch.texts is None


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
        ({"body": [SECRET]}, "a `text` or an `embedding` column", InputError),
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
    with pytest.raises(InputError, match="a `text` column"):
        pq.write_table(pa.table({"embedding": [[1.0]]}), path)
        inputs.read_texts(path)


def test_terms(tmp_path):
    path = write(tmp_path / "terms.txt", "# places\n\n  Lisbon \nC#\nPorto\nLisbon\n#Faro\n")
    assert inputs.read_terms(path) == ["Lisbon", "C#", "Porto"]
    assert inputs.read_terms(write(tmp_path / "terms.lst.gz", "Lisbon\n")) == ["Lisbon"]
    with pytest.raises(InputError, match="at least one term"):
        inputs.read_terms(write(tmp_path / "none.txt", "# nothing\n"))
    with pytest.raises(InputError, match="no such file"):
        inputs.read_terms(tmp_path / "gone.txt")
    with pytest.raises(InputError, match="not valid UTF-8"):
        inputs.read_terms(write(tmp_path / "bad.txt", b"\xff\n"))
    with pytest.raises(InputError, match="gzip"):
        (tmp_path / "bad.gz").write_bytes(b"plain")
        inputs.read_terms(tmp_path / "bad.gz")


def test_an_unreadable_file_is_one_clear_line(tmp_path, monkeypatch):
    path = make(tmp_path / "a.txt")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        inputs.read_texts(path)


def peak(path, **options):
    tracemalloc.start()
    try:
        rows = sum(len(batch) for batch in inputs.read(path, **options))
        return rows, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_stays_flat(tmp_path):
    # A hole in the file: 400 MB that take no room on the disk.
    np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (1_000_000, 100)).flush()
    rows, used = peak(tmp_path / "a.npy", batch=10_000)
    assert rows == 1_000_000 and used < 20_000_000
    with gzip.open(tmp_path / "b.npy.gz", "wb", compresslevel=1) as handle:
        np.save(handle, np.zeros((100_000, 100), np.float32))
    rows, used = peak(tmp_path / "b.npy.gz", batch=1000)
    assert rows == 100_000 and used < 5_000_000
    line = json.dumps({"text": "word " * 400, "n": 1}) + "\n"
    write(tmp_path / "c.jsonl", line * 10_000)
    rows, used = peak(tmp_path / "c.jsonl", batch=100, start=5000)
    assert rows == 5000 and used < 3_000_000
    write(tmp_path / "d.csv", "text,n\n" + ("word " * 400 + ",1\n") * 10_000)
    rows, used = peak(tmp_path / "d.csv", batch=100)
    assert rows == 10_000 and used < 3_000_000


def test_a_large_row_group_is_streamed(tmp_path):
    values = np.random.Generator(np.random.Philox(1)).random((100_000, 64), np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), 64)
    pq.write_table(pa.table({"embedding": vectors}), tmp_path / "a.parquet", compression="none")
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 1
    del vectors
    most = before = pa.total_allocated_bytes()
    rows = 0
    for batch in inputs.read(tmp_path / "a.parquet", batch=1000):
        most, rows = max(most, pa.total_allocated_bytes()), rows + len(batch)
    assert rows == 100_000 and most - before < values.nbytes / 3


def test_errors_are_raised_where_the_file_is_named(tmp_path):
    """A missing file stops at once and not at the first batch."""
    try:
        inputs.read(tmp_path / "a.txt")
    except InputError:
        assert SECRET not in traceback.format_exc()
    else:
        pytest.fail("nothing was raised")
