"""One concept, one encoder, one cut: every defence attacked and used, a figure a row, kept as arrays.

Intervals are drawn afterwards over all cuts (`nested.py`), so nothing is averaged here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts import Concept
from sfumato.concepts.texts.duplicates import near_duplicates, united
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Defence
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics.leakage import Hits
from sfumato.trials import reading
from sfumato.trials.finding import covers_every_term
from sfumato.trials.questions.informed import informed_row
from sfumato.trials.rivals import sample_of
from sfumato.trials.rows import LeftOut
from sfumato.trials.split import Split, gather
from sfumato.trials.suite import SUITES, Suite
from sfumato.trials.target import DefenceTarget
from sfumato.types import Vectors
from sfumato_research.frontier import telling
from sfumato_research.frontier.cases import CASES, GoldCase, near_clusters
from sfumato_research.frontier.defences import FEW, all_defences, widened
from sfumato_research.frontier.found import informed_texts, remembered
from sfumato_research.frontier.public import public_sentences
from sfumato_research.frontier.use import UseTexts, measure_use, names_found, neighbours, read_use
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder

Arrays = dict[str, NDArray[Any]]
CLEAN, FLOOR = "clean", "labels taken out"
CUTS = 5
LEARNED_FROM = 16_000
"""Public sentences that ours is learned from."""


def sizes(setting: Setting) -> Suite:
    """The protocol's, or a tenth of it."""
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
    return quick if setting.quick else full


def measured(name: str, model: str, cut: int, setting: Setting) -> Arrays:
    """The arrays of one cut: kept ones where there are, else measured now."""
    with one_blas_thread():
        return kept_arrays(name, model, cut, setting, lambda: measure(name, model, cut, setting))


def kept_arrays(name: str, model: str, cut: int, setting: Setting, make: Callable[[], Arrays]) -> Arrays:
    """Arrays from an earlier run, or made now and kept where the setting has a place for them."""
    path = _path(name, model, cut, setting)
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


def measure(name: str, model: str, cut: int, setting: Setting) -> Arrays:
    """Cut the texts, then attack and use every defence."""
    case = CASES[name][0](setting.data)
    case = case.cut(setting.pick(len(case.texts), 1500))
    use = read_use(setting.data, setting)
    suite, embedder = sizes(setting), RememberingEmbedder(encoder(setting, model))
    pool = cut_texts(case, suite, embedder, cut)
    every = [*case.texts, *use.every, *informed_texts(pool, suite, cut)]
    own = remembered(case.looked_for, "all", every, setting)
    lists = remembered(case.looked_for, "lists", every, setting)
    embedded = embedder.embed(use.every)
    kept: Arrays = {"terms.total": pool.prior().total, "terms.prior": pool.prior().found}
    kept["groups"] = pool.groups[pool.test]
    for key, concept in (("all", own), ("lists", lists), ("wide", widened(own))):
        kept[f"found.{key}"] = finds(pool, concept)
    public = public_sentences(setting.data, setting.pick(LEARNED_FROM, 400), seed=cut)
    method = reading.tokens(suite, pool, **placed(setting))
    setting.on_step(f"{name}, {model}, cut {cut}: control and floor")
    known = reading.calibrate(method, pool, suite.seeds, query=True, seed=cut)
    _put(kept, CLEAN, {"hits": _hits(known.control)})
    _put(kept, FLOOR, {"hits": _hits(known.floor)})
    _about(kept, CLEAN, Defence(name=CLEAN, embedder=embedder), pool, use, embedded, own, cut, setting, suite)
    _put(kept, FLOOR, _presence(_with_removed(pool), pool, cut, setting))
    sample, wanted = sample_of(pool, cut, own), setting.pick(None, FEW)
    for label, defence in all_defences(sample, lists, public, wanted):
        setting.on_step(f"{name}, {model}, cut {cut}: {label}")
        target = DefenceTarget(defence, pool, draws=suite.draws, seed=cut)
        query = defence.rewrite is None and defence.key is None
        read = reading.attack(method, pool, target, suite.seeds, query=query, seed=cut)
        reading.alike(known, read)
        _put(kept, label, {"hits": _hits(read.hits)})
        _about(kept, label, defence, pool, use, embedded, own, cut, setting, suite)
    return kept


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


def _about(
    kept: Arrays,
    label: str,
    defence: Defence,
    pool: Split,
    use: UseTexts,
    embedded: Vectors,
    own: Concept,
    cut: int,
    setting: Setting,
    suite: Suite,
) -> None:
    """Everything but the terms: presence, linkage, membership, the informed attacker, and use."""
    target = DefenceTarget(defence, pool, seed=cut)
    _put(kept, label, _presence(target.documents(), pool, cut, setting))
    positions, right = telling.linked(pool, target, cut)
    inside, near = telling.membership_scores(pool, target, cut)
    found: Arrays = {"linked": right.astype(float), "linked.groups": pool.groups[pool.test[positions]]}
    found |= {"members": inside, "members.near": near.astype(np.float32)}
    found |= measure_use(use, defence, embedded, own, cut)
    found |= neighbours(pool, target, own, cut) | names_found(pool, target)
    try:
        informed = informed_row(pool, target, suite, counts=False, seed=cut)
        found["informed"] = np.array([informed.released, informed.prior, informed.rows])
    except LeftOut:
        pass
    _put(kept, label, found)


def _presence(vectors: Vectors, pool: Split, cut: int, setting: Setting) -> Arrays:
    rows, holds = telling.presence_rows(pool)
    groups = near_duplicates([pool.texts[row] for row in rows])
    test, linear, network = telling.presence_scores(vectors[rows], holds, groups, cut, setting.device)
    return {
        "presence.holds": holds[test],
        "presence.linear": linear.astype(np.float32),
        "presence.network": network.astype(np.float32),
        "presence.groups": groups[test],
    }


def _with_removed(pool: Split) -> Vectors:
    assert pool.removed is not None
    removed = pool.clean.copy()
    removed[pool.rows] = pool.removed
    return removed


def _hits(several: Sequence[Hits]) -> NDArray[np.float32]:
    """`[runs, n]` what each run named."""
    return np.stack([each.found for each in several]).astype(np.float32)


def _put(kept: Arrays, label: str, found: Arrays) -> None:
    kept.update({f"{label}|{key}": each for key, each in found.items()})


def placed(setting: Setting) -> dict[str, Any]:
    """Where the attack trains, if not on the CPU."""
    return {} if setting.device == "cpu" else {"device": setting.device}


def _path(name: str, model: str, cut: int, setting: Setting) -> Path | None:
    size = "quick" if setting.quick else "full"
    return None if setting.cache is None else setting.cache / "frontier" / f"{name}-{model}-{cut}-{size}.npz"
