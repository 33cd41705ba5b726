"""Builds the site, and stops at a broken link: `python docs/build.py SITE [ROOT]`.

Pages are copied to where they stand in the repository, so that a link between them works on either side.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PAGES = (
    *("*.md", "LICENSE", "docs/**/*.md", "docs/**/*.svg", "docs/*.json", "docs/*.html"),
    *("examples/*.py", "action/*.md", "weights/*.md", "weights/tagger/*.md"),
    *("research/*.md", "research/recordings/*.md"),
)


def copy_pages(root: Path, folder: Path) -> None:
    """Put the pages, and what they show or link to, into a folder as they lie in the repository."""
    for page in (page for pattern in PAGES for page in root.glob(pattern)):
        copy = folder / page.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, copy)


def build(site: Path, root: Path) -> int:
    """Build the site into a folder; the exit status of the builder."""
    with TemporaryDirectory() as pages:
        copy_pages(root, Path(pages))
        # Not --quiet: it hides the warnings from --strict as well.
        command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
        command += ["--config-file", str(root / "mkdocs.yml"), "--site-dir", str(site.resolve())]
        env = os.environ | {"SFUMATO_PAGES": pages, "NO_MKDOCS_2_WARNING": "1"}
        return subprocess.run(command, env=env, check=False).returncode


if __name__ == "__main__":
    root = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parents[1]
    raise SystemExit(build(Path(sys.argv[1]), root))
