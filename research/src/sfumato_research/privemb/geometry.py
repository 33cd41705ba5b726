"""PRIVEMB, figures 1, 2, 5 and 6: what noise does to distances and inner products of word vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.projection import distance_bound
from sfumato.randomness import generator
from sfumato.types import Floats
from sfumato_research.privemb.words import (
    DELTA,
    WordEmbeddings,
    glove,
    m1,
    m2,
    mean_cell,
    point,
    release,
    same_promise,
    trained,
)
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.draw import Curve, curves

EPSILONS = (1.0, 2.0, 5.0)
BETAS = (0.5, 0.6, 0.7)
"""Section 5.1."""
WIDEST = 0.9
"""Table 1's beta, the only one of the paper's that means less noise in 100 dimensions."""
_SIDE = 100


@dataclass(frozen=True, slots=True)
class _GeometryRow:
    words: WordEmbeddings
    epsilon: float
    label: str
    """M1, gauss, or the beta of M2."""
    mechanism: Mechanism
    distance: Cell
    product: Cell
    order: Cell
    bound: float | None

    @property
    def noise(self) -> float:
        """Its length times epsilon."""
        return self.mechanism.noise_ratio(self.words.dim) * self.words.bound * self.epsilon


def geometry(setting: Setting) -> StudyOutcome:
    """Run figures 1, 2, 5 and 6."""
    seeds = setting.pick(20, 1)
    found, figures, findings = [], [], []
    made = ((glove(setting.data), "1", "2"), (trained(setting.data, setting.pick(None, 60_000)), "5", "6"))
    for words, distances, products in made:
        setting.on_step(f"geometry, {words.name}")
        measured = _measure(words, setting.seed, seeds)
        found += measured
        for number, what, take in (
            (distances, "Distance", lambda row: row.distance),
            (products, "Inner product", lambda row: row.product),
        ):
            figures.append(_figure(words, number, what, measured, take))
            findings.append(_finding(words, number, what.lower(), measured, take))
    findings.append(_order(found))
    note = (
        f"{_SIDE} x {_SIDE} pairs of words, the same for every row; {seeds} seeds, each with its own noise "
        "and its own matrix; 95 % intervals over these. M2 with the beta named; Gaussian noise has M2's own "
        "promise (epsilon times the distance, but for a chance of 1e-6) without its condition. Order is "
        "Spearman's correlation of distances before and after: it does not mind that all of them grow "
        "alike. Vectors have their own lengths, as in the paper. The trained vectors stand in for fastText, "
        "which is not here."
    )
    sizes: list[list[Cell | str | float | None]] = [
        [f"{row.words.name}, {row.words.dim}d", row.label, row.mechanism.output_dim(row.words.dim),
         Cell(row.noise, form=".0f"), None if row.bound is None else Cell(row.bound, form=",.0f")]
        for row in found if row.epsilon == EPSILONS[0]
    ]  # fmt: skip
    columns = ("vectors", "release", "m", "noise length x eps", "bound of proposition 7, eps 1")
    tables = [
        _beside("Figures 1 and 5: a distance is off by", found, lambda row: row.distance),
        _beside("Figures 2 and 6: an inner product is off by", found, lambda row: row.product),
        _beside("Order of distances kept", found, lambda row: row.order),
        StudyTable("What was released", columns, sizes, note),
    ]
    return StudyOutcome(tables, figures, findings)


def _beside(title: str, rows: list[_GeometryRow], take: Callable[[_GeometryRow], Cell]) -> StudyTable:
    """One row for each epsilon, one column for each release."""
    labels = list(dict.fromkeys(row.label for row in rows))
    lines: dict[tuple[str, float], list[Cell | str | float | None]] = {}
    for row in rows:
        name = f"{row.words.name}, {row.words.dim}d"
        lines.setdefault((name, row.epsilon), [name, row.epsilon]).append(take(row))
    return StudyTable(title, ("vectors", "eps", *labels), list(lines.values()))


def rivals(
    words: WordEmbeddings, epsilon: float, betas: Sequence[float], matrix: int
) -> dict[str, Mechanism]:
    """Every release at one epsilon; `matrix` numbers M2's."""
    return {
        "M1": m1(words, epsilon),
        **{f"M2, beta {beta:g}": m2(words, epsilon, beta, seed=matrix) for beta in betas},
        "Gaussian": same_promise(words, epsilon),
    }


def _measure(words: WordEmbeddings, first_seed: int, seeds: int) -> list[_GeometryRow]:
    chosen = generator(first_seed).permutation(len(words.words))[: 2 * _SIDE]
    clean = words.vectors[chosen]
    half = len(chosen) // 2
    before = _distances(clean[:half], clean[half:])
    inner = clean[:half] @ clean[half:].T
    found = []
    for epsilon in EPSILONS:
        for label, mechanism in rivals(words, epsilon, (*BETAS, WIDEST), 0).items():
            distance, product, order = [], [], []
            for seed in range(first_seed, first_seed + seeds):
                drawn = rivals(words, epsilon, (*BETAS, WIDEST), seed)[label]
                noisy = release(drawn, clean, seed)
                after = _distances(noisy[:half], noisy[half:])
                distance.append(np.abs(after - before).mean(axis=1))
                product.append(np.abs(noisy[:half] @ noisy[half:].T - inner).mean(axis=1))
                order.append(_spearman(before, after))
            # Words of one release share its matrix, so whole releases are drawn again.
            groups = np.repeat(np.arange(seeds), half) if seeds > 1 else np.arange(half)
            bound = None
            if label.startswith("M2"):
                bound = distance_bound(
                    points=len(chosen), m=mechanism.output_dim(words.dim), epsilon=epsilon, delta=DELTA,
                    beta=float(label.split()[-1]), radius=words.bound,
                )  # fmt: skip
            found.append(
                _GeometryRow(
                    words,
                    epsilon,
                    label,
                    mechanism,
                    mean_cell(np.concatenate(distance), form=".1f", groups=groups),
                    mean_cell(np.concatenate(product), form=".0f", groups=groups),
                    mean_cell(np.concatenate(order), groups=groups),
                    bound,
                )  # fmt: skip
            )
    return found


def _distances(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.linalg.norm(first[:, None] - second[None], axis=2))


def _spearman(before: Floats, after: Floats) -> Floats:
    """For each word, how well the order of its distances is kept."""
    from scipy.stats import rankdata

    ranks = [rankdata(side, axis=1) for side in (before, after)]
    ranks = [(side - side.mean(axis=1, keepdims=True)) / side.std(axis=1, keepdims=True) for side in ranks]
    return np.asarray((ranks[0] * ranks[1]).mean(axis=1))


def _figure(
    words: WordEmbeddings,
    number: str,
    what: str,
    rows: list[_GeometryRow],
    take: Callable[[_GeometryRow], Cell],
) -> Picture:
    lines = []
    for label in dict.fromkeys(row.label for row in rows):
        own = [row for row in rows if row.label == label]
        value, low, high = zip(*(point(take(row)) for row in own), strict=True)
        lines.append(Curve(label, [row.epsilon for row in own], value, low, high))
    title = f"{what}: mean change, {words.name} {words.dim}d"
    drawing = curves(lines, title=title, x_label="epsilon", y_label=f"{what.lower()} off by", x_log=True)
    return Picture(f"privemb-figure{number}.svg", drawing, f"Figure {number}. {title}")


def _finding(
    words: WordEmbeddings,
    number: str,
    what: str,
    rows: list[_GeometryRow],
    take: Callable[[_GeometryRow], Cell],
) -> Finding:
    value = {(row.epsilon, row.label): take(row).value or 0.0 for row in rows}
    names = [f"M2, beta {beta:g}" for beta in BETAS]
    better = sum(value[epsilon, name] < value[epsilon, "M1"] for epsilon in EPSILONS for name in names)
    falling = sum(value[e, names[-1]] < value[e, names[0]] for e in EPSILONS)
    lengths = {
        row.label: row.mechanism.noise_ratio(words.dim) * words.bound for row in rows if row.epsilon == 1.0
    }
    size = f"at epsilon 1 M1 is off by {value[1.0, 'M1']:.0f}, M2 by " + ", ".join(
        f"{value[1.0, name]:.0f}" for name in names
    )
    cause = (
        f"In {words.dim} dimensions the paper's formula makes m (1 + beta) = "
        + ", ".join(f"{lengths[name]:.0f}" for name in names)
        + f" for its three betas: longer noise than the {words.dim} of M1. "
        f"At beta {WIDEST:g} it is {lengths[f'M2, beta {WIDEST:g}']:.0f}."
    )
    same = better == len(EPSILONS) * len(BETAS)
    return Finding(
        f"Figure {number}",
        f"M2's {what} error is below M1's at every epsilon and beta, and falls as beta grows ({words.name}, "
        f"{words.dim}d)",
        "9 of 9 pictures, falling",
        f"{better} of 9 lower, falling with beta at {falling} of 3; {size}",
        same and falling == len(EPSILONS),
        "" if same else cause,
    )


def _order(rows: list[_GeometryRow]) -> Finding:
    """What the error does not show: noise that only makes every distance longer costs nothing."""
    best = [row for row in rows if row.epsilon == EPSILONS[-1]]
    told = []
    for name in dict.fromkeys(f"{row.words.name} {row.words.dim}d" for row in best):
        own = {row.label: row for row in best if f"{row.words.name} {row.words.dim}d" == name}
        told.append(
            f"{name}: M1 {own['M1'].order.value:.3f}, M2 at beta {WIDEST:g} "
            f"{own[f'M2, beta {WIDEST:g}'].order.value:.3f}, Gaussian {own['Gaussian'].order.value:.3f}"
        )
    return Finding(
        "beyond figures 1, 5",
        f"which words are near one another, order of distances kept at epsilon {EPSILONS[-1]:g}",
        "not measured",
        "; ".join(told),
        None,
    )
