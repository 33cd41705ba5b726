"""Parts of a release: whole or absent, resumed under the same plan only."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato.errors import InputError
from sfumato.scale.parts import Parts

PLAN = {"input": "texts.txt", "protector": "abc"}


def vectors(index):
    return np.full((3, 4), index, np.float32)


@pytest.mark.parametrize("name", ["out.npy", "out.parquet"])
def test_parts_are_joined_in_order(tmp_path, name):
    parts = Parts(tmp_path / name)
    assert parts.open(PLAN) == 0
    for index in range(12):
        parts.write(index, vectors(index), {"id": [f"{index}-{row}" for row in range(3)]})
    assert Parts(tmp_path / name).open(PLAN) == 12
    assert parts.join(12) == 36
    wanted = np.repeat(np.arange(12, dtype=np.float32), 3)
    if name.endswith(".npy"):
        found = np.load(tmp_path / name, allow_pickle=False)
    else:
        table = pq.read_table(tmp_path / name)
        assert table.column("id").to_pylist()[4] == "1-1"
        assert str(table.schema.field("embedding").type) == "fixed_size_list<element: float not null>[4]"
        found = np.array(table.column("embedding").to_pylist(), np.float32)
    assert found.shape == (36, 4) and np.array_equal(found[:, 0], wanted)
    parts.remove()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_another_plan_is_refused_and_restart_begins_anew(tmp_path):
    parts = Parts(tmp_path / "out.npy")
    parts.open(PLAN)
    parts.write(0, vectors(0), {})
    with pytest.raises(InputError, match="protector.*--restart"):
        Parts(tmp_path / "out.npy").open({**PLAN, "protector": "other"})
    assert parts.open(PLAN) == 1
    assert parts.open({**PLAN, "protector": "other"}, restart=True) == 0


def test_parts_after_a_gap_do_not_count(tmp_path):
    parts = Parts(tmp_path / "out.npy")
    parts.open(PLAN)
    for index in (0, 1, 3):
        parts.write(index, vectors(index), {})
    assert parts.open(PLAN) == 2


def test_unknown_format(tmp_path):
    with pytest.raises(InputError, match=r"\.parquet or \.npy"):
        Parts(tmp_path / "out.csv")
