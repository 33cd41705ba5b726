"""Releases that nobody can draw again, drawn once and kept: IronCore's noise and key, sealed records."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Guarantee
from sfumato.errors import InputError
from sfumato.evaluation import BASELINES
from sfumato.evaluation.baselines import Baseline
from sfumato.release import Releasing
from sfumato.stores import Memory
from sfumato.trials.rows import LeftOut
from sfumato.trials.target import DefenceTarget
from sfumato.types import Rows, Vectors
from sfumato_research.attackers.ground import Ground
from sfumato_research.sealed.views import StoreView, sealed_store, seen

APPROXIMATION = 2.5
ROWS_A_TAG, TABLES = 16, 3
_BYTES = 191
"""Of the text's record, and of a posting, that stand for a row."""

Arrays = dict[str, NDArray[Any]]


class Frozen:
    """One release of the pool: some rows of it are attacked, and others are the pairs that leaked."""

    draws, repeats = 1, False

    def __init__(self, label: str, kept: Arrays) -> None:
        self.label, self.kept = label, kept
        self.guarantee = Guarantee(label, float("inf"), "none", "none")

    def learning(self, rows: Rows, *, public: bool = False) -> tuple[Vectors, Releasing | None]:
        """Pairs that leaked; what is clean is not kept here."""
        if public:
            raise InputError(f"{self.label} keeps no clean vectors: take them from the ground.")
        return self.documents()[rows], None

    def documents(self, draw: int = 0) -> Vectors:
        """The only one there is."""
        return np.asarray(self.kept["draw0"], np.float32)

    def others(self, texts: Sequence[str]) -> Vectors:
        """Refuse: what is secret releases nothing else."""
        raise InputError(f"{self.label} was released once; nothing else can be released by it.")


def _kept(ground: Ground, label: str, make: Callable[[Ground], Arrays]) -> Frozen:
    path = None if ground.folder is None else ground.folder / f"released-{label}.npz"
    if path is not None and path.exists():
        with np.load(path, allow_pickle=False) as kept:
            found = {name: kept[name] for name in kept.files}
        if str(found["rows"]) != ground.digest:
            raise InputError(f"{path} must be of the rows asked about. Found others. Delete it.")
        return Frozen(label, found)
    found = make(ground) | {"rows": np.array(ground.digest)}
    if path is None:
        return Frozen(label, found)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.npz")
    np.savez_compressed(part, **found)
    with suppress(FileExistsError):  # of processes that draw at once, all take what the first one kept
        os.link(part, path)
    part.unlink()
    return _kept(ground, label, make)


def frozen_ironcore(ground: Ground) -> Frozen:
    """IronCore's encrypted vectors, in half precision, which is what is attacked."""

    def make(ground: Ground) -> Arrays:
        if not BASELINES.installed("ironcore"):
            raise LeftOut(f"it is not installed: {BASELINES.install_line('ironcore')}")
        kind: Callable[..., Baseline] = BASELINES.get("ironcore")
        defence = kind(approximation=(APPROXIMATION,)).fit(ground.sample)[0]
        drawn = DefenceTarget(defence, ground.pool, seed=ground.cut).documents()
        return {"draw0": (drawn / np.abs(drawn).max()).astype(np.float16)}

    return _kept(ground, "IronCore", make)


def frozen_sealed(ground: Ground) -> Frozen:
    """What a thief of a sealed collection has of each row, were he told which records are one row's."""
    return _kept(ground, "sealed", _sealed)


def _sealed(ground: Ground) -> Arrays:
    texts = ground.pool.texts
    with tempfile.TemporaryDirectory() as home:
        with sealed_store(Memory(), Path(home) / "state", ground.embedder) as store:
            store.add([str(row) for row in range(len(texts))], texts)
            view = seen(store)
    cells = max(2, len(texts) // ROWS_A_TAG)
    return {
        "draw0": _records(view),
        "sizes": view.sizes()[view.text_places],
        "tags": _fields(view, cells),
    }


def _records(view: StoreView) -> NDArray[np.float16]:
    """`[rows, 384]` size and first bytes of a row's text, number and first bytes of its postings."""
    at = view.text_places
    owned = [np.flatnonzero(view.rows == row) for row in range(len(at))]
    postings = np.array([next(each for each in own if not view.is_text[each]) for own in owned])
    counts = np.array([[len(own)] for own in owned])
    body = (1, 1 + _BYTES)
    parts = [
        np.log(view.sizes()[at])[:, None],
        view.bytes_at(*body)[at] / 128.0 - 1,
        counts,
        view.bytes_at(*body)[postings] / 128.0 - 1,
    ]
    return np.concatenate(parts, axis=1).astype(np.float16)


def _fields(view: StoreView, cells: int) -> Rows:
    """`[rows, 3]` three places of each text's record, taken for tags."""
    at = view.text_places
    wide = [view.id_bytes()[at], view.bytes_at(1, 3)[at], view.bytes_at(60, 62)[at]]
    return np.stack([(each[:, 0].astype(np.intp) * 256 + each[:, 1]) % cells for each in wide], axis=1)
