"""The function for Spark's mapInArrow, on the batches that Spark would hand to it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.scale.rows import as_table
from sfumato.scale.spark import in_arrow, output_schema
from tests.scale.folders import DIM, key_file, plain, unit_vectors


def batches(size):
    table = as_table(unit_vectors(100), {"id": pa.array(range(100))})
    # Spark has lists without a fixed length.
    lists = table.column("embedding").cast(pa.list_(pa.float32()))
    return pa.table({"id": table.column("id"), "embedding": lists}).to_batches(max_chunksize=size)


def protected(function, size):
    return pa.Table.from_batches(list(function(iter(batches(size)))))


def test_ids_make_the_cut_of_batches_and_retries_irrelevant(tmp_path):
    key = key_file(tmp_path / "key")
    function = in_arrow(plain(), secret=key, id_column="id", keep_columns=["id"])
    first, again = protected(function, 7), protected(function, 64)
    assert first.combine_chunks().equals(again.combine_chunks())
    assert first.column("id").to_pylist() == list(range(100))
    assert first.schema.field("embedding").type.list_size == DIM


def test_without_a_secret_noise_is_fresh_and_empty_batches_pass():
    function = in_arrow(plain())
    assert not protected(function, 50).equals(protected(function, 50))
    assert list(function(iter([batches(10)[0].slice(0, 0)]))) == []


def test_texts(tmp_path):
    function = in_arrow(Protector(Laplace(epsilon=64.0), "fake:64", normalise=False))
    (found,) = function(iter([pa.record_batch({"text": ["one text", "another"]})]))
    assert found.num_rows == 2 and found.schema.names == ["embedding"]


def test_sticky_vectors_are_known_by_their_own_numbers(tmp_path):
    function = in_arrow(plain(), secret=key_file(tmp_path / "key"))
    first, again = protected(function, 50), protected(function, 7)
    assert first.combine_chunks().equals(again.combine_chunks())


def test_the_schema_names_what_is_kept():
    assert output_schema({"id": "bigint", "text": "string"}, ["id"]) == "`id` bigint, embedding array<float>"
    with pytest.raises(InputError, match="'nothing'"):
        output_schema({"id": "bigint"}, ["nothing"])
