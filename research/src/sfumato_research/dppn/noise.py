"""DPPN, figure 3: what even noise and suppression do to points with and without a concept."""

from __future__ import annotations

import numpy as np

from sfumato.evaluation.noise_baselines import learn_mask
from sfumato.mechanisms import Laplace, Mechanism, Suppression
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics.probe import classify
from sfumato.randomness import generator
from sfumato.sensitivity import Mask
from sfumato.types import Floats
from sfumato_research.privemb.words import mean_cell, release
from sfumato_research.sparse.data import comparison
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.draw import Curve, curves

_RATIOS = (0.5, 1.0, 2.0)
_SHOWN = 60


def figure3(setting: Setting) -> StudyOutcome:
    """Two clouds in a plane as the paper draws them, then real sentences with and without the concept."""
    drawn = [_picture(kind, setting.seed) for kind in ("isotropic", "suppression")]
    lines: list[list[Cell | str | float | None]] = []
    gap: dict[tuple[str, str], list[float]] = {}
    for place, (plus, minus, mask) in (
        ("plane", _clouds(2000, setting.seed)),
        ("STS12, MiniLM", _twins(setting)),
    ):
        for ratio in _RATIOS:
            for kind in ("isotropic", "suppression"):
                setting.on_step(f"figure 3, {place}, {kind}, {ratio:g}")
                known, learned = _told(_mechanism(kind, ratio, mask), plus, minus, setting.seed)
                gap.setdefault((place, kind), []).append(known.value or 0.0)
                gap.setdefault((place, kind + " learned"), []).append(learned.value or 0.0)
                lines.append([place, Cell(ratio, form=".1f"), kind, known, learned])
    note = (
        "How often a point with the concept is told from one without it, by a logistic regression that "
        "learned on clean points, and by one that learned on releases; half of the points each. Noise is "
        "equally long in both. In the plane both axes are suppressed; for sentences the top 20 % of the "
        "learned mask."
    )
    columns = (
        "points",
        "noise ratio",
        "noise",
        "told apart, learned on clean",
        "told apart, learned on releases",
    )
    table = StudyTable("Figure 3: even noise and suppression", columns, lines, note)
    means = {key: float(np.mean(values)) for key, values in gap.items()}
    plane = means["plane", "suppression"] < means["plane", "isotropic"]
    real = means["STS12, MiniLM", "suppression learned"] < means["STS12, MiniLM", "isotropic learned"]
    findings = [
        Finding(
            "Figure 3",
            "suppression makes points less distinguishable than even noise of the same length",
            "in a plane, by eye",
            f"learned on clean: plane {means['plane', 'suppression']:.3f} against "
            f"{means['plane', 'isotropic']:.3f}; learned on releases "
            f"{means['plane', 'suppression learned']:.3f} against {means['plane', 'isotropic learned']:.3f}",
            plane,
            "" if plane else "pushing against the sign moves both clouds alike",
        ),
        Finding(
            "Figure 3",
            "the same for sentences with and without a place, attacker trained on releases",
            "implied",
            f"{means['STS12, MiniLM', 'suppression learned']:.3f} against "
            f"{means['STS12, MiniLM', 'isotropic learned']:.3f} for even noise",
            real,
            "" if real else "even noise reaches every dimension, suppression a fifth of them",
        ),
    ]
    return StudyOutcome([table], drawn, findings)


def _clouds(size: int, seed: int) -> tuple[Floats, Floats, Mask]:
    """Points around two means, as figure 3 shows them."""
    rng = generator(seed)
    plus, minus = (
        np.array(mean) + 0.12 * rng.standard_normal((size, 2)) for mean in ((0.75, 0.35), (0.35, 0.75))
    )
    return plus, minus, Mask(np.ones(2))


def _twins(setting: Setting) -> tuple[Floats, Floats, Mask]:
    on = comparison(setting, "sts12")
    removed = on.split.removed
    assert removed is not None  # there is an embedder
    clean = on.split.clean[on.split.rows].astype(np.float64)
    return clean, removed.astype(np.float64), learn_mask(on.sample)


def _mechanism(kind: str, ratio: float, mask: Mask) -> Mechanism:
    if kind == "isotropic":
        return Laplace.from_noise_ratio(ratio, dim=mask.dim, max_norm=1.5)
    share = 1.0 if mask.dim == 2 else 0.2
    return Suppression.from_noise_ratio(ratio, mask=mask, share=share, max_norm=1.5)


def _told(mechanism: Mechanism, plus: Floats, minus: Floats, seed: int) -> tuple[Cell, Cell]:
    """Accuracy of the two learners on the second half of the points."""
    both = np.concatenate([plus, minus]).astype(np.float64)
    label = np.arange(len(both)) < len(plus)
    first = np.arange(len(both)) % len(plus) < len(plus) // 2
    noisy = release(mechanism, both, seed)
    found = []
    with one_blas_thread():
        for known in (both, noisy):
            centre, scale = known[first].mean(axis=0), known[first].std() + 1e-12
            right = classify(
                (known[first] - centre) / scale,
                label[first],
                (noisy[~first] - centre) / scale,
                label[~first],
                c=0.1,
            )
            # A text and its twin stand or fall together.
            found.append(mean_cell(right.correct, groups=np.flatnonzero(~first) % len(plus)))
    return found[0], found[1]


def _picture(kind: str, seed: int) -> Picture:
    plus, minus, mask = _clouds(_SHOWN, seed)
    made = _mechanism(kind, 0.5, mask)
    lines = [
        _points("with", plus),
        _points("without", minus),
    ]
    for label, points, shift in (("with, released", plus, 0), ("without, released", minus, 1)):
        lines.append(_points(label, release(made, points, seed + shift)))
    title = f"Figure 3. {'Even noise' if kind == 'isotropic' else 'Suppression'} in a plane"
    drawing = curves(lines, title=title, x_label="first dimension", y_label="second dimension")
    return Picture(f"dppn-figure3-{kind}.svg", drawing, title)


def _points(label: str, points: Floats) -> Curve:
    across, up = points.T.tolist()
    return Curve(label, across, up, joined=False)
