"""What the floor is made of, and what it costs to hide more than one thing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.concepts import Concept
from sfumato.evaluation import Defence
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics import Resampling, count_leaked, count_prior, measure_leakage
from sfumato.metrics.leakage import Hits
from sfumato.randomness import generator
from sfumato_research.sfumato.comparison import compare
from sfumato_research.studies.base import Cell, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.corpora import places_in_sts

NAMES = ("person", "organisation", "location")
"""What else in a sentence points to a place."""
HIDDEN = ("location", "person", "organisation", "date", "number", "sex", "disease", "age")
CLEAN, BARE = "clean texts (control)", "the place taken out (the floor)"
NAMELESS = "and people, organisations, other places"
_STEM = 4


def what_the_floor_is(setting: Setting) -> StudyOutcome:
    """Take more and more out of the texts, and let near-duplicates stand on both sides of the cut."""
    with one_blas_thread():
        on = compare(places_in_sts(setting.data), setting, "minilm")
        split = on.split
        versions = _versions(on, setting.pick(NAMES, NAMES[:1]))
        read = {label: _read(on, made) for label, made in versions.items()}
        order = generator(setting.seed).permutation(len(split.rows))
        cut = len(split.test)
        mixed = _read(on, versions[BARE], order[cut:], order[:cut])
    prior = split.prior()
    control, floor, least = read[CLEAN], read[BARE], read[NAMELESS].rate
    rows: list[list[Cell | str]] = []
    for label, hits in read.items():
        found = measure_leakage(
            control=control, floor=floor, released=hits, prior=prior, how=split.resampling()
        )
        rows.append([label, Cell.between(found.released, found.intervals["released"])])
    shuffled = measure_leakage(
        control=mixed, floor=mixed, released=mixed,
        prior=count_prior([split.terms[row] for row in order[:cut]]), how=Resampling(),
    )  # fmt: skip
    rows.append(
        [
            "the place taken out, near-duplicates on both sides of the cut",
            Cell.between(shuffled.released, shuffled.intervals["released"]),
        ]
    )
    rows.append(["best constant guess (prior)", Cell(prior.rate)])
    return StudyOutcome(
        [
            StudyTable(
                "Leakage of places by the token attack, as more is taken out", ["text", "leakage"], rows
            )
        ],
        findings=[
            Finding(
                "floor",
                "the floor is context, not a residue of the term: it falls as related names go",
                "–",
                f"{floor.rate:.3f} falls to {least:.3f} without related names; prior {prior.rate:.3f}",
                least < floor.rate,
            )
        ],
    )


def _versions(on: Comparison, names: Sequence[str]) -> dict[str, list[str]]:
    """The texts with the concept, and what is left as more is taken out."""
    concept = on.corpus.concept
    texts = [on.split.texts[row] for row in on.split.rows]
    bare = [_without(text, concept.find(text)) for text in texts]
    stems = re.compile(r"\b(" + "|".join(sorted({term[:_STEM] for term in concept.terms})) + r")\w*", re.I)
    no_kin = [stems.sub("", text) for text in bare]
    nameless = list(no_kin)
    for name in names:
        found = Concept.named(name).find_all(nameless)
        nameless = [_without(text, spans) for text, spans in zip(nameless, found, strict=True)]
    kin = "and words that begin like a place (Iraqi, Chinese)"
    return {CLEAN: texts, BARE: bare, kin: no_kin, NAMELESS: nameless}


def _read(
    on: Comparison, texts: Sequence[str], learned: np.ndarray | None = None, tested: np.ndarray | None = None
) -> Hits:
    split = on.split
    known, asked = (split.learn, split.test) if learned is None or tested is None else (learned, tested)
    vectors = on.embedder.embed(list(texts))
    # The labels are the terms of the clean texts, whatever was taken out of what is embedded.
    clean = [split.texts[row] for row in split.rows]
    read = on.tokens.fit([clean[row] for row in known], vectors[known], None, None, on.seed)
    return count_leaked([split.terms[row] for row in asked], read(vectors[asked]))


def _without(text: str, spans: Sequence[object]) -> str:
    """The text with some spans taken out."""
    parts, end = [], 0
    for span in sorted(spans, key=lambda each: each.start):  # type: ignore[attr-defined]
        parts.append(text[end : max(end, span.start)])  # type: ignore[attr-defined]
        end = max(end, span.end)  # type: ignore[attr-defined]
    return " ".join("".join([*parts, text[end:]]).split()) or "."


def many_concepts(setting: Setting) -> StudyOutcome:
    """Hide more and more concepts in the same texts, and see what is left."""
    rows: list[list[Cell | str | int]] = []
    kept: list[float] = []
    with one_blas_thread():
        on = compare(places_in_sts(setting.data), setting, "wordllama")
        texts = on.sample.texts
        concepts = [on.split.concept, *(Concept.named(name) for name in HIDDEN[1:])]
        enough = [
            concept
            for concept in concepts
            if sum(bool(spans) for spans in concept.find_all(texts)) >= setting.pick(60, 40)
        ]
        for count in [size for size in setting.pick((1, 2, 4, 8), (1, 2)) if size <= len(enough)]:
            row, sts_kept = _hidden(on, enough[:count])
            rows.append(row)
            kept.append(sts_kept)
    columns = [
        "concepts", "which", "texts with one", "noise ratio", "excess", "STS kept", "search kept",
        "STS kept, noise alone",
    ]  # fmt: skip
    table = StudyTable(
        "WordLlama: location is attacked; more and more concepts are hidden beside it", columns, rows
    )
    return StudyOutcome(
        [table],
        findings=[
            Finding(
                "concepts",
                "the cost of k concepts grows more slowly than k",
                "–",
                f"STS kept falls from {kept[0]:.1%} with one to {kept[-1]:.1%} with {rows[-1][0]}",
                (1 - kept[-1]) < (1 - kept[0]) * int(rows[-1][0]),  # type: ignore[arg-type]
            )
        ],
    )


def _hidden(on: Comparison, concepts: Sequence[Concept]) -> tuple[list[Cell | str | int], float]:
    """The row of a protector that hides some concepts, and what it keeps of STS."""
    texts, count = on.sample.texts, len(concepts)
    settings = LearnSettings(source="public", limit=1000, seed=on.seed)
    protector = learn(texts, concepts, embedder=on.embedder, settings=settings)
    defence = Defence.from_protector(protector, setting=f"{count} concepts")
    alone = Defence.from_protector(replace(protector, neutral=0), setting=f"{count} concepts, noise alone")
    leaks, keeps, light = on.leakage(defence), on.utility(defence), on.utility(alone)
    row: list[Cell | str | int] = [
        count,
        ", ".join(concept.name for concept in concepts),
        Cell(float(np.mean(protector.prepare(texts).matched)), form=".0%"),
        Cell(protector.mechanism.noise_ratio(on.dim), form=".2f"),
        Cell.between(leaks.excess, leaks.interval, ".0%"),
        *(Cell.between(each.kept, each.interval, ".1%") for each in keeps.values()),
        Cell(light["STS"].kept, form=".1%"),
    ]
    return row, keeps["STS"].kept or 0.0
