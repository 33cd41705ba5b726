"""Ways of making a text neutral, attacked and used without noise: research/protocol-neutral.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sfumato.concepts import Concept
from sfumato.concepts.detectors.labelled import Labelled
from sfumato.concepts.texts.neutral import spread
from sfumato.embedders.base import Embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Defence
from sfumato.evaluation.baselines import Sample
from sfumato.evaluation.text_baselines import rewriting
from sfumato.mechanisms import Identity
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics.similarity import pair_cosines, unit_rows
from sfumato.protector import NEUTRAL_COPIES, Protector
from sfumato.randomness import generator
from sfumato.trials import reading
from sfumato.trials.rivals import sample_of
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget
from sfumato_research.frontier import telling
from sfumato_research.frontier.cases import CASES, GoldCase
from sfumato_research.frontier.found import looking
from sfumato_research.frontier.measure import Arrays, cut_texts, kept_arrays, placed, sizes
from sfumato_research.frontier.use import neighbours
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder, sts

COPIES, SOFT, PLACEHOLDER, ONE, REMOVAL = "copies", "soft", "placeholder", "one reference", "removal"
WAYS = (COPIES, SOFT, PLACEHOLDER, ONE, REMOVAL)
CLEAN = "clean"
CUTS = 1
_TEXTS = 3000
_PAIRS = 500


def measured(name: str, model: str, cut: int, setting: Setting) -> Arrays:
    """The arrays of one cut: kept ones where there are, else measured now."""
    with one_blas_thread():
        return kept_arrays(
            f"neutral-{name}", model, cut, setting, lambda: _measure(name, model, cut, setting)
        )


def _measure(name: str, model: str, cut: int, setting: Setting) -> Arrays:
    case = CASES[name][0](setting.data)
    case = _some(case, setting.pick(_TEXTS, 300), cut)
    suite = replace(sizes(setting), seeds=1, draws=1, copies=1)
    embedder = RememberingEmbedder(encoder(setting, model))
    concept = found_by_people(case)
    pool = cut_texts(case, suite, embedder, cut)
    method = reading.tokens(suite, pool, **placed(setting))
    known = reading.calibrate(method, pool, 1, query=True, seed=cut)
    kept: Arrays = {"terms.total": pool.prior().total, "terms.prior": pool.prior().found}
    kept["groups"] = pool.groups[pool.test]
    kept[f"{CLEAN}|hits"] = np.stack([each.found for each in known.control]).astype(np.float32)
    pairs = _touched_pairs(case.looked_for, setting)
    for label, defence in ways(sample_of(pool, cut, concept), embedder, (CLEAN, *WAYS)):
        setting.on_step(f"{name}, {model}, cut {cut}: {label}")
        target = DefenceTarget(defence, pool, draws=1, seed=cut)
        if label != CLEAN:
            read = reading.attack(method, pool, target, 1, query=defence.rewrite is None, seed=cut)
            reading.alike(known, read)
            kept[f"{label}|hits"] = np.stack([each.found for each in read.hits]).astype(np.float32)
        found = _presence(target, pool, cut, setting) | neighbours(pool, target, concept, cut)
        found["cosine"] = _cosines(target, pool)
        kept |= {f"{label}|{key}": values for key, values in found.items()}
    lists = looking(case.looked_for, "lists")
    for label, defence in ways(sample_of(pool, cut, lists), embedder, (CLEAN, *WAYS)):
        first, second = (defence.release(texts, embedder.embed(texts), seed=cut) for texts in pairs[:2])
        kept[f"{label}|sts"] = pair_cosines(first, second)
    kept["sts.gold"] = np.asarray(pairs[2])
    return kept


def ways(sample: Sample, embedder: Embedder, wanted: Sequence[str]) -> Iterator[tuple[str, Defence]]:
    """Each way as a defence that adds no noise."""
    concept = sample.concept
    first = spread(concept.terms, NEUTRAL_COPIES)[0]

    def ours(label: str, by: str, hidden: Concept) -> Defence:
        made = Protector(Identity(), embedder, (hidden,), NEUTRAL_COPIES, neutral_by=by)  # type: ignore[arg-type]
        return Defence.from_protector(made, name=label)

    for label in wanted:
        if label == CLEAN:
            yield label, Defence(name=CLEAN, embedder=embedder)
        elif label == REMOVAL:
            edit = rewriting(concept, lambda text, found, rng: concept.without(text, found) or ".")
            yield label, Defence(name=label, rewrite=edit, embedder=embedder)
        elif label == ONE:
            yield label, ours(label, PLACEHOLDER, replace(concept, placeholder=first))
        else:
            yield label, ours(label, label, concept)


def found_by_people(case: GoldCase) -> Concept:
    """The catalog's concept, found where people labelled it; in texts an attacker makes, by our lists."""
    plain = looking(case.looked_for, "lists")
    rows = [
        (text, [span for span in spans if span["label"] == case.label])
        for text, spans in zip(case.texts, case.spans, strict=True)
    ]
    return replace(plain, detector=Labelled(rows, name="people", otherwise=plain.detector))


def _some(case: GoldCase, most: int, seed: int) -> GoldCase:
    rows = np.sort(generator(seed).permutation(len(case.texts))[:most])
    return replace(
        case,
        texts=[case.texts[row] for row in rows],
        spans=[case.spans[row] for row in rows],
        groups=case.groups[rows],
    )


def _presence(target: DefenceTarget, pool: Split, cut: int, setting: Setting) -> Arrays:
    from sfumato.concepts.texts.duplicates import near_duplicates

    rows, holds = telling.presence_rows(pool)
    groups = near_duplicates([pool.texts[row] for row in rows])
    vectors = target.documents()[rows]
    test, _, network = telling.presence_scores(vectors, holds, groups, cut, setting.device)
    return {
        "presence": network.astype(np.float32),
        "presence.holds": holds[test],
        "presence.groups": groups[test],
    }


def _cosines(target: DefenceTarget, pool: Split) -> np.ndarray:
    rows = pool.attacked
    return pair_cosines(unit_rows(target.documents()[rows]), unit_rows(pool.clean[rows]))


def _touched_pairs(looked_for: str, setting: Setting) -> tuple[list[str], list[str], list[float]]:
    """Scored pairs in one of whose texts our lists find the concept."""
    scored = sts(setting.data, "sts12", "sts13", "sts14", "stsb")
    concept, order = looking(looked_for, "lists"), generator(0).permutation(len(scored.scores))
    first: list[str] = []
    second: list[str] = []
    gold: list[float] = []
    for row in order:
        one, two = (scored.texts[side] for side in scored.pairs[row])
        if any(concept.find_all([one, two])):
            first.append(one)
            second.append(two)
            gold.append(float(scored.scores[row]))
        if len(gold) == setting.pick(_PAIRS, 40):
            break
    return first, second, gold
