"""The same term attack with far more to learn from: public sentences, labelled by dictionary."""

from __future__ import annotations

import numpy as np

from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Defence
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics.leakage import count_leaked
from sfumato.release import Releasing
from sfumato.trials import reading
from sfumato.trials.rivals import sample_of
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget
from sfumato.types import Vectors
from sfumato_research.frontier.cases import CASES
from sfumato_research.frontier.defences import OURS, REMOVED, all_defences
from sfumato_research.frontier.found import remembered
from sfumato_research.frontier.measure import (
    CLEAN,
    FLOOR,
    LEARNED_FROM,
    Arrays,
    cut_texts,
    kept_arrays,
    placed,
    sizes,
)
from sfumato_research.frontier.public import joined, public_sentences, that_name
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder

SENTENCES = 357_186
MOST = 20_000


def widened(name: str, model: str, cut: int, setting: Setting) -> Arrays:
    """What is named with and without public text, kept or measured now."""
    with one_blas_thread():
        return kept_arrays(f"wider-{name}", model, cut, setting, lambda: _measure(name, model, cut, setting))


def _measure(name: str, model: str, cut: int, setting: Setting) -> Arrays:
    case = CASES[name][0](setting.data)
    case = case.cut(setting.pick(len(case.texts), 1500))
    suite, embedder = sizes(setting), RememberingEmbedder(encoder(setting, model))
    own = remembered(case.looked_for, "all", case.texts, setting)
    pool = cut_texts(case, suite, embedder, cut)
    every = public_sentences(setting.data, setting.pick(SENTENCES, 3000))
    public = that_name(every, pool.vocabulary, setting.pick(MOST, 200))
    texts = [pool.texts[row] for row in pool.learned]
    method = reading.tokens(suite, pool, **placed(setting))
    found: Arrays = {"terms.total": pool.prior().total, "terms.prior": pool.prior().found}
    found |= {"groups": pool.groups[pool.test], "public": np.array(len(public))}

    def read(
        label: str, learned: Vectors, more: Vectors, victim: Releasing | None, attacked: Vectors
    ) -> None:
        setting.on_step(f"{name}, {model}, cut {cut}, with {len(public)} public sentences: {label}")
        for key, known, vectors in (
            ("own", texts, learned),
            ("wider", [*texts, *public], joined(learned, more)),
        ):
            reader = method.fit(known, vectors, victim, None, cut)
            hits = count_leaked(pool.truth, reader(attacked))
            found[f"{label}|{key}"] = hits.found.astype(np.float32)[None]

    assert pool.removed is not None
    read(CLEAN, pool.clean[pool.learned], embedder.embed(public), None, pool.clean[pool.attacked])
    bare = embedder.embed([pool.vocabulary.remove(text) or text for text in public])
    read(FLOOR, pool.removed[pool.learn], bare, None, pool.removed[pool.test])
    sample = sample_of(pool, cut, own)
    for label, defence in all_defences(sample, every[:LEARNED_FROM], (REMOVED, OURS)):
        _read_defence(label, defence, pool, public, embedder, cut, read)
    return found


def _read_defence(
    label: str,
    defence: Defence,
    pool: Split,
    public: list[str],
    embedder: RememberingEmbedder,
    cut: int,
    read: object,
) -> None:
    target = DefenceTarget(defence, pool, seed=cut)
    learned, victim = target.learning(pool.learned)
    more = defence.prepare(public, embedder.embed(public), seed=cut)
    read(label, learned, more, victim, target.documents()[pool.attacked])  # type: ignore[operator]
