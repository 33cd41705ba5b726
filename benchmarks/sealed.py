"""Sealed search beside the same rows in the clear, in the same store: searches in turns, ratios by round.

Texts are lines of a file, embedded with WordLlama, or vectors made up in clusters. Each store holds the rows
twice, sealed and in the clear; a lap is one search for ten rows with their texts, embedding not counted.

    python benchmarks/sealed.py qdrant:/tmp/q#{name} --texts sentences.txt
    python benchmarks/sealed.py 'postgresql://host/db#{name}' 'postgresql://host/db?index=hnsw#{name}h'
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.benchmarks.interleave import CPU, WALL, Timing, interleave
from sfumato.embedders import load_embedder
from sfumato.randomness import generator
from sfumato.sealing import SealingKey
from sfumato.stores import Store, open_store
from sfumato.types import Vectors

QUERIES = 200
AT_ONCE = 2000


def read(path: str | None, rows: int, dim: int) -> tuple[list[str], Vectors]:
    """Rows and, after them, queries."""
    count = rows + QUERIES
    if path is not None:
        texts = [line.strip() for line in islice(Path(path).open(encoding="utf-8"), count)]
        return texts, np.asarray(load_embedder("wordllama").embed(texts), np.float32)
    rng = generator(0)
    centres = rng.standard_normal((count // 20 + 1, dim))
    made = centres[rng.integers(len(centres), size=count)] + 0.6 * rng.standard_normal((count, dim))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return [f"A text of about the length of a sentence, number {row}." for row in range(count)], made.astype(
        np.float32
    )


def timed(made: dict[str, float], name: str, run: Callable[[], object]) -> None:
    """Note how long something took."""
    start = time.perf_counter()
    run()
    made[f"{name} s"] = round(time.perf_counter() - start, 1)


def fill_plain(store: Store, texts: Sequence[str], vectors: Vectors) -> None:
    """The rows in the clear."""
    for start in range(0, len(texts), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        ids = [str(row) for row in range(start, start + len(texts[part]))]
        store.add(ids, vectors[part], [{"text": text} for text in texts[part]])
    store.flush()


def measure(address: str, texts: list[str], vectors: Vectors, rounds: int, **how: Any) -> dict[str, Any]:
    """One store, filled twice and searched in turns."""
    rows = len(texts) - QUERIES
    queries = cycle(vectors[rows:])
    found: dict[str, Any] = {
        "store": address.partition(":")[0],
        "rows": rows,
        "dim": vectors.shape[1],
        **how,
    }
    with tempfile.TemporaryDirectory() as folder:
        key = SealingKey.open(Path(folder) / "key")
        plain = open_store(address.replace("{name}", "plain"))
        sealed = sf.SealedStore(
            open_store(address.replace("{name}", "sealed").replace("index=hnsw", "index=exact")),
            key=key, folder=Path(folder) / "state", units=0, **how,
        )  # fmt: skip
        with plain, sealed:
            timed(found, "plain", lambda: fill_plain(plain, texts[:rows], vectors[:rows]))
            timed(found, "plain, first search", lambda: plain.search(vectors[rows:][:1], 10))
            ids = [str(row) for row in range(rows)]
            timed(found, "sealed", lambda: sealed.add(ids, texts[:rows], vectors=vectors[:rows]))
            contenders = {
                "clear": lambda: plain.search(next(queries)[None], 10),
                "sealed": lambda: sealed.search(vectors=next(queries)[None], k=10),
            }
            for clock, name in ((WALL, "wall"), (CPU, "processor of the client")):
                found[name] = {
                    each: _said(lap) for each, lap in interleave(contenders, rounds, clock=clock).items()
                }
            results = sealed.search(vectors=vectors[rows:], k=10)
            same = [
                len({hit.id for hit in one.hits} & {hit.id for hit in other}) / 10
                for one, other in zip(results, plain.search(vectors[rows:], 10), strict=True)
            ]
            found |= {
                "probes": sealed.settings.probes,
                "candidates": float(np.mean([each.candidates for each in results])),
                "bytes": float(np.mean([each.bytes for each in results])), "same ten": float(np.mean(same)),
            }  # fmt: skip
    return found


def _said(timing: Timing) -> dict[str, Any]:
    return {"median ms": round(1000 * timing.median, 2), "over clear": timing.ratio.to_dict()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Sealed search beside the same rows in the clear.")
    parser.add_argument("stores", nargs="+", help="addresses with {name} where the collection's name goes")
    parser.add_argument("--texts", help="a file with a text a line; made-up vectors without it")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--tables", type=int, default=1)
    parser.add_argument("--probes", default="auto", help="cells a query asks for; auto keeps --keep")
    parser.add_argument("--keep", default="recall@10=0.99")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("-o", "--output", help="where the figures go as JSON")
    wanted = parser.parse_args()
    texts, vectors = read(wanted.texts, wanted.rows, wanted.dim)
    probes = int(wanted.probes) if wanted.probes.isdigit() else "auto"
    made = []
    for address in wanted.stores:
        made.append(
            measure(
                address, texts, vectors, wanted.rounds, tables=wanted.tables, probes=probes, keep=wanted.keep
            )
        )
        print(json.dumps(made[-1], indent=1), flush=True)
    if wanted.output:
        Path(wanted.output).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
