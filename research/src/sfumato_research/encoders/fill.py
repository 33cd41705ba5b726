"""Fills the caches that studies look vectors up in, on many cores.

    python -m sfumato_research.encoders.fill --data DATA --cache CACHE --encoder use-lite --set sst5

An encoder that embeds one text at a time keeps a study waiting on one core; its vectors may be made before,
by as many processes as there are cores. The texts are those of the named sets, or of a file with a text a
line.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder, rows, searches, sts

PART = 512
_STS = ("sts12", "sts13", "sts14", "stsb")


def plain_texts(data: Path, sets: Sequence[str]) -> list[str]:
    """The different texts of some sets, as studies embed them."""
    found: dict[str, None] = {}
    for name in sets:
        found |= dict.fromkeys(_texts(data, name))
    return list(found)


def _texts(data: Path, name: str) -> Iterator[str]:
    if name in _STS:
        yield from sts(data, name).texts
    elif name.startswith("retrieval_"):
        whole = searches(data, name)
        yield from whole.documents
        yield from whole.queries
    else:
        yield from (row["text"] for row in rows(data, name, name) if "text" in row)


def fill(setting: Setting, name: str, texts: Sequence[str], jobs: int) -> int:
    """Embed texts into the encoder's cache by some processes; return how many it holds then."""
    cached = encoder(setting, name)  # made before the others look for it
    parts = [texts[start : start + PART] for start in range(0, len(texts), PART)]
    began = monotonic()
    with ProcessPoolExecutor(jobs, get_context("spawn"), _start, (setting, name)) as pool:
        for number, done in enumerate(as_completed([pool.submit(_embed, part) for part in parts]), 1):
            done.result()
            if number % 10 == 0 or number == len(parts):
                _say(f"{name}: {number} of {len(parts)} parts, {monotonic() - began:.0f} s")
    return len(cached)  # type: ignore[arg-type]


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


_here: list[object] = []


def _start(setting: Setting, name: str) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    _here[:] = [encoder(setting, name)]


def _embed(texts: Sequence[str]) -> None:
    _here[0].embed(texts)  # type: ignore[attr-defined]


def main() -> None:
    """Read the options and fill."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--set", action="append", default=[], help="folder of a data set")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="file with a text a line")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most", type=int, help="only so many texts")
    asked = parser.parse_args()
    texts = plain_texts(asked.data, asked.set)
    for file in asked.texts:
        texts += file.read_text(encoding="utf-8").splitlines()
    texts = list(dict.fromkeys(texts))[: asked.most]
    asked.cache.mkdir(parents=True, exist_ok=True)
    held = fill(Setting(asked.data, cache=asked.cache), asked.encoder, texts, asked.jobs)
    _say(f"{asked.encoder}: {len(texts)} texts asked for, {held} vectors kept")


if __name__ == "__main__":
    main()
