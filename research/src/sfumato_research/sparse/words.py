"""SPARSE, Table 5 and Figures 2 and 3: which words share dimensions, and which dimensions react."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.concepts.concept import Concept
from sfumato.concepts.detectors.shapes import MONTHS, WEEKDAYS
from sfumato.concepts.lists import people, places
from sfumato.concepts.texts.duplicates import near_duplicates, split
from sfumato.embedders.base import Embedder
from sfumato.evaluation import Defence
from sfumato.mechanisms import Identity, Laplace, Mahalanobis, Mechanism
from sfumato.metrics.leakage import named, words
from sfumato.randomness import generator
from sfumato.sensitivity import Mask
from sfumato_research.analysis import top_and_tail
from sfumato_research.sparse.data import CASED, comparison
from sfumato_research.sparse.printed import P_VALUE, SPILL, TOP_SENSITIVITY
from sfumato_research.sparse.tradeoff import levels
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import encoder, sts
from sfumato_research.studies.draw import Curve, curves
from sfumato_research.studies.heat import heat_map

SETS = ("sts12", "sts14", "stsb")
CATEGORIES: dict[str, tuple[str, ...]] = {
    "weekday": tuple(WEEKDAYS),
    "country": places.COUNTRIES,
    "month": tuple(MONTHS),
    "gender": people.FEMALE + people.MALE,
    "city": places.CITIES,
}
GROUPS = ("target", "similar", "other")
MOST_TEXTS, MOST_OTHERS, OTHER_WORDS, RARE = 700, 300, 25, 8
EPOCHS = 20


@lru_cache(maxsize=1)
def _texts(data: Path) -> list[str]:
    return list(dict.fromkeys(text for name in SETS for text in sts(data, name).texts))


@dataclass(frozen=True, slots=True, eq=False)
class CategoryWords:
    """Texts with the words of a category, and an attacker who looks for these and some others."""

    category: str
    target: str
    similar: tuple[str, ...]
    other: tuple[str, ...]
    texts: list[str]

    @classmethod
    def of(cls, setting: Setting, category: str) -> CategoryWords:
        """The most frequent word of a category is the target."""
        everything = _texts(setting.data)
        terms = [term for term in CATEGORIES[category] if term not in CASED or category == "month"]
        finder = Concept.from_terms(category, terms)
        held = {text: found for text in everything if (found := finder.terms_in(text))}
        counts = Counter(term for found in held.values() for term in found)
        known = [term for term, count in counts.most_common(30) if count >= RARE and term.isalpha()]
        most = setting.pick(MOST_TEXTS, 250)
        order = generator(setting.seed).permutation(len(held))
        chosen = [text for text in map(list(held).__getitem__, order) if set(held[text]) & set(known)][:most]
        chosen += [text for text in everything if text not in held][: setting.pick(MOST_OTHERS, 100)]
        common = Counter(word for text in chosen for word in set(words(text)) if len(word) > 4)
        other = [word for word, _ in common.most_common(200) if word not in counts][:OTHER_WORDS]
        return cls(category, known[0], tuple(known[1:]), tuple(other), chosen)

    def kinds(self) -> dict[str, tuple[str, ...]]:
        """The words of each kind."""
        return dict(zip(GROUPS, ((self.target,), self.similar, self.other), strict=True))


def twins(texts: Sequence[str], word: str, embedder: Embedder, most: int) -> tuple[Any, Any]:
    """Vectors of texts with a word, and of the same texts without it."""
    concept = Concept.from_terms(word, [word])
    bare = {text: concept.remove(text) for text in texts if concept.terms_in(text)}
    kept = [(text, less) for text, less in bare.items() if any(mark.isalnum() for mark in less)][:most]
    return embedder.embed([text for text, _ in kept]), embedder.embed([less for _, less in kept])


def learn_masks(pairs: Mapping[str, tuple[Any, Any]], seed: int) -> dict[str, Mask]:
    """One mask a word, all at once."""
    from sfumato.sensitivity.learned import MaskSettings
    from sfumato.sensitivity.learner import MaskLearner

    learned = MaskLearner(MaskSettings(seed=seed)).fit_many(dict(pairs), source="public")
    return {word: each.mask for word, each in learned.items()}


def leaked_by_kind(
    chosen: CategoryWords, vectors: Any, mechanism: Mechanism | None, seed: int
) -> dict[str, tuple[float, float]]:
    """Words found and words there are, of each kind, among texts that the attacker did not learn from."""
    learn, test = split(near_duplicates(chosen.texts), 0.4, generator(seed))
    kinds = chosen.kinds()
    vocabulary = [word for some in kinds.values() for word in some]
    attack = TokenClassifier(vocabulary=vocabulary, epochs=EPOCHS, control=False, seed=seed)
    reader = attack.fit([chosen.texts[row] for row in learn], vectors[learn], mechanism)
    held = [set(words(chosen.texts[row])) & set(vocabulary) for row in test]
    defence = Defence(name="release", mechanism=mechanism or Identity())
    released = defence.release([chosen.texts[row] for row in test], vectors[test], seed=seed)
    guesses = reader.top(released, [len(found) for found in held])
    read = [named(sorted(found), guess) for found, guess in zip(held, guesses, strict=True)]
    totals = {}
    for kind, some in kinds.items():
        own = [hit for row in read for (word,), hit in row.items() if word in some]
        totals[kind] = (float(sum(own)), float(len(own)))
    return totals


def table5(setting: Setting) -> StudyOutcome:
    """Leakage taken away from the word that is protected, from words like it and from other words."""
    ratio = levels(setting, (10,))[10]
    embedder = encoder(setting)
    rows: list[list[Cell | str]] = []
    order, plain_order, runs = [], [], setting.pick(2, 1)
    for category in list(CATEGORIES)[: setting.pick(5, 2)]:
        setting.on_step(f"words, {category}")
        chosen = CategoryWords.of(setting, category)
        vectors = embedder.embed(chosen.texts)
        pair = twins(_texts(setting.data), chosen.target, embedder, setting.pick(300, 60))
        mask = learn_masks({chosen.target: pair}, setting.seed)[chosen.target]
        releases: dict[str, Mechanism | None] = {
            "clean": None,
            "sparse": Mahalanobis.from_noise_ratio(ratio, shape=mask),
            "laplace": Laplace.from_noise_ratio(ratio, dim=vectors.shape[1]),
        }
        found = {
            name: _pooled(chosen, vectors, release, setting.seed, runs) for name, release in releases.items()
        }
        lost = {
            name: {
                kind: 1 - _rate(found[name][kind]) / max(_rate(found["clean"][kind]), 1e-9) for kind in GROUPS
            }
            for name in ("sparse", "laplace")
        }
        printed = dict(zip(GROUPS, SPILL[category], strict=True))
        rows.append(
            [
                f"{category} ({chosen.target})",
                *(Cell(_rate(found["clean"][kind])) for kind in GROUPS),
                *(Cell(lost["sparse"][kind], form=".0%", printed=printed[kind] / 100) for kind in GROUPS),
                *(Cell(lost["laplace"][kind], form=".0%") for kind in GROUPS),
            ]
        )
        order.append(lost["sparse"]["target"] > lost["sparse"]["similar"] > lost["sparse"]["other"])
        plain_order.append(lost["laplace"]["target"] > lost["laplace"]["other"])
    columns = ["category (target)", *(f"clean, {kind}" for kind in GROUPS)]
    columns += [f"SPARSE takes away, {kind}" for kind in GROUPS]
    columns += [f"Laplace takes away, {kind}" for kind in GROUPS]
    note = (
        f"Noise ratio {ratio:.2f}, as at printed ε = 10; sentences of STS12, STS14 and STSB. The mask is "
        "learned for the target alone. Shares of words among the attacker's top guesses, no intervals: a "
        "target stands in some dozens of test sentences."
    )
    finding = Finding(
        "Table 5",
        "the target loses most, words like it less, others least",
        f"in {len(SPILL)} of {len(SPILL)} categories",
        f"in {sum(order)} of {len(order)} (Laplace takes more from the target than from others in "
        f"{sum(plain_order)})",
        sum(order) > len(order) / 2,
        ""
        if sum(order) > len(order) / 2
        else "a mask for one word is not where an adaptive attacker reads it",
    )
    return StudyOutcome([StudyTable("words near the target", columns, rows, note)], findings=[finding])


def _pooled(
    chosen: CategoryWords, vectors: Any, mechanism: Mechanism | None, seed: int, runs: int
) -> dict[str, tuple[float, float]]:
    several = [leaked_by_kind(chosen, vectors, mechanism, seed + run) for run in range(runs)]
    return {kind: (sum(r[kind][0] for r in several), sum(r[kind][1] for r in several)) for kind in GROUPS}


def _rate(counts: tuple[float, float]) -> float:
    return counts[0] / max(counts[1], 1.0)


SHOWN = {
    "weekdays": ("monday", "tuesday", "friday"),
    "countries": ("china", "russia", "pakistan"),
    "gender": ("man", "woman", "girl"),
    "numbers": ("two", "three", "four"),
}


def figures(setting: Setting) -> StudyOutcome:
    """Figure 2: masks of single words. Figure 3: sensitivity of the top and the tail of dimensions."""
    embedder = encoder(setting)
    shown = dict(list(SHOWN.items())[: setting.pick(4, 2)])
    texts = _texts(setting.data)
    pairs = {
        word: twins(texts, word, embedder, setting.pick(150, 50)) for some in shown.values() for word in some
    }
    masks = {word: mask.scores for word, mask in learn_masks(pairs, setting.seed).items()}
    same, cross = _likeness(masks, shown)
    axes = sorted({int(axis) for scores in masks.values() for axis in np.argsort(-scores)[:5]})
    picture = heat_map(
        [[float(scores[axis]) for axis in axes] for scores in masks.values()],
        rows=list(masks),
        columns=[str(axis) for axis in axes],
        title="Masks of single words on the union of their top five dimensions",
    )
    reacting, finding = _reacting(setting)
    findings = [
        Finding(
            "Figure 2",
            "words of one kind have like masks",
            "seen in the picture",
            f"mean correlation of masks {same:.2f} within a kind, {cross:.2f} across kinds",
            same > cross + 0.05,
            "" if same > cross + 0.05 else "masks of single words differ from seed to seed about as much",
        ),
        finding,
    ]
    return StudyOutcome(
        figures=[
            Picture("sparse-figure2.svg", picture, "Masks of single words", "Darker is more sensitive."),
            reacting,
        ],
        findings=findings,
    )


def _likeness(masks: Mapping[str, Any], shown: Mapping[str, tuple[str, ...]]) -> tuple[float, float]:
    kind = {word: name for name, some in shown.items() for word in some}
    same: list[float] = []
    cross: list[float] = []
    for one, other in combinations(masks, 2):
        value = float(np.corrcoef(masks[one], masks[other])[0, 1])
        (same if kind[one] == kind[other] else cross).append(value)
    return float(np.mean(same)), float(np.mean(cross))


def _reacting(setting: Setting) -> tuple[Picture, Finding]:
    """Ranked as the paper does, by what is then compared, and by a mask learned from other texts."""
    from sfumato.evaluation.noise_baselines import learn_mask

    on = comparison(setting, "sts12")
    split = on.split
    assert split.removed is not None
    plus, minus = split.clean[split.attacked], split.removed[split.test]
    mask = learn_mask(on.sample)
    own, fair = top_and_tail(plus, minus), top_and_tail(plus, minus, mask=mask)
    lines = []
    for label, found in (("by itself", own), ("by the mask", fair)):
        for part, rows in (("top", found.top), ("tail", found.tail)):
            values = np.sort(found.sensitivities[rows])[::-1].tolist()
            lines.append(Curve(f"{part}, {label}", list(range(1, len(values) + 1)), values))
    svg = curves(
        lines,
        title="Sensitivity of dimensions, top and tail tenth",
        x_label="place within the tenth",
        y_label="largest change when the entity goes",
    )
    finding = Finding(
        "Figure 3",
        "few dimensions react to the concept, the others hardly",
        f"top tenth {TOP_SENSITIVITY:g}, bottom near 0, p = {P_VALUE:.1e}",
        f"ranked by itself {own.top_mean:.3f} against {own.tail_mean:.3f} (p = {own.p_value:.0e}); by a mask "
        f"from other texts {fair.top_mean:.3f} against {fair.tail_mean:.3f} (p = {fair.p_value:.1g})",
        fair.p_value < 0.01 and fair.ratio > 2,
        "" if fair.p_value < 0.01 and fair.ratio > 2 else
        "ranking by what is compared gives a tiny p on any data; ranked by a mask, all dimensions react",
    )  # fmt: skip
    note = "Ranked by the very values that are shown, as in the paper, or by a mask learned from other texts."
    return Picture("sparse-figure3.svg", svg, "Sensitivity of dimensions, top and tail tenth", note), finding
