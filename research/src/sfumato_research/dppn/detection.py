"""DPPN, figures 4 and 5: dimensions found without the attacker, with him, or at random."""

from __future__ import annotations

from functools import partial

import numpy as np

from sfumato.attacks.terms.classifier import TokenClassifier, best_of
from sfumato.evaluation.noise_baselines import learn_mask
from sfumato.mechanisms.base import one_blas_thread
from sfumato.sensitivity import Mask
from sfumato_research.analysis import rank_correlation, top_overlap
from sfumato_research.dppn.defences import defence, levels, measured, measured_unaware, random_mask, unaware
from sfumato_research.dppn.printed import OVERLAP
from sfumato_research.sparse.data import comparison
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.draw import Curve, curves
from sfumato_research.studies.kept import by_cells
from sfumato_research.studies.measured import Measured
from sfumato_research.whitebox import white_box_mask

_TOPS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
DETECTED = {"black": "DPPN", "white": "DPPN-Oracle", "random": "DPPN-Rand"}


def oracle(on: Comparison) -> Mask:
    """Dimensions with the largest mean gradient of the attack's loss, on the attacker's own texts."""
    split = on.split
    own = [split.texts[row] for row in split.learned]
    attack = TokenClassifier(vocabulary=split.vocabulary, epochs=on.suite.epochs, control=False, seed=on.seed)
    with one_blas_thread():
        reader = best_of(attack, own, split.clean[split.learned], None)
        return white_box_mask(reader, split.clean[split.learned], split.known, "gradient", source="public")


@by_cells
def figures(setting: Setting) -> StudyOutcome:
    """Leakage and utility over the share of dimensions, and how far the masks agree."""
    on = comparison(setting, "sts12")
    setting.on_step("white box")
    masks = {"black": learn_mask(on.sample), "white": oracle(on), "random": random_mask(on.dim, setting.seed)}
    shares = setting.pick((0.05, 0.1, 0.2, 0.4, 0.8), (0.1, 0.2))
    ratios = levels(setting, setting.pick((1, 2), (2,)))
    found: dict[tuple[int, str, float], Measured] = {}
    blind: dict[tuple[int, str, float], Measured] = {}
    naive = unaware(on)
    lines: list[list[Cell | str | float | None]] = []
    drawn = []
    for epsilon, ratio in ratios.items():
        for kind, mask in masks.items():
            for share in shares:
                setting.on_step(f"figure 4, {kind}, {share:g}, {epsilon}")
                made = defence(on, "dppn", ratio, mask=mask, share=share)
                label = f"figure 4, {kind}, {share:g}@{ratio:.4f}"
                each = found[epsilon, kind, share] = on.cells.measured(label, partial(on.measure, made))
                fooled = blind[epsilon, kind, share] = on.cells.measured(
                    f"{label}, unaware", partial(on.measure, made, naive)
                )
                lines.append(
                    [
                        epsilon,
                        DETECTED[kind],
                        Cell(share, form=".0%"),
                        each.leaked(),
                        each.excess(),
                        fooled.leaked(),
                        each.kept(),
                    ]
                )
        plain = measured(on, "laplace", ratio)
        lines.append(
            [
                epsilon,
                "Laplace",
                Cell(1.0, form=".0%"),
                plain.leaked(),
                plain.excess(),
                measured_unaware(on, "laplace", ratio, naive).leaked(),
                plain.kept(),
            ]
        )
        drawn.append(_figure(epsilon, found, shares, plain))
    columns = ("printed ε", "release", "dimensions", "leakage", "excess", "leakage, unaware", "kept")
    note = (
        f"STS12, noise ratios {', '.join(f'{ratio:.2f} for {e}' for e, ratio in ratios.items())}; control "
        f"{plain.leakage.control:.3f}, floor {plain.leakage.floor:.3f}. DPPN-Oracle ranks dimensions "
        "by the gradient of a token attack on clean vectors."
    )
    table = StudyTable("Figure 4: ways to find dimensions", columns, lines, note)
    overlaps, drawing = _overlap(masks)
    return StudyOutcome(
        [table, overlaps], [*drawn, drawing], [_better(found), _fooled(blind), *_agreement(masks)]
    )


def _figure(
    epsilon: int, found: dict[tuple[int, str, float], Measured], shares: tuple[float, ...], plain: Measured
) -> Picture:
    lines = []
    for kind, label in DETECTED.items():
        cells = [found[epsilon, kind, share].leaked() for share in shares]
        lines.append(
            Curve(
                label,
                shares,
                [cell.value or 0.0 for cell in cells],
                [cell.low or 0.0 for cell in cells],
                [cell.high or 0.0 for cell in cells],
            )
        )
    level = plain.leakage.released
    lines.append(Curve("Laplace, all", [shares[0], shares[-1]], [level, level]))
    clean = plain.leakage.control
    lines.append(Curve("unprotected", [shares[0], shares[-1]], [clean, clean]))
    title = f"Figure 4. Leakage by share of dimensions suppressed, printed epsilon {epsilon}"
    drawing = curves(lines, title=title, x_label="share of dimensions", y_label="leakage")
    return Picture(f"dppn-figure4-{epsilon}.svg", drawing, title)


def _overlap(masks: dict[str, Mask]) -> tuple[StudyTable, Picture]:
    lines: list[list[Cell | str | float | None]] = []
    for top in _TOPS:
        printed = OVERLAP.get(top)
        lines.append(
            [
                Cell(top, form=".0%"),
                Cell(
                    top_overlap(masks["black"], masks["white"], top),
                    form=".0%",
                    printed=printed and printed / 100,
                ),
                Cell(top_overlap(masks["black"], masks["random"], top), form=".0%"),
                Cell(top, form=".0%"),
            ]
        )
    correlation = rank_correlation(masks["black"], masks["white"])
    table = StudyTable(
        "Figure 5: share of the top dimensions that two ways have in common",
        ("top", "black box and white box", "black box and random", "by chance"),
        lines,
        f"Rank correlation of black-box and white-box scores {correlation:.2f}.",
    )
    title = "Figure 5. Overlap of black-box and white-box dimensions"
    drawing = curves(
        [
            Curve("with white box", _TOPS, [top_overlap(masks["black"], masks["white"], t) for t in _TOPS]),
            Curve("with random", _TOPS, [top_overlap(masks["black"], masks["random"], t) for t in _TOPS]),
            Curve("by chance", _TOPS, _TOPS),
        ],
        title=title,
        x_label="share taken as top",
        y_label="in common",
    )
    return table, Picture("dppn-figure5.svg", drawing, title)


def _means(found: dict[tuple[int, str, float], Measured]) -> dict[str, float]:
    """Mean leakage of each way over all levels and shares."""
    return {
        kind: float(np.mean([each.leakage.released for (_, own, _), each in found.items() if own == kind]))
        for kind in DETECTED
    }


def _better(found: dict[tuple[int, str, float], Measured]) -> Finding:
    mean = _means(found)
    same = mean["white"] < mean["black"] < mean["random"] - 0.02
    return Finding(
        "Figure 4",
        "the white box leaks least, the black box 3 to 6 points more, random dimensions much more",
        "at ε 2, 3 to 6 points; random far worse",
        "mean leakage " + ", ".join(f"{DETECTED[kind]} {value:.3f}" for kind, value in mean.items()),
        same,
        ""
        if same
        else "a concept is written over many dimensions: whichever are suppressed, the others name it",
    )


def _fooled(blind: dict[tuple[int, str, float], Measured]) -> Finding:
    mean = _means(blind)
    same = mean["white"] < mean["random"] and mean["black"] < mean["random"]
    return Finding(
        "Figure 4",
        "the same, read by an attacker who learned from clean vectors",
        "its attacker is fine-tuned on releases",
        "mean leakage " + ", ".join(f"{DETECTED[kind]} {value:.3f}" for kind, value in mean.items()),
        same,
        "" if same else "what confuses him is that vectors moved, not which dimensions moved them",
    )


def _agreement(masks: dict[str, Mask]) -> list[Finding]:
    ours = {top: top_overlap(masks["black"], masks["white"], top) for top in OVERLAP}
    above = all(value > 1.5 * top for top, value in ours.items())
    return [
        Finding(
            "Figure 5",
            "black box and white box find the same dimensions",
            ", ".join(f"{value:.0f} % of the top {top:.0%}" for top, value in OVERLAP.items()),
            ", ".join(f"{value:.0%} of the top {top:.0%} (chance {top:.0%})" for top, value in ours.items()),
            above,
            "" if above else "the attacker here reads all dimensions to about the same degree",
        )
    ]
