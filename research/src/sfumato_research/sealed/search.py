"""The part on search: its vectors from a cache or made now, its curves from a cache or measured now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sfumato.embedders.base import Embedder
from sfumato.sealing.cells.codebook import unit
from sfumato.sealing.cells.filing import Filed, units
from sfumato.types import Vectors
from sfumato_research.sealed.cases import (
    MOST,
    POOL,
    SMALL,
    SMALLEST,
    SearchCase,
    filled_up,
    further_sentences,
    pool_case,
    small_case,
)
from sfumato_research.sealed.curves import TABLES, SearchCurve, measured_curves, read_curve
from sfumato_research.studies.base import Cell, Entry, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import encoder
from sfumato_research.studies.draw import Curve, curves

OWN, BOTH = "own vector", "own vector and sentences"


class Vectorizer:
    """Vectors of texts by name: from a folder where they are, else made and kept there."""

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        self._embedder, self._folder = embedder, folder

    def __call__(self, name: str, texts: Sequence[str]) -> Vectors:
        """`[n, d]` the unit vectors of texts."""
        path = None if self._folder is None else self._folder / f"{name}.npy"
        if path is not None and path.exists():
            kept: Vectors = np.load(path, mmap_mode="r", allow_pickle=False)
            if len(kept) >= len(texts):
                return np.asarray(kept[: len(texts)], np.float32)
        made = np.asarray(self._embedder.embed(list(texts)), np.float32)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, made)
        return made


def small_curves(case: SearchCase, vectorize: Vectorizer, seed: int = 0) -> Iterator[list[SearchCurve]]:
    """The curves of a set with judgements: by its texts alone and, if they are long, by sentences too."""
    own = unit(vectorize(f"{case.name}.docs", case.texts))
    asked = unit(vectorize(f"{case.name}.queries", case.queries))
    rows = np.arange(len(own))
    filings = [(OWN, Filed(own, rows, len(own)))]
    split = [units(text) for text in case.texts]
    flat = [each for found in split for each in found]
    if len(flat) > len(own):
        parts = unit(vectorize(f"{case.name}.units", flat))
        whose = np.concatenate([rows, np.repeat(rows, [len(found) for found in split])])
        filings.append((BOTH, Filed(np.concatenate([own, parts]), whose, len(own))))
    for filing, filed in filings:
        yield measured_curves(case, own, asked, filed, filing=filing, seed=seed)


def pool_curves(
    case: SearchCase,
    vectors: Vectors,
    asked: Vectors,
    device: str | None,
    tables: Sequence[int] = TABLES,
    step: int = 1,
    seed: int = 0,
) -> list[SearchCurve]:
    """The curves of a pool of sentences, each filed under its own vector."""
    filed = Filed(vectors, np.arange(len(vectors)), len(vectors))
    return measured_curves(
        case, vectors, asked, filed, filing=OWN, device=device, tables=tables, step=step, seed=seed
    )


def all_curves(setting: Setting) -> list[SearchCurve]:
    """Every curve: those that another machine measured, if they are in the cache, else measured now."""
    folder = None if setting.cache is None else setting.cache / "sealed"
    kept = sorted((folder / "curves").glob("*.json")) if folder is not None else []
    if kept and not setting.quick:
        return [read_curve(each) for path in kept for each in json.loads(path.read_text(encoding="utf-8"))]
    vectorize = Vectorizer(encoder(setting, "minilm"), folder)
    found = []
    for name in setting.pick(SMALL, SMALL[1:2]):
        setting.on_step(name)
        case = small_case(setting.data, name)
        found += [each for several in small_curves(case, vectorize, setting.seed) for each in several]
    for case in _pools(setting):
        setting.on_step(case.name)
        vectors, asked = (
            unit(vectorize("pool.docs", case.texts)),
            unit(vectorize("pool.queries", case.queries)),
        )
        device = None if setting.device == "cpu" else setting.device
        found += pool_curves(case, vectors, asked, device, seed=setting.seed)
    return found


def _pools(setting: Setting) -> list[SearchCase]:
    """The pool at its sizes; on a CPU, the smallest alone, for that is an afternoon already."""
    pool = pool_case(setting.data)
    if setting.device == "cpu":
        return [pool.first(setting.pick(SMALLEST, min(400, len(pool.texts))))]
    whole = filled_up(pool, *further_sentences(setting.data, pool), MOST)
    return [whole.first(size) for size in (len(whole.texts), len(pool.texts), SMALLEST)]


# Tables

GOAL, MILLION, SMALL_GOAL, MOST_BYTES, MOST_POSTINGS = 0.995, 0.99, 0.99, 250_000, 150
_NOTE = (
    "Kept: share of exact nDCG@10 by people's judgements. Bytes: postings, counter and 32 texts of a "
    "query as the store holds them. Learned: as the product does it, where a row is compared with a share "
    "of many cells; or with all of them, on a GPU; or on every third row, as the product did for a million."
)


def search_outcome(setting: Setting) -> StudyOutcome:
    """The tables of all curves, a picture, and what became of the goals."""
    found = sorted(
        all_curves(setting), key=lambda each: (each.rows, each.case, each.filing, each.learning, each.tables)
    )
    tables = [_needed(found), _within(found), _postings(found)]
    return StudyOutcome(tables, _pictures(found), _goals(found))


def _order(curve: SearchCurve) -> tuple[object, ...]:
    return curve.rows, curve.case, curve.filing, curve.learning, curve.tables


def _name(curve: SearchCurve) -> list[Entry]:
    case = curve.case.partition(" ")[0]
    return [case, f"{curve.rows:,}", curve.filing, curve.learning, curve.tables]


def _needed(found: list[SearchCurve]) -> StudyTable:
    made = []
    for curve in found:
        row = [*_name(curve), f"{curve.cells:,}"]
        for share, figure in ((0.99, "ndcg"), (0.995, "ndcg"), (0.99, "recall")):
            point = curve.fewest(share, figure)
            row += ["–"] * 2 if point is None else [round(point.postings), f"{point.bytes / 1000:,.0f} kB"]
        made.append(row)
    columns = [
        "set", "rows", "filed under", "learned", "tables", "cells", "postings for 99 % of nDCG", "bytes",
        "postings for 99.5 %", "bytes", "postings for 99 % of recall", "bytes",
    ]  # fmt: skip
    return StudyTable("What a query fetches", columns, made, _NOTE)


def _within(found: list[SearchCurve]) -> StudyTable:
    made = []
    for curve in found:
        row = _name(curve)
        for most in (100_000, MOST_BYTES):
            point = curve.within(most)
            if point is None:
                row += [Cell(None), Cell(None)]
            else:
                row += [
                    Cell(point.ndcg, point.ndcg_low, None, ".4f"),
                    Cell(point.recall, point.recall_low, None, ".4f"),
                ]
        made.append(row)
    columns = ["set", "rows", "filed under", "learned", "tables", "nDCG kept at 0.1 MB", "recall at 0.1 MB",
               "nDCG kept at 0.25 MB", "recall at 0.25 MB"]  # fmt: skip
    return StudyTable("What is kept for so many bytes a query", columns, made)


def _postings(found: list[SearchCurve]) -> StudyTable:
    """What one more table costs in the store, and saves in a query."""
    made = []
    for curve in found:
        point = curve.fewest(GOAL)
        cost = ["–"] * 2 if point is None else [round(point.postings), f"{point.bytes / 1000:,.0f} kB"]
        made.append(
            [
                *_name(curve),
                Cell(curve.postings_a_row, form=".2f"),
                f"{curve.stored_a_row / 1000:.2f} kB",
                *cost,
            ]
        )
    columns = ["set", "rows", "filed under", "learned", "tables", "postings a row", "stored a row",
               "postings a query for 99.5 %", "bytes a query"]  # fmt: skip
    return StudyTable("What each further posting a row costs", columns, made)


def _pictures(found: list[SearchCurve]) -> list[Picture]:
    lines = []
    for curve in found:
        if curve.case.startswith(POOL) and curve.tables != 2:
            points = [each for each in curve.points if each.bytes <= 600_000 and each.ndcg >= 0.9]
            label = f"{curve.rows:,}, {curve.tables} table{'s' * (curve.tables > 1)}, {curve.learning}"
            lines.append(Curve(label, [each.bytes / 1000 for each in points], [each.ndcg for each in points]))
    drawn = curves(
        lines, title="Sentences: search kept against bytes a query", x_label="kB a query, texts included",
        y_label="share of exact nDCG@10", x_range=(0.0, 600.0), y_range=(0.9, 1.0),
    )  # fmt: skip
    return [Picture("sealed-search.svg", drawn, "Search kept against bytes a query, pools of sentences")]


def _goals(found: list[SearchCurve]) -> list[Finding]:
    """The protocol's goals, each by the best of its curves."""
    pools = sorted({each.rows for each in found if each.case.startswith(POOL)})
    made = []
    wanted = [
        (rows, share, learning)
        for rows, share in zip(pools[-2:], (GOAL, MILLION), strict=False)
        for learning in sorted({each.learning for each in found if each.rows == rows})
    ]
    for rows, share, learning in wanted:
        here = [
            (each, point)
            for each in found
            if (each.rows, each.learning) == (rows, learning) and (point := each.within(MOST_BYTES))
        ]
        if not here:
            continue
        curve, point = max(here, key=lambda each: each[1].ndcg)
        said = (
            f"{point.ndcg:.2%} (at least {point.ndcg_low:.2%}) with {point.postings:.0f} postings, "
            f"{point.bytes / 1000:.0f} kB; {curve.tables} tables"
        )
        claim = f"share of nDCG@10 kept at 0.25 MB a query, learned: {learning}"
        made.append(Finding(f"search, {rows:,} rows", claim, f"{share:.1%}", said, point.ndcg >= share))
    fewest: dict[str, tuple[SearchCurve, float]] = {}
    for curve in found:
        point = curve.fewest(SMALL_GOAL)
        if curve.case in SMALL and point and point.postings < fewest.get(curve.case, (curve, np.inf))[1]:
            fewest[curve.case] = (curve, point.postings)
    if fewest:
        said = "; ".join(
            f"{case} {count:.0f} ({curve.tables} tables, {curve.filing})"
            for case, (curve, count) in fewest.items()
        )
        claim, met = (
            f"postings a query for {SMALL_GOAL:.0%} of nDCG@10",
            max(each[1] for each in fewest.values()),
        )
        made.append(
            Finding("search, small sets", claim, f"at most {MOST_POSTINGS}", said, met <= MOST_POSTINGS)
        )
    return made
