"""PRIVEMB, figures 3, 7 and 4: a linear model that tells good words from bad ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms import Identity, Mechanism
from sfumato.mechanisms.base import one_blas_thread
from sfumato.randomness import generator
from sfumato.types import Floats
from sfumato_research.privemb.geometry import rivals
from sfumato_research.privemb.words import WordEmbeddings, glove, m1, m2, mean_cell, point, release, trained
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import rows
from sfumato_research.studies.draw import Curve, curves

EPSILONS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""The paper's figure has no readable ones."""
BETAS = (0.5, 0.7, 0.9)
TRAINED = {50: 0.93, 100: 0.66, 200: 0.468}
"""Figure 4: dimensions of the trained vectors, and the beta that projects 300 dimensions to about as many."""
_RUNS = 10
_SHOWN = {"accuracy": "accuracy", "auc": "AUC", "shrunk": "accuracy of ridge regression"}
_SHRINK = 10.0 ** np.arange(-2, 6)


@dataclass(frozen=True, slots=True)
class LinearScore:
    """A linear model on released words it has not seen."""

    accuracy: Cell
    auc: Cell
    shrunk: Cell
    """Accuracy of ridge regression, its strength chosen by leaving one training word out."""


def lexicon(data: Path, *vectors: WordEmbeddings) -> tuple[list[str], NDArray[np.bool_]]:
    """As many good words as bad ones of Hu and Liu's list, all of which have vectors of every kind."""
    places = vectors[0].places()
    known = set(places).intersection(*(each.words for each in vectors[1:]))
    sides: dict[str, list[str]] = {"positive": [], "negative": []}
    for row in rows(data, "opinion_lexicon", "opinion_lexicon"):
        if row["word"] in known:
            sides[row["polarity"]].append(row["word"])
    size = min(map(len, sides.values()))
    chosen = [word for side in sides.values() for word in sorted(side, key=places.__getitem__)[:size]]
    return chosen, np.arange(len(chosen)) < size


def linear(setting: Setting) -> StudyOutcome:
    """Run figures 3 and 7."""
    runs = setting.pick(_RUNS, 2)
    epsilons = setting.pick(EPSILONS, (2.0, 10.0, 50.0))
    kinds = (glove(setting.data), trained(setting.data, setting.pick(None, 60_000)))
    words, good = lexicon(setting.data, *kinds)
    tables: dict[str, list[list[Cell | str | float | None]]] = {what: [] for what in _SHOWN}
    figures, findings = [], []
    for vectors, number in zip(kinds, ("3", "7"), strict=True):
        own = WordEmbeddings(vectors.name, words, vectors.of(words))
        scores: dict[tuple[float, str], LinearScore] = {}
        for epsilon in epsilons:
            setting.on_step(f"linear, {vectors.name}, epsilon {epsilon:g}")
            for label in rivals(vectors, epsilon, BETAS, 0):
                made = partial(_rival, vectors, epsilon, label)
                scores[epsilon, label] = score(made, own.vectors, good, setting.seed, runs)
        clean = score(lambda run: Identity(max_norm=1e6), own.vectors, good, setting.seed, runs)
        for what, lines in tables.items():
            for epsilon in epsilons:
                own_scores = [getattr(scores[epsilon, label], what) for label in _labels(scores)]
                kind = f"{vectors.name}, {vectors.dim}d"
                lines.append([kind, epsilon, getattr(clean, what), *own_scores])
        for what in ("accuracy", "auc"):
            figures.append(_figure(vectors, number, what, scores))
        findings.append(_finding(vectors, number, scores, epsilons))
    note = (
        f"{len(words) // 2} good and as many bad words of Hu and Liu's lexicon, those with vectors of both "
        f"kinds (paper: 1,899 words); {runs} runs, each with its own noise, matrix and fifth of the words "
        "held out; 95 % intervals over words. A linear support vector machine with squared hinge loss, C = "
        "1, on the released vectors as they are; beside it ridge regression that chooses its own strength, "
        "because C = 1 hardly shrinks weights on long noisy vectors and so favours fewer dimensions."
    )
    columns = ("vectors", "eps", "clean", *_labels(scores))
    titles = {what: f"Figures 3 and 7: good words from bad ones, {told}" for what, told in _SHOWN.items()}
    shown = [StudyTable(titles[what], columns, lines) for what, lines in tables.items()]
    return StudyOutcome([*shown[:-1], replace(shown[-1], note=note)], figures, findings)


def _labels(scores: dict[tuple[float, str], LinearScore]) -> list[str]:
    return list(dict.fromkeys(label for _, label in scores))


def _rival(vectors: WordEmbeddings, epsilon: float, label: str, run: int) -> Mechanism:
    return rivals(vectors, epsilon, BETAS, run)[label]


def training(setting: Setting) -> StudyOutcome:
    """Run figure 4: fewer dimensions from the start (A1) against a projection afterwards (M2)."""
    runs = setting.pick(_RUNS, 2)
    epsilons = setting.pick((2.0, 5.0, 10.0, 20.0, 50.0), (5.0, 20.0))
    sentences = setting.pick(None, 60_000)
    full = trained(setting.data, sentences)
    words, good = lexicon(setting.data, glove(setting.data), full)
    scores: dict[tuple[float, str], LinearScore] = {}
    wins = 0
    for dims, beta in TRAINED.items():
        small = trained(setting.data, sentences, dims)
        for epsilon in epsilons:
            setting.on_step(f"training, {dims} dimensions, epsilon {epsilon:g}")
            for label, vectors, made in (
                (f"A1, {dims}d", small, lambda run, v=small, e=epsilon: m1(v, e)),
                (f"M2, beta {beta:g}", full, lambda run, e=epsilon, b=beta: m2(full, e, b, seed=run)),
            ):
                own = vectors.of(words)
                scores[epsilon, label] = score(made, own, good, setting.seed, runs)
            pair = [
                scores[epsilon, label].accuracy.value or 0 for label in (f"A1, {dims}d", f"M2, beta {beta:g}")
            ]
            wins += pair[0] > pair[1]
    lines = [
        [dims, epsilon, *(getattr(scores[epsilon, label], what) for what in _SHOWN for label in
         (f"A1, {dims}d", f"M2, beta {beta:g}"))]
        for dims, beta in TRAINED.items() for epsilon in epsilons
    ]  # fmt: skip
    total = len(TRAINED) * len(epsilons)
    finding = Finding(
        "Figure 4",
        "vectors trained in few dimensions and noised (A1) serve better than 300 dimensions projected (M2)",
        "A1 better in every picture",
        f"A1 more accurate in {wins} of {total} cells",
        wins > 0.8 * total,
    )
    shown = [WordEmbeddings("trained here", [], full.vectors)]
    note = (
        "Vectors trained here in 50, 100 and 200 dimensions and in 300, all of one mean length; M2 projects "
        "the latter to 51, 100 and 199. Training is a factorisation of word co-occurrence in 357,186 "
        "sentences, not GloVe's own on its corpus. Otherwise as figures 3 and 7."
    )
    columns = (
        "dimensions",
        "eps",
        "A1: accuracy",
        "M2: accuracy",
        "A1: AUC",
        "M2: AUC",
        "A1: ridge",
        "M2: ridge",
    )
    table = StudyTable("Figure 4: fewer dimensions while training or afterwards", columns, lines, note)
    return StudyOutcome([table], [_figure(shown[0], "4", "accuracy", scores)], [finding])


def score(
    made: Callable[[int], Mechanism], vectors: Floats, good: NDArray[np.bool_], seed: int, runs: int
) -> LinearScore:
    """Train and test on fresh noise `runs` times."""
    right, areas, shrunk, tested = [], [], [], []
    for run in range(runs):
        noisy = release(made(seed + run), vectors, seed + run)
        order = generator(seed + run).permutation(len(good))
        test, train = np.split(order, [len(order) // 5])
        with one_blas_thread():
            guess = support(noisy[train], good[train], noisy[test])
            other = ridge(noisy[train], good[train], noisy[test])
        right.append((guess > 0) == good[test])
        shrunk.append((other > 0) == good[test])
        areas.append(_area(guess, good[test]))
        tested.append(test)
    groups = np.concatenate(tested)
    spread = 1.96 * float(np.std(areas, ddof=1)) / np.sqrt(runs) if runs > 1 else None
    auc = float(np.mean(areas))
    return LinearScore(
        mean_cell(np.concatenate(right), groups=groups),
        Cell(
            auc, None if spread is None else auc - spread, None if spread is None else min(1.0, auc + spread)
        ),
        mean_cell(np.concatenate(shrunk), groups=groups),
    )


def support(train: Floats, good: NDArray[np.bool_], test: Floats, c: float = 1.0) -> Floats:
    """Decision values of a linear support vector machine, squared hinge, by L-BFGS."""
    from scipy.optimize import minimize

    sign = np.where(good, 1.0, -1.0)

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights, offset = flat[:-1], flat[-1]
        short = np.maximum(1.0 - sign * (train @ weights + offset), 0.0)
        slope = -2 * c * sign * short
        return 0.5 * float(weights @ weights) + c * float(short @ short), np.append(
            weights + train.T @ slope, slope.sum()
        )

    start = np.zeros(train.shape[1] + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-8})
    return np.asarray(test @ found.x[:-1] + found.x[-1])


def ridge(train: Floats, good: NDArray[np.bool_], test: Floats) -> Floats:
    """Decision values of ridge regression; the strength with the least leave-one-out error is taken."""
    mean, sign = train.mean(axis=0), np.where(good, 1.0, -1.0)
    centred = train - mean
    offset = sign.mean()
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    values = np.maximum(values, 1e-9 * values[0])
    along = left.T @ (sign - offset)
    best, chosen = np.inf, np.zeros(train.shape[1])
    for strength in _SHRINK * values[0] ** 2 / len(train):
        kept = values**2 / (values**2 + strength)
        left_out = (sign - offset - left @ (kept * along)) / (1 - (left**2) @ kept)
        if (left_out**2).sum() < best:
            best, chosen = (left_out**2).sum(), right.T @ (kept / values * along)
    return np.asarray((test - mean) @ chosen + offset)


def _area(guess: Floats, good: NDArray[np.bool_]) -> float:
    """Area under the ROC curve: how often a good word is placed above a bad one."""
    from scipy.stats import rankdata

    ranks, count = rankdata(guess), int(good.sum())
    return float((ranks[good].sum() - count * (count + 1) / 2) / (count * (len(good) - count)))


def _figure(
    vectors: WordEmbeddings, number: str, what: str, scores: dict[tuple[float, str], LinearScore]
) -> Picture:
    lines = []
    for label in dict.fromkeys(label for _, label in scores):
        own = [(epsilon, getattr(each, what)) for (epsilon, name), each in scores.items() if name == label]
        value, low, high = zip(*(point(cell) for _, cell in own), strict=True)
        lines.append(Curve(label, [epsilon for epsilon, _ in own], value, low, high))
    shown = "AUC" if what == "auc" else what
    title = f"Good words from bad ones: {shown}, {vectors.name} {vectors.dim}d"
    drawing = curves(lines, title=title, x_label="epsilon", y_label=shown, x_log=True)
    suffix = "" if number == "4" else f"-{what}"
    return Picture(f"privemb-figure{number}{suffix}.svg", drawing, f"Figure {number}. {title}")


def _finding(
    vectors: WordEmbeddings,
    number: str,
    scores: dict[tuple[float, str], LinearScore],
    epsilons: Sequence[float],
) -> Finding:
    value = {key: each.accuracy.value or 0.0 for key, each in scores.items()}
    names = [f"M2, beta {beta:g}" for beta in BETAS]
    better = sum(value[epsilon, name] > value[epsilon, "M1"] for epsilon in epsilons for name in names)
    total = len(epsilons) * len(names)
    gains = {name: float(np.mean([value[e, name] - value[e, "M1"] for e in epsilons])) for name in names}
    shrunk = [scores[e, names[-1]].shrunk.value or 0.0 for e in epsilons]
    plain = [scores[e, "M1"].shrunk.value or 0.0 for e in epsilons]
    growing = gains[names[-1]] > gains[names[0]]
    same = better > 0.8 * total and growing
    noise = [
        made.noise_ratio(vectors.dim) * vectors.bound * epsilons[0]
        for made in (m2(vectors, epsilons[0], BETAS[-1]), m1(vectors, epsilons[0]))
    ]
    worse = [f"{e:g}" for e in epsilons if value[e, names[-1]] <= value[e, "M1"]]
    cause = (
        f"At epsilon {', '.join(worse)} M2 with beta {BETAS[-1]:g} is not better: a projection loses signal, "
        f"and shorter noise ({noise[0]:.0f} against {noise[1]:.0f}, over epsilon) has to pay for it."
    )
    return Finding(
        f"Figure {number}",
        f"a linear model on M2 beats one on M1, the more so the larger beta ({vectors.name}, {vectors.dim}d)",
        "M2 better throughout, gap grows with beta",
        f"M2 more accurate in {better} of {total} cells; mean gain "
        + ", ".join(f"{gain:+.3f} ({name.split(', ')[1]})" for name, gain in gains.items())
        + f"; with ridge, M2 at beta {BETAS[-1]:g} gains {float(np.mean(shrunk) - np.mean(plain)):+.3f}",
        same,
        "" if same else cause,
    )
