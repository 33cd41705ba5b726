"""What the documents show is run: code blocks, links and commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")])


def blocks(page: Path) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(page), page.name, "exec"), {"__name__": "documentation"})
    printed = capsys.readouterr().out
    # A comment after a print says what it prints.
    for claim in re.findall(r"print\(.*?\)\s+# (.+)", blocks(page)):
        assert claim.strip() in printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), target


def test_the_readme_names_every_mechanism_and_both_commands():
    from sfumato.mechanisms import MECHANISMS

    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme and "make test" in readme
    for name in MECHANISMS.names():
        assert MECHANISMS.get(name).__name__ in readme
