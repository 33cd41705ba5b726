"""The core can be installed from files whose SHA-256 is known, at the versions that are tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK, PINS = ROOT / "requirements" / "core.txt", ROOT / "constraints.txt"


@pytest.mark.skipif(not LOCK.is_file(), reason="not in this copy")
def test_every_file_of_the_core_has_its_hash_and_the_version_that_is_tested():
    pins = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", PINS.read_text(), re.M))
    entries = re.findall(
        r"^([A-Za-z0-9._-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", LOCK.read_text(), re.M
    )
    names = {name for name, _, _ in entries}
    wanted = (ROOT / "pyproject.toml").read_text().partition("dependencies = [")[2].partition("]")[0]
    core = {name.lower() for name in re.findall(r'"([A-Za-z0-9._-]+)', wanted)}
    assert core <= {name.lower() for name in names}
    assert "hatchling" in names
    for name, version, _ in entries:
        assert pins.get(name, version) == version, name
    lines = [line for line in LOCK.read_text().splitlines() if line and not line.startswith(("#", " "))]
    assert len(lines) == len(entries)
