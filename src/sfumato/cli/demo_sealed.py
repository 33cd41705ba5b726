"""The sealed part of `sfumato demo`: the same records sealed, searched, and attacked in the store."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from sfumato.auditing import AuditSettings
from sfumato.auditing.result import Audit
from sfumato.concepts.concept import Concept
from sfumato.embedders.base import Embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.errors import InputError
from sfumato.metrics.intervals import share
from sfumato.metrics.similarity import unit_rows
from sfumato.sealing.client.contents import SealedRow, text_content
from sfumato.sealing.crypto.envelope import OVERHEAD
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.packing import pack
from sfumato.sealing.following import records_of
from sfumato.sealing.records import Records
from sfumato.sealing.store import SealedStore
from sfumato.stores.kinds.memory import Memory
from sfumato.trials.experiment import MAIN
from sfumato.trials.held import read_held
from sfumato.trials.rows import percent
from sfumato.trials.split import gather
from sfumato.types import Vectors

SEARCHES = 120
"""Searches that are compared with clean ones."""
COLUMNS = ("what the store holds", "search kept", "terms named", "texts told apart")
_K = 10
_PLACES = ("key", "state", "store")


@dataclass(frozen=True, slots=True)
class SealedStory:
    """What sealing did to search, and what attacks get from what the store holds."""

    rows: int
    records: int
    sizes: int
    """How many different sizes the records have."""
    searches: int
    recall: float
    """Share of the ten rows of clean search that sealed search finds."""
    clean: float
    """nDCG@10 of clean search."""
    sealed: float
    """nDCG@10 of sealed search, on the same searches."""
    candidates: float
    bytes: float
    """Both a search, in the mean."""
    complete: bool
    """Whether the store gave all that it was asked for."""
    named: float
    """Share of terms that a reader names which was trained on sealed records."""
    between: tuple[float, float]
    """The interval of that."""
    attacked: int
    """How many terms that is a share of."""
    unsealed: float
    """What the same reader names from the same bytes before they were sealed: its control."""
    guessed: float
    """Share of terms that the best constant guess names."""
    told_apart: float
    """Share of records for which the right one of all texts is picked, by their sizes."""

    @property
    def kept(self) -> float:
        """Share of clean search that is kept."""
        return self.sealed / self.clean if self.clean else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "kept": self.kept}


def make_place(folder: Path) -> Path:
    """A folder for the sealed collection; what an earlier demo left there is removed, and nothing else."""
    place = folder / "sealed"
    if place.is_dir() and {each.name for each in place.iterdir()} <= set(_PLACES):
        shutil.rmtree(place)
    try:
        place.mkdir(mode=0o700)
    except OSError:
        raise InputError(
            f"`{place}` has to be free. Found something else there: name another folder."
        ) from None
    return place


def seal_demo(
    place: Path,
    texts: Sequence[str],
    searches: Sequence[str],
    concept: Concept,
    encoder: RememberingEmbedder,
    seed: int,
) -> SealedStory:
    """Seal records, search them as clean vectors are searched, and attack what the store holds.

    Args:
        place: where key, state and store go.
        texts: the records.
        searches: one a record, which it is the answer of.
        concept: what the attack looks for.
        encoder: the encoder of both.
        seed: cuts the records into known and attacked ones, as the audit of the same seed does.
    """
    ids = [str(row) for row in range(len(texts))]
    key = SealingKey.create(place / "key")
    # Short records are filed whole: embedding their sentences would take longer than all the rest. What is
    # kept is measured with records as searches; the demo's use other words, so more is asked for.
    with SealedStore(
        Memory(place / "store"),
        key=key,
        folder=place / "state",
        embedder=encoder,
        tables=2,
        keep="recall@10=0.995",
        units=0,
    ) as sealed:
        sealed.add(ids, texts)
        contents = _contents(sealed, ids)
        packed = pack(encoder.embed(texts), sealed.settings.precision)
        return SealedStory(
            rows=len(sealed),
            records=len(sealed.store),
            sizes=len({len(each) for row in contents for each in row}),
            **_searched(sealed, texts, searches[:SEARCHES], encoder),
            **_read(contents, packed, texts, concept, encoder, seed),
            told_apart=_told_apart(ids, texts, [len(each[-1]) for each in contents]),
        )


def _read(
    contents: list[list[bytes]],
    packed: list[bytes],
    texts: Sequence[str],
    concept: Concept,
    encoder: RememberingEmbedder,
    seed: int,
) -> dict[str, Any]:
    """What the audit's own attack names, given the sealed records in the place of vectors."""
    plan = AuditSettings().plan()
    every = range(len(texts))
    split = gather(texts, concept, plan, spans=None, embedder=encoder, clean=None, needed=every, seed=seed)
    bare = [[plain, *row[1:]] for plain, row in zip(packed, contents, strict=True)]
    hits, control = (
        read_held(split, _numbers([rows[row] for row in split.source]), plan, seed=seed)
        for rows in (contents, bare)
    )
    named = share("named", round(hits.found.sum()), round(hits.total.sum()))
    return {
        "named": named.value,
        "between": (named.low, named.high),
        "attacked": named.count,
        "unsealed": control.rate,
        "guessed": split.prior().rate,
    }


def _searched(
    sealed: SealedStore, texts: Sequence[str], searches: Sequence[str], encoder: Embedder
) -> dict[str, Any]:
    """Sealed search beside an exact one over the clean vectors; search `i` looks for record `i`."""
    asked = encoder.embed(searches)
    cosines = unit_rows(asked) @ unit_rows(encoder.embed(texts)).T
    clean = np.argsort(-cosines, axis=1, kind="stable")[:, :_K].tolist()
    found = sealed.search(vectors=asked, k=_K)
    ranked = [[int(hit.id) for hit in each.hits] for each in found]
    return {
        "searches": len(searches),
        "recall": float(np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(clean, ranked, strict=True)])),
        "clean": _ndcg(clean),
        "sealed": _ndcg(ranked),
        "candidates": float(np.mean([each.candidates for each in found])),
        "bytes": float(np.mean([each.bytes for each in found])),
        "complete": all(each.complete for each in found),
    }


def _ndcg(ranked: list[list[int]]) -> float:
    """nDCG@10 where each search has one right answer, the record of its own number."""
    gains = [1 / np.log2(rows.index(own) + 2) if own in rows else 0.0 for own, rows in enumerate(ranked)]
    return float(np.mean(gains))


def _contents(sealed: SealedStore, ids: Sequence[str]) -> list[list[bytes]]:
    """What the store holds of each row, which only the client could tell: postings first, the text last."""
    places = records_of(sealed, ids)
    found = Records(sealed.store).get(each for row in places for each in row)
    return [[found[each] for each in row] for row in places]


def _numbers(rows: list[list[bytes]]) -> Vectors:
    """`[n, b + 2]` what a reader is given of each row: its first posting's bytes, its sizes.

    He is told which records are one row's, which no thief is.
    """
    width = min(len(row[0]) for row in rows)
    octets = np.array([np.frombuffer(row[0][:width], np.int8) for row in rows], np.float64)
    sizes = np.array([[np.log2(len(row[-1])), len(row)] for row in rows])
    table = np.column_stack([octets, sizes])
    spread = table.std(axis=0)
    scaled = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return unit_rows(scaled).astype(np.float32)


def _told_apart(ids: Sequence[str], texts: Sequence[str], sizes: Sequence[int]) -> float:
    """How often one who knows every text, and its id, picks the right one for a record by its size."""
    known = [OVERHEAD + len(text_content(SealedRow(*each, {}))) for each in zip(ids, texts, strict=True)]
    fitting = [[row for row, size in enumerate(known) if size == held] for held in sizes]
    return float(np.mean([1 / len(rows) if own in rows else 0.0 for own, rows in enumerate(fitting)]))


def beside(story: SealedStory, audited: Audit) -> list[tuple[str, str, str, str]]:
    """A line for each kind of store: what is kept of search, what a reader names, and what is told apart."""
    reader, link = next(row for row in audited.attacks if row.name == MAIN), audited.linkage
    apart = (
        ["-"] * 3 if link is None else [percent(each) for each in (link.control, link.released, link.prior)]
    )
    kept = audited.utility.kept
    shown = "undefined" if kept is None else percent(kept)
    return [
        ("plain vectors", percent(1.0), percent(reader.control), apart[0]),
        ("protected vectors", shown, percent(reader.released), apart[1]),
        ("sealed records", percent(story.kept), percent(story.named), percent(story.told_apart)),
        ("a constant guess", "-", percent(reader.prior), apart[2]),
    ]


def told(story: SealedStory, place: Path, query: str) -> list[str]:
    """What is said of it in the terminal."""
    opened = f"--store memory:{place / 'store'} --key {place / 'key'} --state {place / 'state'}"
    return [
        f"\n5. Sealed the same {story.rows} records: the store in {place} finds them and reads nothing.",
        f"   {story.searches} searches find {percent(story.recall)} of the ten nearest of clean search; each "
        f"fetches {story.candidates:.0f} candidates",
        f"   and 32 texts of {story.records} records, {story.bytes / 1000:.0f} kB.",
        f"   Try: sfumato search {json.dumps(query)} {opened}\n",
    ]


def sealed_table(lines: Sequence[tuple[str, ...]]) -> Table:
    """The same for the terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if number else "left")
    for line in lines:
        table.add_row(*line)
    return table
