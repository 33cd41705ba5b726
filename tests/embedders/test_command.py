"""`sfumato embedders`."""

from __future__ import annotations

import json

from sfumato.cli import embedders as command
from sfumato.embedders import EMBEDDERS


def test_the_list_is_the_registry(tmp_path, capsys):
    command.command(tmp_path / "e.json")
    found = json.loads((tmp_path / "e.json").read_text())["embedders"]
    assert [row["name"] for row in found] == list(EMBEDDERS.names())
    assert {row["name"]: row["installed"] for row in found}["fake"]
    printed = capsys.readouterr().out
    assert all(name in printed for name in EMBEDDERS.names())
    assert command.NAME == "embedders" and command.EXAMPLE.startswith("Example: sfumato embedders")


def test_what_is_missing_comes_with_its_install_line(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sfumato.registry._importable", lambda module: module != "wordllama")
    command.command()
    assert "pip install 'sfumato[wordllama]'" in capsys.readouterr().out
