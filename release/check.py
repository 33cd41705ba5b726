"""`make release-check`: build twice, compare, look inside, and write what goes beside the files."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from release.building import Checkout, build
from release.contents import check_sdist, check_wheel
from release.documents import write_documents
from release.hashes import check as check_hashes
from release.pins import ReleaseError
from release.versions import check_versions, is_dated


def release_check(root: Path, out: Path) -> list[str]:
    """Everything that must hold of a release, with what it found; wheel, sdist and documents in a folder."""
    source = Checkout.of(root)
    source.require_committed()
    version = check_versions(root)
    said = [
        f"version {version}, commit {source.commit[:12]}",
        f"{check_hashes(root)} files of dependencies have hashes",
    ]
    with tempfile.TemporaryDirectory() as folder:
        made = build(source, Path(folder))
        for path in made:
            count = (check_wheel if path.suffix == ".whl" else check_sdist)(path, source)
            said.append(f"{path.name}: built twice, equal; {count} files, as committed")
        out.mkdir(parents=True, exist_ok=True)
        kept = [Path(shutil.copy(path, out / path.name)) for path in made]
    if old := sorted(path.name for path in out.glob("sfumato-*") if path not in kept):
        raise ReleaseError(
            f"{out.name}/ holds {old[0]} of another version: remove it, so that it is not published."
        )
    documents = write_documents(kept, source, version, out)
    said.append(f"written to {out.name}/: {', '.join(path.name for path in documents)}")
    if not is_dated(root):
        said.append("note: CHANGELOG.md gives this version no day; do not publish it yet")
    return said


def main(arguments: list[str] | None = None) -> int:
    """Run the check; 2 and one line where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the checkout")
    parser.add_argument(
        "--out", type=Path, default=None, help="where files go; dist/ in the checkout unless told"
    )
    asked = parser.parse_args(arguments)
    try:
        for line in release_check(asked.root.resolve(), (asked.out or asked.root / "dist").resolve()):
            print(line)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
