"""SPARSE, Tables 1 and 7: leakage, confidence and utility over noise levels, on six sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.evaluation import Defence
from sfumato.evaluation.noise_baselines import LaplaceNoise, PurkayasthaNoise, SparseNoise, learn_mask
from sfumato.sensitivity import Mask
from sfumato_research.sparse.data import BOTH_WAYS, Finder, comparison
from sfumato_research.sparse.printed import METHODS, TRADE_OFF, PrintedTradeOff
from sfumato_research.studies.base import Cell, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.kept import by_cells
from sfumato_research.studies.measured import Measured

ANCHOR = 10
"""The printed epsilon whose Laplace utility on STS12 fixes the scale of the noise."""
NAMES = {"laplace": "Laplace", "purkayastha": "Purkayastha", "sparse": "SPARSE", "ours": "ours"}
_PLAIN = {"laplace": LaplaceNoise, "purkayastha": PurkayasthaNoise}


def levels(setting: Setting, epsilons: Sequence[int], model: str = "minilm") -> dict[int, float]:
    """The noise ratio that stands for each printed epsilon.

    Laplace noise has a ratio of n/epsilon, so printed ones must be in inverse proportion to it, too. The one
    free constant is set so that Laplace noise keeps as much of STS12's correlation as printed at epsilon 10.
    """
    found = ratio_of(comparison(setting, "sts12", model), TRADE_OFF["sts12"].kept(ANCHOR))
    return {epsilon: found * ANCHOR / epsilon for epsilon in epsilons}


def ratio_of(on: Comparison, kept: float) -> float:
    """The noise ratio at which Laplace noise keeps a share of utility, searched for once."""
    return float(on.cells.value(f"ratio@{kept:.4f}", lambda: on.ratio_that_keeps(kept)))


def clean_of(on: Comparison) -> Measured:
    """The control, measured once."""
    return on.cells.measured("clean", on.clean)


def defence(on: Comparison, method: str, ratio: float, mask: Mask | None = None) -> Defence:
    """One of the three mechanisms at a noise ratio; SPARSE with its learned mask unless one is given."""
    if method == "sparse":
        made = SparseNoise(noise_ratios=(ratio,), mask=mask or learn_mask(on.sample)).fit(on.sample)
    else:
        made = _PLAIN[method](noise_ratios=(ratio,)).fit(on.sample)
    return replace(made[0], setting="")


def measured(on: Comparison, method: str, ratio: float = 0.0) -> Measured:
    """One defence on one set; what an earlier part, or an earlier run, has measured is not measured again."""
    name = method if method == "ours" else f"{method}@{ratio:.4f}"
    return on.cells.measured(
        name, lambda: on.measure(on.ours() if method == "ours" else defence(on, method, ratio))
    )


@dataclass(frozen=True, slots=True, eq=False)
class Swept:
    """Everything measured on one set."""

    name: str
    on: Comparison
    ratios: Mapping[int, float]
    clean: Measured
    found: Mapping[tuple[int, str], Measured]
    ours: Measured
    finder: Finder = "lists"

    @property
    def printed(self) -> PrintedTradeOff:
        """What the paper has for it."""
        return TRADE_OFF[self.name]

    def table(self) -> StudyTable:
        """One row for each method and level."""
        rows = [self._row("unprotected", None, self.clean, 0, None)]
        for epsilon in self.ratios:
            for at, method in enumerate(METHODS):
                rows.append(self._row(NAMES[method], epsilon, self.found[epsilon, method], at, epsilon))
        rows.append(self._row("ours (default protector)", None, self.ours, None, None))
        leakage, split = self.clean.leakage, self.on.split
        suite = self.on.suite
        metric = self.clean.utility.metric if self.clean.utility else "not measured"
        note = (
            f"{len(split.learn):,} texts learned from, {leakage.rows:,} attacked "
            f"({leakage.groups:,} groups); "
            f"{len(split.concept.terms)} {split.concept.name} terms found by {FOUND_BY[self.finder]}; "
            f"control {leakage.control:.3f}, floor {leakage.floor:.3f}, prior {leakage.prior:.3f}; "
            f"utility is {metric}; attackers: {suite.seeds}, releases each reads: {suite.draws}; *sd*: "
            f"standard deviation of the leakage of {suite.seeds} runs, each an attacker and a release of "
            "its own. In round brackets: printed."
        )
        columns = (
            "release", "printed ε", "noise ratio", "ε of the density",
            "leakage", "sd", "excess", "confidence", "utility", "kept",
        )  # fmt: skip
        return StudyTable(titled(self.name, self.finder), columns, rows, note)

    def _row(
        self, name: str, epsilon: int | None, found: Measured, at: int | None, level: int | None
    ) -> list[Cell | str | int | None]:
        printed: list[float | None] = [None] * 4
        if at is not None:
            paper = self.printed
            parts = (
                paper.clean
                if level is None
                else (paper.leakage[level][at], paper.confidence[level][at], paper.utility[level][at])
            )
            share = None if level is None else parts[2] / paper.clean[2]
            printed = [*(part / 100 for part in parts), share]
        noisy = found.noise_ratio > 0
        return [
            name,
            epsilon,
            Cell(found.noise_ratio, form=".2f") if noisy else None,
            Cell(found.epsilon, form=",.0f") if np.isfinite(found.epsilon) else None,
            found.leaked(printed[0]),
            found.spread(),
            found.excess(),
            replace(found.confidence, printed=printed[1]),
            found.useful(printed[2]),
            found.kept(printed[3]),
        ]


FOUND_BY: Mapping[Finder, str] = {"lists": "lists", "ner": "NER in these texts (spaCy)"}


def titled(name: str, finder: Finder) -> str:
    """A set, and how its sensitive words are found where that is not by lists."""
    return name if finder == "lists" else f"{name}, entities found by NER"


def sweep(setting: Setting, name: str, epsilons: Sequence[int], finder: Finder = "lists") -> Swept:
    """Measure the three mechanisms at every level, and the default protector."""
    ratios = levels(setting, epsilons)
    on = comparison(setting, name, "minilm", finder)
    found = {}
    for epsilon, ratio in ratios.items():
        for method in METHODS:
            setting.on_step(f"{name}, {finder}, {method}, {epsilon}")
            found[epsilon, method] = measured(on, method, ratio)
    setting.on_step(f"{name}, {finder}, ours")
    return Swept(name, on, ratios, clean_of(on), found, measured(on, "ours"), finder)


@by_cells
def table1(setting: Setting) -> StudyOutcome:
    """STS12 and FIQA, sensitive words found by lists."""
    epsilons = setting.pick((5, 10, 20, 40), (5, 10))
    swept = [sweep(setting, name, epsilons) for name in BOTH_WAYS]
    said = [_law(swept[0]), *findings("Table 1", swept)]
    return StudyOutcome([each.table() for each in swept], findings=said)


def table1_by_ner(setting: Setting, name: str) -> StudyOutcome:
    """One of the two sets again, sensitive words found by NER: the claims on leakage and use, and ours."""
    swept = sweep(setting, name, setting.pick((5, 10, 20, 40), (5, 10)), "ner")
    kept = (finding for finding in findings("Table 1", [swept]) if "Purkayastha" not in finding.claim)
    said = [replace(finding, claim=f"{finding.claim} ({titled(name, 'ner')})") for finding in kept]
    return StudyOutcome([swept.table()], findings=said)


@by_cells
def table7(setting: Setting) -> StudyOutcome:
    """STSB, STS14, Quora, and SciFact in the place of NFCorpus."""
    epsilons = setting.pick((5, 10, 20, 40), (10,))
    swept = [sweep(setting, name, epsilons) for name in ("stsb", "sts14", "quora", "scifact")]
    return StudyOutcome([each.table() for each in swept], findings=findings("Table 7", swept))


def _law(swept: Swept) -> Finding:
    """Whether printed epsilons follow a noise ratio that is inverse to them."""
    others = [epsilon for epsilon in swept.ratios if epsilon != ANCHOR]
    printed = {epsilon: swept.printed.kept(epsilon) for epsilon in others}
    ours = {epsilon: swept.found[epsilon, "laplace"].utility for epsilon in others}
    kept = {epsilon: (found.kept or 0.0) if found else 0.0 for epsilon, found in ours.items()}
    density = swept.on.dim / swept.ratios[ANCHOR]
    return Finding(
        "Table 1",
        "printed ε is that of the density",
        "ε = 10 keeps " + f"{swept.printed.kept(ANCHOR):.0%} of STS12; kept at {_listed(printed)}",
        f"that takes noise ratio {swept.ratios[ANCHOR]:.2f}, a density's ε of {density:.0f}; with a ratio in "
        f"inverse proportion to ε we keep {_listed(kept)}",
        density < 2 * ANCHOR,
        "the printed levels behave like Laplace noise in other units: on unit vectors of 768 dimensions "
        f"ε = 10 would leave a cosine of {10 / 768:.2f} and no correlation",
    )


def _listed(values: Mapping[int, float]) -> str:
    return ", ".join(f"ε {key}: {value:.0%}" for key, value in values.items())


def findings(table: str, swept: Sequence[Swept]) -> list[Finding]:
    """The claims of a table, each decided over all its cells."""
    cells = [(each, epsilon) for each in swept for epsilon in each.ratios]

    def leaked(each: Swept, epsilon: int, method: str) -> float:
        return each.found[epsilon, method].leakage.released

    def kept(each: Swept, epsilon: int, method: str) -> float:
        utility = each.found[epsilon, method].utility
        return 0.0 if utility is None else utility.released

    def printed(part: str, each: Swept, epsilon: int, method: str) -> float:
        return float(getattr(each.printed, part)[epsilon][METHODS.index(method)]) / 100

    leak = _Gap([leaked(*cell, "sparse") - leaked(*cell, "laplace") for cell in cells])
    leak_printed = _Gap([printed("leakage", *c, "sparse") - printed("leakage", *c, "laplace") for c in cells])
    use = _Gap([kept(*cell, "sparse") - kept(*cell, "laplace") for cell in cells])
    use_printed = _Gap([printed("utility", *c, "sparse") - printed("utility", *c, "laplace") for c in cells])
    twin = _Gap([leaked(*cell, "purkayastha") - leaked(*cell, "laplace") for cell in cells])
    twin_printed = _Gap(
        [printed("leakage", *c, "purkayastha") - printed("leakage", *c, "laplace") for c in cells]
    )
    return [
        Finding(
            table,
            "SPARSE leaks less than Laplace at the same noise",
            leak_printed.say("less"),
            leak.say("less"),
            clearly_below(leak.mean),
            "" if leak.mean < 0 else
            "a mask puts the noise on some axes; an attacker trained on fresh releases reads the others",
        ),
        Finding(
            table,
            "SPARSE keeps more utility than Laplace at the same noise",
            use_printed.say("more"),
            use.say("more"),
            clearly_below(-use.mean),
            "" if use.mean > 0 else
            "noise of one length on fewer axes disturbs cosines more: its products average out less",
        ),
        Finding(
            table,
            "Purkayastha noise is as good as Laplace noise",
            f"largest difference in leakage {twin_printed.largest:.3f}",
            f"largest difference in leakage {twin.largest:.3f}",
            twin.largest < max(0.05, 2 * twin_printed.largest),
        ),
        Finding(
            table,
            "ours, beside the best of the three",
            "–",
            "; ".join(_beside(each) for each in swept),
            None,
        ),
    ]  # fmt: skip


def clearly_below(gap: float, least: float = 0.01) -> bool | None:
    """Whether a mean difference is below 0; too small a one says nothing."""
    return None if abs(gap) < least else gap < 0


class _Gap:
    """Differences over cells."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = np.array(values)
        self.mean = float(self.values.mean())
        self.largest = float(np.abs(self.values).max())

    def say(self, way: str) -> str:
        """How often, and by how much."""
        count = int(((self.values < 0) if way == "less" else (self.values > 0)).sum())
        return f"{way} in {count} of {len(self.values)} cells, by {self.mean:+.3f} on average"


def _beside(each: Swept) -> str:
    """Our point, and what the others leak where they keep as much, if they do."""
    own = each.ours.utility
    kept = 0.0 if own is None else own.kept or 0.0
    able = [m for m in each.found.values() if m.utility is not None and (m.utility.kept or 0.0) >= kept]
    best = min(able, key=lambda m: m.leakage.released, default=None)
    text = (
        f"{each.name}: {each.ours.leakage.released:.3f} leaked at {kept:.0%} kept "
        f"(floor {each.clean.leakage.floor:.3f}, control {each.clean.leakage.control:.3f})"
    )
    return f"{text}; none of the three keeps as much" if best is None else (
        f"{text}; the best of the three that keeps as much leaks {best.leakage.released:.3f}"
    )  # fmt: skip
