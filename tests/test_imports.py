"""Importing Sfumato is light, and folders import only from those above them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import sfumato

ROOT = Path(sfumato.__file__).parent
HEAVY = (
    "torch",
    "ray",
    "fastapi",
    "chromadb",
    "qdrant_client",
    "lancedb",
    "faiss",
    "psycopg",
    "langchain_core",
    "llama_index",
    "haystack",
    "sklearn",
    "sentence_transformers",
    "typer",
    "pyarrow",
    "scipy",
)

# The layout of docs/architecture.md, from the ground up: a part may import what stands before it.
ORDER = [
    "version",
    "errors",
    "types",
    "numbers",
    "composing",
    "devices",
    "files",
    "workspace",
    "randomness",
    "sampling",
    "grid",
    "arrays",
    "blocks",
    "artifacts",
    "registry",
    "accounting",
    "concepts",
    "inputs",
    "embedders",
    "sensitivity",
    "mechanisms",
    "gpu",
    "verification",
    "text",
    "promise",
    "preparing",
    "protector",
    "saving",
    "reference",
    "learning",
    "scale",
    "attacks",
    "evaluation",
    "records",
    "auditing",
    "stores",
    "adapters",
    "report",
    "studies",
    "benchmarks",
    "server",
    "cli",
]


def test_import_loads_nothing_heavy():
    code = "import sys, sfumato; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not [name for name in HEAVY if name in loaded]


def test_mechanisms_need_no_optional_package():
    code = "import sys, sfumato; sfumato.mechanisms.Laplace(epsilon=1.0); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "ray", "fastapi", "typer", "pyarrow", "scipy.stats"} & set(done.stdout.split())


def imported_parts(path: Path) -> set[str]:
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sfumato":
            deeper = (node.module or "").split(".")[1:2]
            parts |= set(deeper) if deeper else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            parts |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("sfumato.")}
    return parts


def test_folders_import_only_from_above():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        assert own in ORDER, f"{own} has no place in the layout"
        for part in imported_parts(path) - {own}:
            if ORDER.index(part) > ORDER.index(own):
                wrong.append(f"{path.relative_to(ROOT)} imports {part}")
    assert not wrong


def test_one_level_of_folders():
    folders = [path for path in ROOT.rglob("*") if path.is_dir() and "__pycache__" not in path.parts]
    deep = [path for path in folders if len(path.relative_to(ROOT).parts) > 1 and list(path.glob("*.py"))]
    assert not deep
