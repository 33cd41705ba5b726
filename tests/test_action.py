"""The GitHub Action and the pre-commit hook: as their formats ask, and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake
from sfumato.learning import LearnSettings, learn
from sfumato.records import DISEASES, make_records
from sfumato.saving import save_protector
from sfumato.version import __version__

ROOT = Path(__file__).parents[1]
ACTION = ROOT / "action"


def test_it_is_an_action():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"]
    subprocess.run([*command, str(ACTION / "action.yml")], check=True, capture_output=True)


def test_inputs_never_stand_in_a_script():
    """An input in a script would be run as a part of it; the version installed is this one."""
    lines = (ACTION / "action.yml").read_text().splitlines()
    scripts = [line for line in lines if line.strip().startswith("run:")]
    assert scripts and not any("${{" in line for line in scripts)
    assert f'"sfumato[learn]=={__version__}"' in (ACTION / "action.yml").read_text()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A repository with texts and a protector, as a user of the action has one."""
    folder = tmp_path_factory.mktemp("project")
    texts = [record.text for record in make_records(300, seed=1)]
    rows = "\n".join(json.dumps({"text": record.text}) for record in make_records(240, seed=2))
    (folder / "notes.jsonl").write_text(rows)
    concept = Concept.from_terms("disease", DISEASES)
    settings = LearnSettings(source="synthetic")
    save_protector(learn(texts, concept, embedder=Fake(dim=256), settings=settings), folder / "p")
    return folder


def steps(project, out, **inputs):
    """Run the script of the action with these inputs, as the runner would."""
    given = {"TEXTS": "notes.jsonl", "PROTECTOR": "p", "SUITE": "quick"}
    given |= dict.fromkeys(("EMBEDDINGS", "CONCEPT", "FAIL_ABOVE", "COMPARE"), "") | inputs
    out.mkdir(exist_ok=True)
    places = {"RUNNER_TEMP": str(out), "GITHUB_OUTPUT": str(out / "outputs")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", str(ACTION / "audit.sh")],
        env={**os.environ, **given, **places, "PATH": path},
        cwd=project,
        capture_output=True,
        text=True,
    )


def test_it_audits_and_compares(project, tmp_path):
    first = steps(project, tmp_path / "a")
    assert first.returncode == 0, first.stderr
    outputs = dict(line.split("=", 1) for line in (tmp_path / "a" / "outputs").read_text().splitlines())
    assert all(Path(place).stat().st_size > 500 for place in outputs.values())
    before = json.loads(Path(outputs["json"]).read_text())
    before["leakage"] |= {"absolute": -0.5, "absolute_interval": [-0.5, -0.5], "excess": -0.5}
    before["leakage"]["interval"] = [-0.5, -0.5]
    (project / "last.json").write_text(json.dumps(before))
    again = steps(project, tmp_path / "b", COMPARE="last.json")
    assert again.returncode == 1 and "GREW" in again.stdout
    found = json.loads((tmp_path / "b" / "sfumato-audit" / "audit.sarif").read_text())["runs"][0]["results"]
    assert "SFU004" in [each["ruleId"] for each in found]


def test_a_hostile_input_is_a_name_and_nothing_else(project, tmp_path):
    done = steps(project, tmp_path / "c", TEXTS="$(touch owned); touch owned; `touch owned`.jsonl")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert not (project / "owned").exists()


def test_the_hook_names_a_command_there_is():
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert "entry: sfumato audit" in text and "pass_filenames: false" in text
