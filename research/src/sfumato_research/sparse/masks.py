"""SPARSE, Tables 4 and 10: masks that know the attacker, and masks of other sparsity."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial

from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.concepts.texts.pairs import build_pairs
from sfumato.sensitivity import Mask
from sfumato.sensitivity.learned import LearnedMask, MaskSettings, Penalty
from sfumato_research.sparse.data import comparison
from sfumato_research.sparse.printed import LAMBDAS, METHODS, TRADE_OFF, WHITE_BOX
from sfumato_research.sparse.tradeoff import NAMES, clearly_below, defence, levels, measured
from sfumato_research.studies.base import Cell, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.kept import by_cells
from sfumato_research.studies.measured import Measured
from sfumato_research.whitebox import white_box_mask

SETS = ("sts12", "fiqa")


def white_box(on: Comparison) -> Mask:
    """The dimensions that an attacker trained on clean vectors reads the concept from."""
    split = on.split
    texts = [split.texts[row] for row in split.learned]
    vectors = split.clean[split.learned]
    attack = TokenClassifier(
        vocabulary=split.vocabulary,
        embedder=on.embedder,
        copies=on.suite.copies,
        epochs=on.suite.epochs,
        seed=on.seed,
    )
    reader = attack.fit(texts, vectors)
    return white_box_mask(reader, vectors, split.known, source="public", name=split.concept.name)


def _knowing(on: Comparison, ratio: float, mask: Callable[[], Mask]) -> Measured:
    """SPARSE with a mask that is made only where no cell was kept."""
    return on.measure(defence(on, "sparse", ratio, mask()))


@by_cells
def table4(setting: Setting) -> StudyOutcome:
    """Laplace, SPARSE and SPARSE with integrated gradients of the attacker for its mask."""
    ratios = levels(setting, setting.pick((5, 10, 20, 40), (10,)))
    tables, better, close = [], [], []
    for name in SETS[: setting.pick(2, 1)]:
        on = comparison(setting, name)
        mask = cache(partial(white_box, on))
        rows: list[list[Cell | str | int | None]] = []
        for epsilon, ratio in ratios.items():
            setting.on_step(f"{name}, white box, {epsilon}")
            found = {method: measured(on, method, ratio) for method in ("laplace", "sparse")}
            found["white box"] = on.cells.measured(
                f"sparse-wb@{ratio:.4f}",
                partial(_knowing, on, ratio, mask),
            )
            paper, knowing = TRADE_OFF[name], WHITE_BOX[name][epsilon]
            for method, each in found.items():
                at = METHODS.index(method) if method in METHODS else None
                leaked = knowing[0] if at is None else paper.leakage[epsilon][at]
                useful = knowing[1] if at is None else paper.utility[epsilon][at]
                label = "SPARSE-WB" if at is None else NAMES[method]
                rows.append(
                    [
                        label,
                        epsilon,
                        each.leaked(leaked / 100),
                        each.spread(),
                        each.excess(),
                        each.useful(useful / 100),
                    ]
                )
            better.append(_leak(found["white box"]) - _leak(found["laplace"]))
            close.append(_leak(found["sparse"]) - _leak(found["white box"]))
        columns = ("release", "printed ε", "leakage", "sd", "excess", "utility")
        note = (
            "The mask is the mean absolute integrated gradient over the attacker's own texts. *sd* of "
            f"{on.suite.seeds} runs, as in table 1."
        )
        tables.append(StudyTable(name, columns, rows, note))
    mean, gap = sum(better) / len(better), sum(close) / len(close)
    cells = [(name, epsilon) for name in SETS for epsilon in WHITE_BOX[name]]
    won = [_printed_gap(*cell, "laplace") for cell in cells]
    left = -sum(_printed_gap(*cell, "sparse") for cell in cells) / len(cells)
    findings = [
        Finding(
            "Table 4",
            "with the attacker's gradients SPARSE leaks least of all",
            f"less than Laplace in {sum(each < 0 for each in won)} of {len(won)}, by "
            f"{sum(won) / len(won):+.3f} on average",
            f"less in {sum(each < 0 for each in better)} of {len(better)}, by {mean:+.3f} on average",
            clearly_below(mean),
            "" if mean < -0.01 else "gradients say where one attacker looks; a retrained one looks elsewhere",
        ),
        Finding(
            "Table 4",
            "SPARSE comes close to its white-box form",
            f"{left:+.3f} in leakage on average",
            f"{gap:+.3f} on average",
            abs(gap) <= 0.1,
            "" if abs(gap) <= 0.1 else "integrated gradients lie on all axes, a learned mask does not",
        ),
    ]  # fmt: skip
    return StudyOutcome(tables, findings=findings)


@lru_cache(maxsize=4)
def _twins(on: Comparison) -> tuple[object, object]:
    sample = on.sample
    pairs = build_pairs(
        sample.texts, sample.concept, spans=sample.spans, kinds=("removal",), limit=4000, seed=on.seed
    )
    return sample.vectors[list(pairs.rows)], on.embedder.embed(pairs.minus)


def learn_with(on: Comparison, weight: float, penalty: Penalty = "sum") -> LearnedMask:
    """The mask at another lambda, with the penalty's sum over dimensions or their mean."""
    from sfumato.sensitivity.learner import MaskLearner

    settings = MaskSettings(penalty_weight=weight, penalty=penalty, seed=on.seed)
    plus, minus = _twins(on)
    return MaskLearner(settings).fit(plus, minus, name=on.split.concept.name, source="public")


@by_cells
def table10(setting: Setting) -> StudyOutcome:
    """Leakage and utility by lambda at printed epsilon 10, and the mean penalty as the paper prints it."""
    ratio = levels(setting, (10,))[10]
    tables, drops, printed = [], [], []
    for name in SETS[: setting.pick(2, 1)]:
        on = comparison(setting, name)
        rows: list[list[Cell | str]] = []
        leaks: dict[float, float] = {}
        for weight in list(LAMBDAS[name])[:: setting.pick(1, 2)]:
            found, row = _at_lambda(setting, on, name, weight, ratio)
            rows.append(row)
            if found is not None:
                leaks[weight] = found
        rows.append(_at_lambda(setting, on, name, 1e-3, ratio, "mean")[1])
        drops.append(leaks[max(leaks)] - leaks[min(leaks)])
        printed.append((LAMBDAS[name][max(leaks)][10][0] - LAMBDAS[name][min(leaks)][10][0]) / 100)
        note = (
            f"Noise ratio {ratio:.2f}, as at printed ε = 10. Sum or mean of the penalty over dimensions: the "
            "paper prints the mean. Where no gate is open, the noise is even, as Laplace's."
        )
        tables.append(
            StudyTable(name, ("λ, penalty", "gates open", "leakage", "excess", "utility"), rows, note)
        )
    drop, drop_printed = sum(drops) / len(drops), sum(printed) / len(printed)
    finding = Finding(
        "Table 10",
        "a larger λ leaks less",
        f"between the same two λ {drop_printed:+.3f}",
        f"from the smallest λ to the largest that leaves a gate open {drop:+.3f}",
        clearly_below(drop),
        "" if drop < -0.01 else
        "a larger λ leaves fewer gates open: the noise is on fewer axes, and the concept is on all of them",
    )  # fmt: skip
    return StudyOutcome(tables, findings=[finding])


def _at_lambda(
    setting: Setting, on: Comparison, name: str, weight: float, ratio: float, penalty: Penalty = "sum"
) -> tuple[float | None, list[Cell | str]]:
    """Leakage, unless no gate is open, and the row of a table."""
    setting.on_step(f"{name}, lambda {weight:g}, {penalty}")
    learned = cache(lambda: learn_with(on, weight, penalty))
    label = f"lambda {weight:g}, {penalty}"
    share = float(on.cells.value(f"open {label}", lambda: learned().report.open_share))
    found = on.cells.measured(
        f"{label}@{ratio:.4f}", lambda: on.measure(defence(on, "sparse", ratio, learned().mask))
    )
    leaked, useful = LAMBDAS[name][weight][10]
    shown = penalty == "sum"
    row: list[Cell | str] = [
        f"{weight:g}, {penalty}",
        Cell(share, form=".0%"),
        found.leaked(leaked / 100 if shown else None),
        found.excess(),
        found.useful(useful / 100 if shown else None),
    ]
    return (_leak(found) if share else None), row


def _printed_gap(name: str, epsilon: int, method: str) -> float:
    """How much less the white-box form leaks in the paper."""
    other = TRADE_OFF[name].leakage[epsilon][METHODS.index(method)]
    return (WHITE_BOX[name][epsilon][0] - other) / 100


def _leak(found: Measured) -> float:
    return found.leakage.released
