"""The documents are a site as well: strict, the same as in the repository, with no request elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("research/*.md")])
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
"""What a browser loads by itself, and the attribute that says from where."""

pytest.importorskip("mkdocs")
markdown_it = pytest.importorskip("markdown_it")


def build(site: Path, *root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "docs" / "build.py"), str(site), *map(str, root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_a_page_fetches_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        tags = Tags(page.read_text()).seen
        fetched = [attrs.get(FETCHED[tag]) or "" for tag, attrs in tags if tag in FETCHED]
        assert fetched and not [url for url in fetched if re.match(r"\w+:|//", url)], page
        rule = next(attrs["content"] for tag, attrs in tags if attrs.get("http-equiv"))
        assert rule.startswith(("default-src 'self';", "default-src 'none';")) and "//" not in rule
        first = next(at for at, (tag, _) in enumerate(tags) if tag in FETCHED)
        assert any(attrs.get("http-equiv") for _, attrs in tags[:first]), "the browser hears the rule first"
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text()), sheet


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_the_same_parts_as_in_the_repository(site, page):
    parts = {"h1", "h2", "h3", "p", "li", "table", "tr", "td", "pre", "code", "img", "em", "strong"}
    here = Tags(markdown_it.MarkdownIt("commonmark").enable("table").render(page.read_text())).seen
    name = "index" if page.name == "README.md" else page.stem
    html = (site / page.parent.relative_to(ROOT) / f"{name}.html").read_text()
    there = Tags(html[html.index("<article") : html.index("</article>")]).seen
    assert Counter(tag for tag, _ in there if tag in parts) == Counter(tag for tag, _ in here if tag in parts)


@pytest.mark.parametrize("link", ["nowhere.md", "README.md#nowhere", "../SECURITY.md"])
def test_a_broken_link_stops_the_build(tmp_path, link):
    (tmp_path / "README.md").write_text(f"# One page\n\n[a link]({link})\n")
    (tmp_path / "mkdocs.yml").write_text(
        re.sub(r"^nav:.*", "", (ROOT / "mkdocs.yml").read_text(), flags=re.DOTALL | re.MULTILINE)
    )
    (tmp_path / "docs" / "theme").mkdir(parents=True)
    done = build(tmp_path / "site", tmp_path)
    assert done.returncode != 0 and link in done.stderr
