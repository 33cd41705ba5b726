"""What the documents show is run: code blocks, links and commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("research/*.md")])


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


def test_the_inner_loop_names_tests_that_are_there():
    chosen = re.search(r"^LONG :=.*?(?=^DEBIAN)", (ROOT / "Makefile").read_text(), re.DOTALL | re.MULTILINE)
    named = re.findall(r"tests/[\w/]+(?:\.py)?(?=[\s,])", chosen[0])
    assert len(named) > 5 and all((ROOT / name).exists() for name in named)


TAKEN_BACK = (
    "can no longer be read",
    "than from sentences with",
    "goal met",
    "term were not there",
)


def shown() -> list[Path]:
    """What a user reads: pages but for those that quote what was taken back, and the words of the program."""
    quoting = {"advisories.md", "CHANGELOG.md"}
    pages = [page for page in PAGES if page.name not in quoting]
    kinds = ("py", "html", "js", "svg")
    return [*pages, *(file for kind in kinds for file in ROOT.glob(f"**/src/**/*.{kind}"))]


@pytest.mark.parametrize("claim", TAKEN_BACK)
def test_what_was_taken_back_stays_out(claim):
    assert not [file.name for file in shown() if claim in " ".join(file.read_text().split())]


def test_the_readme_shows_redaction_beside_ours_and_the_condition_of_its_promise():
    results = (ROOT / "README.md").read_text().partition("## Results")[2].partition("## Limits")[0]
    rows = [line for line in results.splitlines() if line.startswith("|")]
    assert any("redaction" in row for row in rows) and any("guess" in row for row in rows)
    assert any("protector (default)" in row for row in rows)
    assert all(word in results for word in ("conditional", "*neutral* vectors", "may not ask"))
    assert all(word in results for word in ("median", "worst", "The goal is not reached", "older figures"))


def test_every_advisory_is_listed_and_says_what_to_do():
    page = (ROOT / "docs" / "advisories.md").read_text()
    listed = re.findall(r"^\| \[(SFU-2026-\d{3})\]", page, flags=re.MULTILINE)
    parts = re.split(r"^## (SFU-2026-\d{3})$", page, flags=re.MULTILINE)[1:]
    assert listed == parts[::2] and len(set(listed)) == len(listed)
    for part in parts[1::2]:
        assert all(word in part for word in ("Since 0.1", "*What.*", "*Found*", "*What to do.*"))


def test_every_test_that_the_security_page_names_is_there():
    page = (ROOT / "SECURITY.md").read_text()
    named = re.findall(r"`((?:[a-z]+/)?test_\w+\.py)`", page)
    assert named and all((ROOT / "tests" / name).exists() for name in named)
