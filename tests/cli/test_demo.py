"""`sfumato demo` as a user runs it, small: records, a protector, a release, a report."""

from __future__ import annotations

import json
import shlex

import pyarrow.parquet as pq
import pytest
from tests.auditing.schema import problems
from tests.auditing.small import shrink
from tests.cli.test_main import sfumato

from sfumato.cli.demo_sealed import make_place
from sfumato.errors import InputError


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
        "report.html", "report.json", "sealed", "sealed.json",
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


def test_sealed_records_are_found_as_well_and_give_the_attack_nothing(demo):
    done, out = demo
    found, audited = (json.loads((out / name).read_text()) for name in ("sealed.json", "report.json"))
    assert found["rows"] == 300 and found["complete"] and found["records"] > 600
    assert found["recall"] >= 0.95 and found["kept"] >= 0.97 and found["clean"] > 0.3
    reader = next(row for row in audited["attacks"] if row["name"] == "tokens")
    # The same attack on the same cut: it works on plain vectors, and not on what the store holds here.
    assert reader["works"] and reader["control"] > 0.6 and found["guessed"] == reader["prior"]
    assert found["unsealed"] > 0.2 > 5 * found["guessed"]
    assert found["between"][0] <= found["guessed"] and found["named"] < 0.3 * reader["control"]
    assert 1 / 300 < found["told_apart"] < 0.1
    assert "5. Sealed the same 300 records" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith(("plain", "sealed records"))]
    assert len(lines) == 2
    page = (out / "report.html").read_text()
    assert "The same records, sealed" in page and "sealed records" in page


def test_what_the_demo_sealed_can_be_searched_and_is_made_anew(demo):
    done, out = demo
    line = next(line for line in done.stdout.splitlines() if "Try: sfumato search" in line)
    arguments = shlex.split(line.partition("sfumato ")[2])
    found = sfumato(*arguments, "-k", "10", "--json", "found.json", cwd=out.parent)
    assert found.returncode == 0, found.stderr
    hits = json.loads((out.parent / "found.json").read_text())["results"][0]["hits"]
    assert "0" in [hit["id"] for hit in hits]
    assert make_place(out) == out / "sealed" and not any((out / "sealed").iterdir())
    (out / "sealed" / "mine").write_text("not the demo's")
    with pytest.raises(InputError, match="has to be free"):
        make_place(out)
    assert (out / "sealed" / "mine").exists()


def test_too_few_records_and_unknown_encoders_are_refused(tmp_path):
    for arguments in (("--records", "10"), ("--embedder", "no-such")):
        done = sfumato("demo", "-o", "out", *arguments, cwd=tmp_path)
        assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
