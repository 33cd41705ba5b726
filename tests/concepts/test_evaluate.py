"""Scoring a detector against labelled spans."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.concepts import Dictionary, Patterns, Span, Union, score_detector
from sfumato.concepts.evaluate import DetectorScore
from sfumato.errors import InputError

ROWS = [
    ("Ann lives in Rome", [Span(0, 3, "PER"), Span(13, 17, "LOC")]),
    ("Rome, Oslo and Paris", [Span(0, 4, "LOC"), Span(6, 10, "LOC"), Span(15, 20, "LOC")]),
    ("born 12 May 2020 in Lima", [Span(5, 16, "DATE")]),
]
DETECTOR = Union(Dictionary(["Rome", "Oslo", "Lima", "Ann"], label="location"), Patterns("date"))


def test_overlap_by_label_and_by_any():
    scores = score_detector(DETECTOR, ROWS, {"PER": "person", "LOC": "location", "DATE": "date"})
    location = scores.labels["location"]
    # Found: Ann, Rome, Rome, Oslo, Lima; of the four labelled three are found.
    assert (location.right, location.found, location.hit, location.labelled) == (3, 5, 3, 4)
    assert location.precision == 0.6 and location.recall == 0.75
    assert location.f1 == pytest.approx(2 * 0.6 * 0.75 / 1.35)
    assert scores.labels["person"].recall == 0 and scores.labels["person"].precision == 0
    assert scores.labels["date"].recall == 1
    # Whatever the label: Ann is touched too, Paris is not.
    assert scores.labels["any"].recall == 5 / 6
    assert scores.labels["any"].precision == 5 / 6
    assert scores.texts == 3 and scores.seconds >= 0 and scores.detector == DETECTOR.name


def test_labels_left_out_of_the_mapping_do_not_count():
    scores = score_detector(DETECTOR, ROWS, {"LOC": "location", "PER": None})
    assert set(scores.labels) == {"location", "any"}
    assert set(score_detector(DETECTOR, ROWS).labels) == {"PER", "LOC", "DATE", "any"}
    with pytest.raises(InputError, match="labelled spans"):
        score_detector(DETECTOR, ROWS, {})


def test_a_share_of_nothing_is_zero():
    empty = DetectorScore(0, 0, 0, 0)
    assert empty.precision == empty.recall == empty.f1 == 0


def test_the_benchmark_prints_tables(tmp_path):
    folder = tmp_path / "conll2003"
    folder.mkdir()
    rows = [
        {
            "split": "testa",
            "text": text,
            "spans": [{"start": s.start, "end": s.end, "label": s.label} for s in spans],
        }
        for text, spans in ROWS
    ]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    script = Path(__file__).parents[2] / "benchmarks" / "detectors.py"
    assert importlib.util.spec_from_file_location("detectors", script)
    command = [
        sys.executable,
        str(script),
        str(tmp_path),
        "--sets",
        "conll2003",
        "--only",
        "patterns",
        "lists",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "**conll2003, as written**: 3 texts, 6 labelled spans" in done.stdout
    assert "| lists | 0.83 | " in done.stdout and "lower-cased" in done.stdout
