"""Importing Sfumato is light, and folders import only from those above them."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

import sfumato

ROOT = Path(sfumato.__file__).parent
HEAVY = (
    "torch",
    "ray",
    "fastapi",
    "chromadb",
    "qdrant_client",
    "lancedb",
    "pymilvus",
    "milvus_lite",
    "apsw",
    "redis",
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

ARCHITECTURE = Path(__file__).parent.parent / "docs" / "architecture.md"


def layout() -> list[str]:
    """The parts in the order of the table in docs/architecture.md: each may import what stands before it."""
    table = ARCHITECTURE.read_text().partition("| part | holds |\n")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[1:]]
    return [name for cell in cells for name in re.findall(r"`(\w+)/?`", cell)]


ORDER = layout()


def test_import_loads_nothing_heavy():
    code = "import sys, sfumato; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not [name for name in HEAVY if name in loaded]


def test_an_audit_loads_few_modules():
    code = "import sys, sfumato.auditing.run; print(*(name for name in sys.modules if name[:7] == 'sfumato'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) < 90


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
    there = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert len(ORDER) == len(set(ORDER)) and set(ORDER) == there - {"__init__"}


def test_a_second_level_of_folders_only_where_there_would_be_more_than_nine_modules():
    folders = [path for path in ROOT.rglob("*") if path.is_dir() and list(path.glob("*.py"))]
    depth = {path: len(path.relative_to(ROOT).parts) for path in folders}
    assert max(depth.values()) <= 2
    for room in (path for path in folders if depth[path] == 2):
        whole = [path for path in room.parent.rglob("*.py") if path.name != "__init__.py"]
        assert len(whole) > 9, f"{room.parent.name}/ needs no rooms"


def test_a_package_that_loads_on_first_use_has_every_name_it_lists():
    packages = (
        "accounting", "auditing", "cards", "certificates", "concepts", "embedders", "evaluation",
        "mechanisms", "metrics", "sensitivity", "verification",
    )  # fmt: skip
    for name in packages:
        package = importlib.import_module(f"sfumato.{name}")
        assert dir(package) == sorted(package.__all__)
        assert all(getattr(package, each) is not None for each in package.__all__)
        with pytest.raises(AttributeError, match=f"'sfumato.{name}' has no attribute 'nothing'"):
            _ = package.nothing


def test_research_is_imported_by_nothing_here():
    named = [path for path in ROOT.rglob("*.py") if "sfumato_research" in path.read_text()]
    assert not named


def test_the_wheel_and_the_source_archive_hold_no_research():
    """Both take what is named here and nothing else; the editable install shows what lies in the folder."""
    tools = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())["tool"]
    built = tools["hatch"]["build"]["targets"]
    assert built["wheel"] == {"packages": ["src/sfumato"]}
    assert set(built["sdist"]) == {"include"}
    assert not [part for part in built["sdist"]["include"] if part.strip("/*") in ("", "research")]


def test_journeys_are_short_and_every_file_they_name_is_there():
    """One text, one request and one audit, each in at most ten hops."""
    text = ARCHITECTURE.read_text().partition("## Three journeys\n")[2].partition("\n## ")[0]
    journeys = re.split(r"^\*\*One ", text, flags=re.MULTILINE)[1:]
    assert len(journeys) == 3
    for journey in journeys:
        assert 5 <= len(re.findall(r"^\d+\. ", journey, re.MULTILINE)) <= 10
    named = re.findall(r"`([\w/]+\.py|[\w/]+/)`", ARCHITECTURE.read_text())
    assert len(named) > 40
    assert not [
        name for name in named if not (ROOT / name).exists() and not (ROOT.parents[1] / name).exists()
    ]


def test_no_class_name_is_defined_twice():
    trees = (ROOT, ROOT.parents[1] / "research" / "src")
    homes: dict[str, list[str]] = {}
    for path in (path for tree in trees for path in tree.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path.name)
    assert not {name: found for name, found in homes.items() if len(found) > 1}


def test_no_function_is_longer_than_sixty_lines():
    long = [
        f"{path.name}: {node.name}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert not long
