"""Every kind of input file, read whole, from the middle, and zipped."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import inputs
from sfumato.concepts.base import Span
from sfumato.errors import InputError

SECRET = "Zanzibar"
TEXTS = [f"{SECRET} one", "", 'quote " and, comma', "naïve \u2028 café \x0b", "tab and 'more'"]
SPANS = [[Span(0, 8, "place")], [], [], [Span(0, 5, "word"), Span(6, 7, "sign")], []]
VECTORS = np.arange(20, dtype=np.float32).reshape(5, 4) + 1


def write(path, data):
    data = data.encode() if isinstance(data, str) else data
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def records():
    marked = [[asdict(span) for span in spans] for spans in SPANS]
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
