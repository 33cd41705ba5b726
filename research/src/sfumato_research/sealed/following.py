"""Attacks on two snapshots: which record of the second is of the row that a record of the first was of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.embedders.base import Embedder
from sfumato.stores import Memory
from sfumato.types import Floats, Rows
from sfumato_research.sealed.corpus import SealedCorpus
from sfumato_research.sealed.views import StoreView, seal_rows, sealed_store, seen

_BLOCK, _BYTES, _BY_SIZE, _BY_PLACE = 256, 32, 100.0, 0.01


def followed(first: StoreView, second: StoreView) -> Floats:
    """Whether each row's text is found again in the second: by size, then likeness, then place."""
    here, there = first.text_places, second.text_places
    rows = np.flatnonzero(here >= 0)
    rows = rows[there[rows] >= 0]
    mine, theirs = _described(first, here[rows]), _described(second, there[rows])
    out = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        part = slice(start, start + _BLOCK)
        same = np.zeros((len(mine[0][part]), len(rows)), np.float32)
        for column in range(mine[0].shape[1]):
            same += mine[0][part, column, None] == theirs[0][None, :, column]
        scores = same - _BY_SIZE * np.abs(mine[1][part, None] - theirs[1][None])
        scores -= _BY_PLACE * np.abs(mine[2][part, None] - theirs[2][None])
        best = scores.max(axis=1, keepdims=True)
        true = np.take_along_axis(scores, np.arange(len(rows))[part][:, None], axis=1) == best
        out[part] = true[:, 0] / (scores == best).sum(axis=1)
    return out


def _described(view: StoreView, at: Rows) -> tuple[np.ndarray, Floats, Floats]:
    """Bytes of id and content, size and place of records."""
    heads = np.concatenate([view.id_bytes(), view.bytes_at(1, 1 + _BYTES)], axis=1)[at]
    return heads, np.log(view.sizes()[at]), np.argsort(np.argsort(at)) / max(1, len(at))


def kept_ids(first: StoreView, second: StoreView) -> StoreView:
    """The second, had its texts kept the ids of the first."""
    ids = list(second.ids)
    here, there = first.text_places, second.text_places
    for row in np.flatnonzero((here >= 0)[: len(there)] & (there[: len(here)] >= 0)):
        ids[there[row]] = first.ids[here[row]]
    return replace(second, ids=ids)


def only(view: StoreView, ids: set[str]) -> StoreView:
    """Some of the records."""
    at = [place for place, name in enumerate(view.ids) if name in ids]
    return StoreView(
        [view.ids[a] for a in at], [view.contents[a] for a in at], view.rows[at], view.is_text[at]
    )


def across(
    corpus: SealedCorpus, embedder: Embedder, folder: Path, share: int = 10
) -> dict[str, tuple[StoreView, StoreView]]:
    """Snapshots before and after an update of some rows, learning anew, and rotation."""
    rows = range(len(corpus))
    first = sealed_store(Memory(), folder / "one", embedder)
    with first as store:
        seal_rows(store, corpus, rows)
        before = seen(store)
        changed = list(rows)[::share]
        store.update([str(row) for row in changed], [f"{corpus.texts[row]} Seen again." for row in changed])
        after = seen(store)
        gone, came = set(before.ids) - set(after.ids), set(after.ids) - set(before.ids)
        store.relearn()
        anew = seen(store)
        second = sealed_store(Memory(), folder / "two", embedder)
        with second as other:
            store.copy_to(other)
            rotated = seen(other)
    return {
        f"update of one row in {share}": (only(before, gone), only(after, came)),
        "learning anew": (after, anew),
        "rotation": (anew, rotated),
    }
