"""Parts that other packages bring: the template, built and installed as a user would, and bad ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.registry import Entry, PluginWarning, Registry

TEMPLATE = Path(__file__).parents[1] / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that the template was installed into, in an environment that sees it."""
    folder = tmp_path_factory.mktemp("site")
    copy = shutil.copytree(TEMPLATE, tmp_path_factory.mktemp("source") / "plugin")  # a build writes there
    asked = ["--no-deps", "--no-build-isolation", "--quiet", "--target", str(folder), str(copy)]
    subprocess.run([sys.executable, "-m", "pip", "install", *asked], check=True, capture_output=True)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def run(environment, *arguments, cwd, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", *map(str, arguments)],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize(
    ("command", "key", "name"),
    [
        ("mechanisms", "mechanisms", "ball"),
        ("attacks", "attacks", "parrot"),
        ("concepts", "detectors", "project-code"),
        ("embedders", "embedders", "letters"),
        ("stores", "stores", "shelf"),
    ],
)
def test_lists_name_it_and_its_package(installed, tmp_path, command, key, name):
    run(installed, command, "--json", "l.json", cwd=tmp_path)
    found = {row["name"]: row for row in json.loads((tmp_path / "l.json").read_text())[key]}
    assert "sfumato-plugin-template 0.1.0" in found[name]["summary"]


def test_learn_migrate_attack_with_parts_of_a_plugin(installed, tmp_path):
    words = ("Osprey", "Heron", "Falcon", "Kestrel", "Merlin", "Plover", "Avocet", "Bittern")
    notes = [
        {"text": f"Note {n} on project {words[n % 8]}: all is {'well' if n % 3 else 'late'}."}
        for n in range(240)
    ]
    (tmp_path / "notes.jsonl").write_text("\n".join(map(json.dumps, notes)))
    learn = ["learn", "notes.jsonl", "--concept", "project-code", "--embedder", "letters", "-o", "protector"]
    run(installed, *learn, cwd=tmp_path)
    refused = run(
        installed, "protect", "notes.jsonl", "--protector", "protector", "-o", "o.npy", cwd=tmp_path, code=2
    )
    assert "--allow-remote letters" in refused.stderr and refused.stderr.count("\n") == 1
    allowed = ["--allow-remote", "letters"]
    run(
        installed, "protect", "notes.jsonl", "--protector", "protector", "-o", "o.npy", *allowed, cwd=tmp_path
    )
    assert np.load(tmp_path / "o.npy").shape == (240, 27)
    asked = ["attack", "notes.jsonl", "--attack", "parrot", "--embedder", "letters", "--json", "a.json"]
    run(installed, *asked, cwd=tmp_path)
    assert json.loads((tmp_path / "a.json").read_text())["attack"]


def test_mechanism_and_stores_of_a_plugin_in_python(installed, tmp_path):
    code = """
import numpy as np
from sfumato.mechanisms import MECHANISMS
from sfumato.sealing.handles import HANDLES
from sfumato.stores import open_store
ball = MECHANISMS.get("ball")(radius=0.5)
x = np.zeros((20_000, 6), np.float32); x[:, 0] = 1
noise = ball.privatize(x).astype(float) - x
length = np.linalg.norm(noise, axis=1)
assert length.max() <= 0.5 + 1e-3 and abs(length.mean() - 0.5 * 6 / 7) < 4 * length.std() / 20_000 ** 0.5
# evenly in the ball: the share within r is (r / radius) ** 6
assert abs((length < 0.4).mean() - 0.8 ** 6) < 4 * (0.8 ** 6 * (1 - 0.8 ** 6) / 20_000) ** 0.5
assert HANDLES.get("own-tags").name == "own-tags"
with open_store("shelf:place#two") as store:
    store.add(["a", "b"], x[:2] + np.eye(6, dtype=np.float32)[:2], [{}, {}])
with open_store("shelf:place#two", create=False) as store:
    print(store.search(x[:1], 1)[0][0].id)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=installed, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "a"


@pytest.fixture
def bringing(tmp_path, monkeypatch):
    """A table, and a package that brings what a test says."""

    def make(**points):
        folder = tmp_path / "bringer-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: bringer\nVersion: 1.0\n")
        lines = [f"{name} = {target}" for name, target in points.items()]
        (folder / "entry_points.txt").write_text("\n".join(["[sfumato.shapes]", *lines]))
        monkeypatch.syspath_prepend(str(tmp_path))
        return Registry("shape", [Entry("fraction", "fractions:Fraction", "a quotient")], "sfumato.shapes")

    return make


def test_a_taken_name_stays_with_its_owner(bringing):
    from fractions import Fraction

    table = bringing(fraction="decimal:Decimal", decimal="decimal:Decimal")
    with pytest.warns(PluginWarning, match="the name is taken"):
        assert table.get("fraction") is Fraction
    assert table.names() == ("fraction", "decimal")


def test_a_broken_part_is_one_line_and_the_others_stay(bringing, tmp_path):
    (tmp_path / "broken_part.py").write_text("raise RuntimeError('a value nobody should see')\n")
    table = bringing(bad="broken_part:Thing", decimal="decimal:Decimal")
    with pytest.raises(ParameterError) as caught:
        table.get("bad")
    assert "bringer 1.0" in str(caught.value) and "nobody" not in str(caught.value)
    with pytest.warns(PluginWarning, match="`bad`"):
        assert [entry.name for entry, _ in table.usable()] == ["fraction", "decimal"]


def test_nothing_of_a_plugin_is_imported_by_a_list_of_names(bringing, tmp_path):
    (tmp_path / "unwanted.py").write_text("")
    table = bringing(thing="unwanted:Thing")
    assert (
        "thing" in table and table.installed("thing") and table.install_line("thing") == "pip install bringer"
    )
    assert "unwanted" not in sys.modules
