"""Rewrites the texts of a set at the paper's five budgets, read in three ways, and scores them."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.concepts import Concept
from sfumato.metrics.intervals import Resampling, mean_interval
from sfumato.randomness import InsecureSeedWarning, Source
from sfumato.text import Budgets, Group, Rewriter, WordImportance, WordVectors, load_vocabulary
from sfumato.text.budgets import PAPER_ROWS
from sfumato.text.groups import Grouped, count_groups
from sfumato.types import Floats
from sfumato_research.stamp.laplace import CoordinateLaplace, table_span
from sfumato_research.stamp.sets import Made, Texts
from sfumato_research.studies.base import Cell, Setting

DIM = 768
"""Dimension of GPT-2's vectors, in which the published code works."""
THEOREM, CODE = "epsilon", "epsilon/pi"


def readings(dim: int) -> dict[str, float]:
    """What kappa is for a printed epsilon, in three ways.

    In theorem 3; in the published code; and where noise is as strong in `dim` dimensions as the published
    code's in 768 (a cosine kept is about kappa/d, a stranger's 1/sqrt d).
    """
    return {THEOREM: 1.0, CODE: 1 / math.pi, strength(dim): 1 / (math.pi * math.sqrt(DIM / dim))}


def strength(dim: int) -> str:
    """How the third reading is written."""
    return f"epsilon/(pi √{DIM / dim:.3g})"


READINGS = readings(384)
"""Those of MiniLM's vectors."""
THRESHOLD = 0.2
"""Cosines of these vectors are smaller than those of the paper's: at its 0.5 next to nothing is important."""

POLAR, LAPLACE, PUBLISHED, UNIFORM = "polar", "laplace", "published laplace", "uniform"


@dataclass(frozen=True, slots=True)
class Configuration:
    """One configuration: how budgets are read, which row of the table, what made the text."""

    reading: str
    row: int
    scheme: str


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Scores of every configuration and what they rest on."""

    texts: Texts
    counts: Mapping[Group, int]
    """Words of each group."""
    spent: Mapping[Configuration, float]
    """Mean epsilon of a token."""
    replaced: Mapping[Configuration, Mapping[Group, float]]
    clean: Mapping[str, Floats]
    scores: Mapping[str, Mapping[Configuration, Floats]]
    vocabulary: WordVectors
    threshold: float

    def cell(self, metric: str, key: Configuration | None, printed: float | None = None) -> Cell:
        """The mean of a metric with its interval; clean texts for None."""
        values = self.clean[metric] if key is None else self.scores[metric][key]
        return mean_cell(values, self.texts.groups, printed=printed)

    def pooled(self, metric: str, reading: str, left: str, right: str, inside: Any = None) -> Cell:
        """The same over all rows of a reading: one figure in place of many that chance may push about."""
        rows = sorted({key.row for key in self.spent if key.reading == reading})
        apart = np.mean(
            [
                self.scores[metric][Configuration(reading, row, left)]
                - self.scores[metric][Configuration(reading, row, right)]
                for row in rows
            ],
            axis=0,
        )
        chosen = np.ones(len(apart), bool) if inside is None else inside
        return mean_cell(apart[chosen], self.texts.groups[chosen], form="+.3f")

    def difference(self, metric: str, left: Configuration, right: Configuration, inside: Any = None) -> Cell:
        """The mean of the difference, text by text."""
        apart = self.scores[metric][left] - self.scores[metric][right]
        chosen = np.ones(len(apart), bool) if inside is None else inside
        return mean_cell(apart[chosen], self.texts.groups[chosen], form="+.3f")


def mean_cell(values: Floats, groups: Any, *, form: str = ".3f", printed: float | None = None) -> Cell:
    """A mean with its interval over groups of texts."""
    if not len(values):
        return Cell(None, form=form)
    low, high = mean_interval(values, Resampling(groups=groups)) or (None, None)
    return Cell(float(values.mean()), low, high, form, printed)


def quiet_source(seed: int) -> Source:
    """Repeatable noise, for texts that stay in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        return Source.seeded(seed)


@lru_cache(maxsize=2)
def pieces() -> WordVectors:
    """The word pieces of all-MiniLM-L6-v2: every word is known, as in the paper's byte pairs."""
    return load_vocabulary("minilm", pieces=True)


def rewriter(vocabulary: WordVectors, **changed: Any) -> Rewriter:
    """A rewriter as all parts of this study use it; capitals are kept, as in the published code."""
    options: dict[str, Any] = {
        "sensitive": [Concept.from_spans("sensitive")],
        "importance": WordImportance(vocabulary),
        "threshold": THRESHOLD,
        "keep_case": True,
    }
    return Rewriter(vocabulary, **{**options, **changed})


def group_sizes(machine: Rewriter, texts: Texts) -> tuple[dict[Group, int], dict[Group, int]]:
    """How many words each group has, and how many tokens: a word is drawn piece by piece."""
    grouped = list(machine.groups.group(texts.texts, texts.tasks, texts.spans))
    tokens = sum((tokens_of(machine, each) for each in grouped), Counter[Group]())
    return count_groups(grouped), {group: tokens[group] for group in Group}


def tokens_of(machine: Rewriter, each: Grouped) -> Counter[Group]:
    """How many tokens of each group one text has."""
    tokens: Counter[Group] = Counter()
    for piece, group in zip(each.layout.pieces, each.groups, strict=True):
        word = each.layout.text[piece.start : piece.end]
        tokens[group] += len(machine.vocabulary.numbers(word)) if piece.word else 1
    return tokens


def rewritten(
    machine: Rewriter, budgets: Budgets, texts: Texts, source: Source
) -> tuple[list[str], dict[Group, float]]:
    """Private texts, and the share of words of each group that were replaced."""
    done = machine.with_budgets(budgets).rewrite(
        texts.texts, tasks=texts.tasks, spans=texts.spans, rng=source, threads=1
    )
    changed: Counter[Group] = Counter()
    for text, each in zip(texts.texts, done, strict=True):
        changed.update(
            one.group for one in each.positions if one.written.lower() != text[one.start : one.end].lower()
        )
    totals: Counter[Group] = Counter()
    for each in done:
        totals.update(each.counts)
    return [each.text for each in done], {group: changed[group] / max(1, totals[group]) for group in Group}


def machines(words: WordVectors, threshold: float, device: str) -> dict[str, Rewriter]:
    """What makes the text of each scheme; vectors and decoder are shared."""
    span = table_span(words)
    polar = rewriter(words, threshold=threshold, decoder=decoder_for(device))
    shared: dict[str, Any] = {"threshold": threshold, "decoder": polar.channel.decoder}
    return {
        POLAR: polar,
        LAPLACE: rewriter(words, mechanism="laplace", **shared),
        PUBLISHED: rewriter(words, mechanism=lambda epsilon: CoordinateLaplace(epsilon, span), **shared),
        UNIFORM: polar,
    }


def decoder_for(device: str) -> str:
    """The decoder that is quick on a device; both find the true nearest word."""
    return "exact" if device == "cpu" else "torch"


def compare(
    setting: Setting,
    texts: Texts,
    name: str,
    vocabulary: WordVectors | None = None,
    threshold: float = THRESHOLD,
) -> Compared:
    """Rewrite the texts in every configuration and score all of them."""
    words = vocabulary or pieces()
    made_by = machines(words, threshold, setting.device)
    polar = made_by[POLAR]
    counts, tokens = group_sizes(polar, texts)
    source = quiet_source(setting.seed)
    made: dict[Configuration, list[str]] = {}
    spent: dict[Configuration, float] = {}
    replaced: dict[Configuration, dict[Group, float]] = {}
    for reading, factor in readings(words.dim).items():
        for row, printed in enumerate(PAPER_ROWS, 1):
            if setting.quick and row % 2 == 0:
                continue
            setting.on_step(f"{name} {reading} {row}")
            for scheme, machine in made_by.items():
                if scheme == PUBLISHED and reading != CODE:
                    continue
                # The published Laplace takes the printed epsilon as it is.
                budgets = Budgets(*printed).scaled(1.0 if scheme == PUBLISHED else factor)
                mean = budgets.mean(tokens)
                if scheme == UNIFORM:
                    budgets = Budgets.uniform(mean)
                key = Configuration(reading, row, scheme)
                spent[key] = mean
                made[key], replaced[key] = rewritten(machine, budgets, texts, source)
    setting.on_step(f"{name} scores")
    return Compared(texts, counts, spent, replaced, *_scored(texts, made), words, threshold)


def _scored(
    texts: Texts, made: Mapping[Configuration, list[str]]
) -> tuple[dict[str, Floats], dict[str, dict[Configuration, Floats]]]:
    names = {str(number): key for number, key in enumerate(made)}
    by_name: Made = {"clean": texts.texts, **{name: made[key] for name, key in names.items()}}
    found = texts.score(by_name)
    clean = {metric: each["clean"] for metric, each in found.items()}
    scores = {metric: {key: each[name] for name, key in names.items()} for metric, each in found.items()}
    return clean, scores
