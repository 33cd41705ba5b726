"""The benchmark of private text: its structure, never its speed."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from sfumato.benchmarks import rewrite_speeds, rewriting
from sfumato.cli import bench as bench_command
from sfumato.errors import ParameterError


def test_every_case_runs_in_its_own_interpreter():
    seen = []
    found = rewrite_speeds(2, words=60, dim=8, texts=2, threads=1, on_round=lambda: seen.append(1))
    assert [row.case for row in found] == list(rewriting.CASES) and len(seen) == len(found)
    for row in found:
        data = json.loads(json.dumps(row.to_dict(), allow_nan=False))
        assert data["words"] == 60 and data["dim"] == 8 and data["peak_mib"] > 1
        for spread in (row.per_second, row.per_processor_second):
            assert 0 < spread.low <= spread.median <= spread.high
    with pytest.raises(ParameterError):
        rewrite_speeds(0)


def test_the_command_shows_it_when_asked(monkeypatch, tmp_path):
    small = rewrite_speeds(1, words=20, dim=4, texts=1, threads=1)
    monkeypatch.setattr("sfumato.benchmarks.rewrite_speeds", lambda rounds: small)
    app = typer.Typer()
    app.command(bench_command.NAME)(bench_command.command)
    target = tmp_path / "bench.json"
    settings = ["laplace", "--dims", "8", "--rows", "4", "--rounds", "1", "--no-peers"]
    result = CliRunner().invoke(app, [*settings, "--text", "--json", str(target)])
    assert result.exit_code == 0, result.output
    assert "Private text, 20 words" in result.output and "5 words a second" in result.output
    assert len(json.loads(target.read_text())["rewriting"]) == 2
