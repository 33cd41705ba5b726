"""Small files that grow: reading one takes bounded memory, or refuses it in one line."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
MIB = 1 << 20
READ = """
import json, sys
from sfumato import inputs
from sfumato.errors import InputError
import pyarrow.parquet, pyarrow.compute
def peak():  # of this process alone: what getrusage says begins with the peak of the one that started it
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
before = peak()
rows, said = 0, ""
try:
    for batch in inputs.read(sys.argv[1], batch=int(sys.argv[2])):
        rows += len(batch)
        del batch
        if rows > 5000:
            break
except InputError as error:
    said = str(error)
print(json.dumps({"rows": rows, "said": said, "grown": (peak() - before) / 1024}))
"""


def read(path, batch=1024):
    """Rows, refusal and growth of the memory in MiB, in a process that may take 6 GiB and no more."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({6 << 30}, {6 << 30}))\n"
    done = subprocess.run(
        [sys.executable, "-c", limit + READ, str(path), str(batch)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-500:]
    return json.loads(done.stdout)


def repeated(value, rows, kind=None):
    """A column of one value, kept once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value], kind))


def written(path, table, **options):
    pq.write_table(
        table,
        path,
        compression="zstd",
        write_statistics=False,
        store_schema=False,
        dictionary_pagesize_limit=1 << 30,
        **options,
    )
    return path


def as_text(path):
    return written(path, pa.table({"text": repeated("x" * (4 * MIB), 512)}))


def as_other(path):
    return written(path, pa.table({"text": ["a"] * 512, "other": repeated("x" * (4 * MIB), 512)}))


def as_lists(path):
    """One row whose list of numbers is one number, sixty million times."""
    values = pa.array(np.zeros(1 << 26, np.float32))
    lists = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    return written(path, pa.table({"embedding": lists}))


def as_pages(path):
    """A text in a page of its own, row after row."""
    schema = pa.schema([("text", pa.string())])
    with pq.ParquetWriter(
        path, schema, compression="zstd", use_dictionary=False, write_statistics=False
    ) as writer:
        table = pa.table({"text": ["x" * (64 * MIB)]}, schema=schema)
        for _ in range(32):
            writer.write_table(table)
    return path


def as_prefixes(path):
    """Each text is the one before it, by the encoding that keeps shared prefixes once."""
    table = pa.table({"text": ["x" * (2 * MIB)] * 64})
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        column_encoding={"text": "DELTA_BYTE_ARRAY"},
    ) as writer:
        for _ in range(16):
            writer.write_table(table)
    return path


def as_labels(path):
    places = pa.array(np.zeros(1024, np.int64)), pa.array(np.ones(1024, np.int64))
    each = pa.StructArray.from_arrays([*places, repeated("x" * (4 * MIB), 1024)], ["start", "end", "label"])
    spans = pa.ListArray.from_arrays(pa.array([0, 1024], pa.int32()), each)
    return written(path, pa.table({"text": ["ab"], "spans": spans}))


@pytest.mark.parametrize(
    ("make", "largest"),
    [
        (as_text, 600), (as_other, 800), (as_lists, 40_000_000), (as_pages, 2_000_000),
        (as_prefixes, 100_000), (as_labels, 5000),
    ],
)  # fmt: skip
def test_a_small_parquet_file_does_not_fill_the_memory(make, largest, tmp_path):
    path = make(tmp_path / "a.parquet")
    assert path.stat().st_size < largest
    found = read(path)
    assert found["grown"] < 1200, found
    assert "\n" not in found["said"]
    assert ("grow" in found["said"]) is (make in (as_lists, as_labels))
    if make in (as_text, as_other, as_pages, as_prefixes):
        # What can be read row by row is read, and not refused.
        assert not found["said"] and found["rows"] in (32, 512, 1024)


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz", "a.csv.gz", "b.csv.gz", "a.tsv.gz", "c.jsonl.gz"])
def test_lines_that_grow_are_read_few_at_a_time(name, tmp_path):
    long = "x" * (12 * MIB)
    row = {
        "a.txt.gz": long,
        "a.jsonl.gz": json.dumps({"text": long}),
        "a.csv.gz": long,
        "b.csv.gz": '"' + "\n".join([long] * 20) + '"',
        "a.tsv.gz": long,
        "c.jsonl.gz": '{"text": "a", "x": [' + "[]," * (4 * MIB) + "[]]}",
    }[name]
    # Packed once: what is packed may follow what is packed.
    begin, line = ("text\n" if "sv" in name else "").encode(), gzip.compress(f"{row}\n".encode(), 1)
    times = {"b.csv.gz": 1, "c.jsonl.gz": 4}.get(name, 40)
    (tmp_path / name).write_bytes(gzip.compress(begin) + line * times)
    found = read(tmp_path / name)
    assert found["grown"] < (700 if name == "c.jsonl.gz" else 350), found
    assert ("more than 16 MiB" in found["said"]) is (name == "b.csv.gz")


def test_an_array_of_endless_rows_is_refused(tmp_path):
    for width, rows in ((1 << 30, 1 << 20), (1 << 19, 1 << 20)):
        path = tmp_path / "a.npy.gz"
        with gzip.open(path, "wb", compresslevel=1) as handle:
            np.lib.format.write_array_header_1_0(
                handle, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
            )
            for _ in range(24):
                handle.write(bytes(8 * MIB))
        found = read(path)
        assert found["grown"] < 800 and found["said"] and "\n" not in found["said"], found
