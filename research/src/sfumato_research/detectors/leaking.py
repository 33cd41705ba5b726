"""What an attacker names behind a protector, by the detector it finds with (protocol-detectors.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.concepts import Concept, Union
from sfumato.concepts.catalog import lookup
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Defence
from sfumato.evaluation.text_baselines import rewriting
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms.base import one_blas_thread
from sfumato.trials import reading
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget
from sfumato_research.frontier.cases import LEAST_WORDS, GoldCase
from sfumato_research.frontier.measure import cut_texts, finds, sizes
from sfumato_research.frontier.nested import Nested, nested, share
from sfumato_research.neutral.measure import found_by_people
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder, rows

CONCEPTS = {"place": ("LOC", "location"), "person": ("PER", "person")}
BEFORE, NOW, PEOPLE = "lists and spaCy", "with the tagger", "people's labels"


def held_back(setting: Setting, name: str) -> GoldCase:
    """Sentences of CoNLL's testa, which the tagger learned nothing from."""
    label, looked_for = CONCEPTS[name]
    known: dict[str, list[dict[str, object]]] = {}
    for row in rows(setting.data, "conll2003", "conll2003"):
        if row["split"] != "train" and len(row["text"].split()) >= LEAST_WORDS:
            known.setdefault(row["text"], row["spans"])
    case = GoldCase(name, label, looked_for, list(known), list(known.values()), np.arange(len(known)))
    return case.cut(setting.pick(len(known), 400))


def detectors(case: GoldCase) -> dict[str, Concept]:
    """The catalog's concept as it was found, as it is found, and where people labelled it."""
    concept, entry = Concept.named(case.looked_for), lookup(case.looked_for)
    parts = [part.make() for part in entry.parts if part.at is None and (part.fallback or part.ready())]
    return {
        BEFORE: replace(concept, detector=Union(*parts)),
        NOW: concept,
        PEOPLE: found_by_people(case),
    }


def measured(name: str, setting: Setting) -> Iterator[dict[str, Any]]:
    """One line a defence and a kind of rows."""
    with one_blas_thread():
        case = held_back(setting, name)
        suite = replace(sizes(setting), seeds=1, draws=1)
        embedder = RememberingEmbedder(encoder(setting, "minilm"))
        pool = cut_texts(case, suite, embedder, 0)
        method = reading.tokens(suite, pool)
        known = reading.calibrate(method, pool, 1, query=True, seed=0)
        every = np.ones(len(pool.test), bool)
        prior = {"found": pool.prior().found, "total": pool.prior().total}
        yield _line(name, "clean", "all", known.control[0].found, pool, every, prior)
        yield _line(name, "labels taken out", "all", known.floor[0].found, pool, every, prior)
        for label, concept in detectors(case).items():
            complete = finds(pool, concept)
            for defence in _defences(label, concept, case, embedder):
                setting.on_step(f"{name}: {defence.name}")
                target = DefenceTarget(defence, pool, draws=1, seed=0)
                query = defence.rewrite is None and defence.key is None
                read = reading.attack(method, pool, target, 1, query=query, seed=0)
                reading.alike(known, read)
                for which, kept in (("all", every), ("found", complete), ("missed", ~complete)):
                    if kept.any():
                        yield _line(name, defence.name, which, read.hits[0].found, pool, kept, prior)


def _defences(label: str, concept: Concept, case: GoldCase, embedder: Any) -> Iterator[Defence]:
    """Plain removal and the default protector, both finding with this detector."""
    edit = rewriting(concept, lambda text, found, rng: concept.without(text, found) or ".")
    yield Defence(name=f"removal, {label}", rewrite=edit, embedder=embedder)
    made = learn(case.texts, concept, embedder=embedder, settings=LearnSettings(source="public", seed=0))
    yield Defence.from_protector(made, name=f"default protector, {label}")


def _line(
    name: str, released: str, which: str, hits: Any, pool: Split, kept: Any, prior: dict[str, Any]
) -> dict[str, Any]:
    table = np.stack([hits[kept], prior["total"][kept]], 1)
    found: Nested = nested([table], [pool.groups[pool.test][kept]], share)
    guessed = prior["found"][kept].sum() / prior["total"][kept].sum()
    return {
        "concept": name, "released": released, "rows": which, "texts": int(kept.sum()),
        "named": round(found.value, 4), "low": round(found.low, 4), "high": round(found.high, 4),
        "prior": round(float(guessed), 4),
    }  # fmt: skip
