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
from sfumato.trials.reading import tokens
from sfumato_research.studies.base import Cell, Finding, Outcome, Setting, Table
from sfumato_research.studies.bench import Bench
from sfumato_research.studies.scenes import places_in_sts

NAMES = ("person", "organisation", "location")
"""What else in a sentence points to a place."""
HIDDEN = ("location", "person", "organisation", "date", "number", "sex", "disease", "age")
_STEM = 4


def what_the_floor_is(setting: Setting) -> Outcome:
    """Take more and more out of the texts, and let near-duplicates stand on both sides of the cut."""
    with one_blas_thread():
        bench = Bench.of(places_in_sts(setting.data), setting, "minilm")
        material = bench.material
        texts = [material.texts[row] for row in material.rows]
        bare = [_without(text, bench.scene.concept.find(text)) for text in texts]
        stems = re.compile(
            r"\b(" + "|".join(sorted({term[:_STEM] for term in bench.scene.concept.terms})) + r")\w*", re.I
        )
        no_kin = [stems.sub("", text) for text in bare]
        named = list(no_kin)
        for name in setting.pick(NAMES, NAMES[:1]):
            concept = Concept.named(name)
            named = [
                _without(text, spans) for text, spans in zip(named, concept.find_all(named), strict=True)
            ]
        versions = {
            "clean texts (control)": texts,
            "the place taken out (the floor)": bare,
            "and words that begin like a place (Iraqi, Chinese)": no_kin,
            "and people, organisations, other places": named,
        }
        read = {label: _read(bench, made) for label, made in versions.items()}
        order = generator(setting.seed).permutation(len(texts))
        cut = len(material.test)
        mixed = _read(bench, bare, order[cut:], order[:cut])
    prior = material.prior()
    control, floor = read["clean texts (control)"], read["the place taken out (the floor)"]
    rows: list[list[Cell | str]] = []
    for label, hits in read.items():
        found = measure_leakage(
            control=control, floor=floor, released=hits, prior=prior, how=material.resampling()
        )
        rows.append([label, Cell.between(found.released, found.intervals["released"])])
    shuffled = measure_leakage(
        control=mixed, floor=mixed, released=mixed,
        prior=count_prior([material.terms[row] for row in order[:cut]]), how=Resampling(),
    )  # fmt: skip
    rows.append(
        [
            "the place taken out, near-duplicates on both sides of the cut",
            Cell.between(shuffled.released, shuffled.intervals["released"]),
        ]
    )
    rows.append(["best constant guess (prior)", Cell(prior.rate)])
    least = read["and people, organisations, other places"].rate
    return Outcome(
        [Table("Leakage of places by the token attack, as more is taken out", ["text", "leakage"], rows)],
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


def _read(
    bench: Bench, texts: Sequence[str], learned: np.ndarray | None = None, tested: np.ndarray | None = None
) -> Hits:
    material, seed = bench.material, bench.setting.seed
    known, asked = (material.learn, material.test) if learned is None or tested is None else (learned, tested)
    vectors = bench.embedder.embed(list(texts))
    instrument = tokens(bench.suite, material)
    # The labels are the terms of the clean texts, whatever was taken out of what is embedded.
    clean = [material.texts[row] for row in material.rows]
    read = instrument.fit([clean[row] for row in known], vectors[known], None, None, seed)
    return count_leaked([material.terms[row] for row in asked], read(vectors[asked]))


def _without(text: str, spans: Sequence[object]) -> str:
    """The text with some spans taken out."""
    parts, end = [], 0
    for span in sorted(spans, key=lambda each: each.start):  # type: ignore[attr-defined]
        parts.append(text[end : max(end, span.start)])  # type: ignore[attr-defined]
        end = max(end, span.end)  # type: ignore[attr-defined]
    return " ".join("".join([*parts, text[end:]]).split()) or "."


def many_concepts(setting: Setting) -> Outcome:
    """Hide more and more concepts in the same texts, and see what is left."""
    rows: list[list[Cell | str | int]] = []
    kept: list[float] = []
    with one_blas_thread():
        bench = Bench.of(places_in_sts(setting.data), setting, "wordllama")
        texts = [bench.material.texts[row] for row in bench.own]
        settings = LearnSettings(source="public", limit=1000, seed=setting.seed)
        concepts = [bench.material.concept, *(Concept.named(name) for name in HIDDEN[1:])]
        enough = [
            concept
            for concept in concepts
            if sum(bool(spans) for spans in concept.find_all(texts)) >= setting.pick(60, 40)
        ]
        for count in [size for size in setting.pick((1, 2, 4, 8), (1, 2)) if size <= len(enough)]:
            hidden = enough[:count]
            protector = learn(texts, hidden, embedder=bench.embedder, settings=settings)
            defence = Defence.from_protector(protector, name="protector", setting=f"{count} concepts")
            leaks, keeps = bench.leaks(defence), bench.keeps(defence)
            matched = float(np.mean(protector.prepare(texts).matched))
            alone = Defence.from_protector(
                replace(protector, neutral=0), name="protector", setting=f"{count} concepts, noise alone"
            )
            light = bench.keeps(alone)
            rows.append(
                [
                    count,
                    ", ".join(concept.name for concept in hidden),
                    Cell(matched, form=".0%"),
                    Cell(protector.mechanism.noise_ratio(bench.embedder.dim), form=".2f"),
                    Cell.between(leaks.excess, leaks.interval, ".0%"),
                    *(Cell.between(each.kept, each.interval, ".1%") for each in keeps.values()),
                    Cell(light["STS"].kept, form=".1%"),
                ]
            )
            kept.append(keeps["STS"].kept or 0.0)
    table = Table(
        "WordLlama: location is attacked; more and more concepts are hidden beside it",
        [
            "concepts",
            "which",
            "texts with one",
            "noise ratio",
            "excess",
            "STS kept",
            "search kept",
            "STS kept, noise alone",
        ],
        rows,
    )
    return Outcome(
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
