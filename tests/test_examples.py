"""Every example runs, says what it should, and makes no request beyond this machine of its own accord."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.offline import QUIET

ROOT = Path(__file__).parent.parent
# Loaded by the interpreter before the script is.
GUARD = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.offline import loopback_only
sys.path.remove({root!r})
guard = loopback_only(quiet=False, record=Path({record!r}))
guard.__enter__()
"""
SAYS = {
    "langchain_rag.py": (
        r"(1[678]\d|19\d|200) of 200",
        r"200 vectors and 0 texts",
        r"finds [0-4] such notes",
    ),
    "llamaindex_retrieval.py": (r"(1[678]\d|19\d|200) of 200",),
    "haystack_pipeline.py": (r"(1[678]\d|19\d|200) of 200", r"200 vectors and 0 texts"),
    "sealed_rag.py": (r"(1[678]\d|19\d|200) of 200", r"and 0 readable texts", r"key=[0-9a-f]{16}"),
    "sklearn_pipeline.py": (r"kind of note +9\d\.\d% +9\d\.\d%", r"attacker\) +9\d\.\d% +[123]\d\.\d%"),
    "sentence_transformers_module.py": (r"the last one Protect", r"repeat: 0 of 40"),
}


def run(script, folder):
    (folder / "sitecustomize.py").write_text(GUARD.format(root=str(ROOT), record=str(folder / "tried")))
    keep = {name: value for name, value in os.environ.items() if name not in QUIET}
    environment = {**keep, "PYTHONPATH": str(folder), "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    tried = folder / "tried"
    return done, tried.read_text().split() if tried.exists() else []


def test_every_example_is_run():
    # Here, or by the tests of the part that it is about.
    others = [path for path in ROOT.glob("tests/**/test_*.py") if path != Path(__file__)]
    sources = "".join(path.read_text() for path in others)
    found = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert set(SAYS) <= found
    assert not [name for name in found - set(SAYS) if name not in sources]


@pytest.mark.parametrize("name", SAYS)
def test_examples_run_offline(name, tmp_path):
    done, tried = run(ROOT / "examples" / name, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert tried == []
    for pattern in SAYS[name]:
        assert re.search(pattern, done.stdout), (pattern, done.stdout)


def test_a_request_would_be_seen(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import urllib.request\n"
        "try:\n    urllib.request.urlopen('http://192.0.2.1/', timeout=1)\n"
        "except OSError as error:\n    print(error)\n"
    )
    done, tried = run(script, tmp_path)
    assert tried == ["192.0.2.1"] and "must not reach" in done.stdout
