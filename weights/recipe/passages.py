"""Plain English passages out of packages: python weights/recipe/passages.py --packages FOLDER --out FOLDER.

As gather.py, but sentences that follow each other stay together: a passage ends where something that is none
stands between two of them, or with the paragraph once it is long enough. Writes one file a package with the
columns source and text for documents.py, and licences.jsonl.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from gather import ABBREVIATED, ENDS, FOREIGN, licence_in, members, plain, source_of
from harvest import paragraphs_of

FEWEST, ENOUGH, MOST = 24, 110, 220
"""Words of the shortest passage, of one that ends with its paragraph, and of the longest."""


def in_order(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph that read as plain English, and "" for whatever does not."""
    kept = ""
    for part in ENDS.split(re.sub(r"\s+", " ", paragraph).strip()):
        kept = f"{kept} {part}" if kept else part
        if not ABBREVIATED.search(kept):
            yield kept if plain(kept) and kept[-1] in ".!?\"')" else ""
            kept = ""
    if kept:
        yield kept if plain(kept) and kept[-1] in ".!?\"')" else ""


def passages_of(paragraphs: Iterator[str]) -> Iterator[str]:
    """Sentences that follow each other, joined."""
    held: list[str] = []

    def words() -> int:
        return sum(len(sentence.split()) for sentence in held)

    def flushed() -> Iterator[str]:
        if words() >= FEWEST:
            yield " ".join(held)
        held.clear()

    for paragraph in paragraphs:
        for sentence in in_order(paragraph):
            if not sentence or words() > MOST:
                yield from flushed()
            if sentence:
                held.append(sentence)
        if words() >= ENOUGH:
            yield from flushed()
    yield from flushed()


def gathered(path: Path, most: int) -> tuple[list[str], str]:
    """Distinct passages of one package, and its licence."""
    found: dict[str, None] = {}
    licence = ""
    for name, raw in members(path):
        licence = licence or licence_in(name, raw)
        if not FOREIGN.search(f"/{name}") and len(found) < most:
            for passage in passages_of(paragraphs_of(name, raw)):
                found.setdefault(passage)
    return list(found)[:most], licence


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=Path, required=True, action="append")
    parser.add_argument("--out", type=Path, required=True, help="a folder: one file a package, made once")
    parser.add_argument("--most", type=int, default=12_000, help="passages taken from one package")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(path for folder in options.packages for path in folder.iterdir()):
        source = source_of(path)
        target = options.out / f"{source}.tsv.gz"
        if target.exists() or not path.is_file():
            continue
        try:
            passages, licence = gathered(path, options.most)
        except (OSError, ValueError, tarfile.TarError, zipfile.BadZipFile) as error:
            print(f"{path.name}: {type(error).__name__}", flush=True)
            continue
        with io.TextIOWrapper(gzip.open(target.with_suffix(".part"), "wb", 4), encoding="utf-8") as handle:
            handle.write("source\ttext\n")
            handle.writelines(f"{source}\t{passage}\n" for passage in passages)
        target.with_suffix(".part").rename(target)
        facts = {"source": source, "file": path.name, "passages": len(passages), "licence": licence}
        with (options.out / "licences.jsonl").open("a") as handle:
            handle.write(json.dumps(facts) + "\n")
        print(f"{source}: {len(passages)} | {licence[:60]}", flush=True)


if __name__ == "__main__":
    main()
