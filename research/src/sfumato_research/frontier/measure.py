"""How labelled texts are cut, how much of everything is done, and where a cut's arrays are kept.

Intervals are drawn afterwards over all cuts (`nested.py`), so nothing is averaged in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts import Concept
from sfumato.concepts.texts.duplicates import near_duplicates, united
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.trials.finding import covers_every_term
from sfumato.trials.split import Split, gather
from sfumato.trials.suite import SUITES, Suite
from sfumato_research.frontier.cases import GoldCase, near_clusters
from sfumato_research.studies.base import Setting

Arrays = dict[str, NDArray[Any]]
CLEAN, FLOOR = "clean", "labels taken out"
LEARNED_FROM = 16_000
"""Public sentences that ours is learned from."""


def sizes(setting: Setting) -> Suite:
    """The protocol's, the same with one run, or a tenth of it."""
    full = replace(
        SUITES["full"],
        rows=4000,
        pool=7000,
        seeds=3,
        draws=2,
        epochs=25,
        copies=2,
        informed=100,
        candidates=50,
    )
    quick = replace(
        full, rows=300, pool=450, seeds=1, draws=1, epochs=5, copies=1, informed=20, candidates=10
    )
    return quick if setting.quick else replace(full, seeds=1) if setting.few else full


def kept_arrays(
    name: str,
    model: str,
    cut: int,
    setting: Setting,
    make: Callable[[], Arrays],
    folder: str = "frontier",
) -> Arrays:
    """Arrays from an earlier run, or made now and kept where the setting has a place for them."""
    path = arrays_path(name, model, cut, setting, folder)
    if path is not None and path.exists():
        with np.load(path, allow_pickle=False) as kept:
            return {key: kept[key] for key in kept.files}
    found = make()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, **found)  # type: ignore[arg-type]
        part.replace(path)
    return found


def cut_texts(
    case: GoldCase,
    suite: Suite,
    embedder: RememberingEmbedder,
    cut: int,
    groups: NDArray[np.int64] | None = None,
) -> Split:
    """One cut by what belongs together, see `belonging`."""
    together = belonging(case, embedder) if groups is None else groups
    return gather(
        case.texts, case.truth, suite, spans=case.labelled, embedder=embedder, clean=None, needed=(),
        seed=cut, groups=together,
    )  # fmt: skip


def belonging(case: GoldCase, embedder: RememberingEmbedder) -> NDArray[np.int64]:
    """`[n]` what is never separated: the data's groups, near-duplicates, and near vectors."""
    vectors = embedder.embed(case.texts)
    return united(case.groups, near_duplicates(case.texts), near_clusters(vectors))


def finds(pool: Split, looked_for: Concept) -> NDArray[np.bool_]:
    """`[n]` whether a detector finds every labelled term of an attacked text."""
    texts = [pool.texts[row] for row in pool.attacked]
    spans = None if pool.spans is None else [pool.spans[row] for row in pool.attacked]
    wanted = pool.concept.find_all(texts, spans)
    return covers_every_term(texts, wanted, looked_for.find_all(texts))


def placed(setting: Setting) -> dict[str, Any]:
    """Where the attack trains, if not on the CPU."""
    return {} if setting.device == "cpu" else {"device": setting.device}


def arrays_path(name: str, model: str, cut: int, setting: Setting, folder: str = "frontier") -> Path | None:
    """Where they are kept."""
    named = f"{name}-{model}-{cut}-{setting.size}.npz"
    return None if setting.cache is None else setting.cache / folder / named
