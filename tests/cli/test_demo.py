"""`sfumato demo` as a user runs it, small: records, a protector, a release, a report."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from tests.auditing.schema import problems
from tests.auditing.small import shrink
from tests.cli.test_main import sfumato


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    options = ("--records", "300", "--embedder", "wordllama", "--no-baselines")
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch, epochs=25)
        done = sfumato("demo", "-o", "out", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done, folder / "out"


def test_the_whole_story_ends_with_the_report(demo):
    done, out = demo
    assert done.stdout.strip().splitlines()[-1] == "Report: out/report.html"
    assert {path.name for path in out.iterdir()} == {
        "records.jsonl", "searches.jsonl", "protector", "released.parquet", "released.parquet.manifest.json",
        "report.html", "report.json",
    }  # fmt: skip
    assert pq.read_table(out / "released.parquet").num_rows == 300
    found = json.loads((out / "report.json").read_text())
    assert problems(found) == []
    assert found["verdict"] == "pass" and found["leakage"]["control"] > 0.6
    assert found["utility"]["metric"] == "search nDCG@10" and found["settings"]["seed"] == 0


def test_its_page_shows_made_up_records_and_needs_nothing(demo):
    _, out = demo
    page = (out / "report.html").read_text()
    texts = {json.loads(line)["text"] for line in (out / "records.jsonl").read_text().splitlines()}
    found = json.loads((out / "report.json").read_text())
    assert found["examples"] and all(each["text"] in texts for each in found["examples"])
    assert len(page) < 1_000_000 and "<script" not in page
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_too_few_records_and_unknown_encoders_are_refused(tmp_path):
    for arguments in (("--records", "10"), ("--embedder", "no-such")):
        done = sfumato("demo", "-o", "out", *arguments, cwd=tmp_path)
        assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
