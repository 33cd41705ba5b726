"""SPARSE, Tables 8 and 9: other encoders, and defences of the text itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from sfumato.evaluation.baselines import Baseline
from sfumato.evaluation.text_baselines import NearestTerm, RandomWord, Removal
from sfumato.metrics import tradeoff_rate
from sfumato_research.sparse.data import comparison
from sfumato_research.sparse.printed import ENCODERS, METHODS, REWRITING, TRADE_OFF
from sfumato_research.sparse.tradeoff import NAMES, clean_of, levels, measured
from sfumato_research.studies.base import Cell, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.encoders import families, present, study_encoder
from sfumato_research.studies.kept import by_cells
from sfumato_research.studies.measured import Measured

HUB = (
    "sentence-transformers/gtr-t5-base",
    "sentence-transformers/sentence-t5-base",
    "sentence-transformers/bert-base-nli-mean-tokens",
)
"""The paper's encoders, used where there is a local copy."""


def encoders() -> list[str]:
    """What can be run here: the study encoders, and the paper's own where they lie on this machine."""
    from huggingface_hub import try_to_load_from_cache

    local = [name for name in HUB if isinstance(try_to_load_from_cache(name, "config.json"), str)]
    return [*(each.name for each in present()), *local]


def measure_encoder(setting: Setting, model: str) -> dict[str, Measured]:
    """STS12 at printed epsilon 10, with noise that costs Laplace noise on this encoder as much as printed."""
    on = comparison(setting, "sts12", model)
    ratio = levels(setting, (10,), model)[10]
    found = {"unprotected": clean_of(on)}
    for method in METHODS:
        setting.on_step(f"{model}, {method}")
        found[method] = measured(on, method, ratio)
    return {**found, "ours": measured(on, "ours")}


@by_cells
def table8(setting: Setting) -> StudyOutcome:
    """Every study encoder that is present."""
    found = {model: measure_encoder(setting, model) for model in encoders()}
    rows: list[list[Cell | str]] = []
    for model, measures in found.items():
        for method, each in measures.items():
            label = f"{model}: {NAMES.get(method, method)}"
            ratio = Cell(each.noise_ratio, form=".2f")
            rows.append(
                [label, ratio, each.leaked(), each.spread(), each.excess(), each.useful(), each.kept()]
            )
    for model, cells in ENCODERS.items():
        for method, (leaked, useful) in zip(("unprotected", *METHODS), cells, strict=True):
            share = Cell(useful / cells[0][1], form=".0%")
            shown = f"printed, {model}: {NAMES.get(method, method)}"
            rows.append([shown, "", Cell(leaked / 100), "", "", Cell(useful / 100), share])
    gaps = {model: difference(each["sparse"], each["laplace"]) for model, each in found.items()}
    same = sum(gaps.values()) < 0
    finding = Finding(
        "Table 8",
        "SPARSE leaks less than Laplace whatever the encoder",
        "less with 3 of 3 encoders",
        told_by_encoder(found, "sparse"),
        same,
        "" if same else "as in Table 1: the attacker reads the axes without noise",
    )
    note = (
        "STS12; each encoder has the noise at which Laplace noise keeps as much of its own correlation as is "
        "printed at ε 10. Encoders: " + encoder_titles(found) + ". *sd* of 5 runs, as in table 1."
    )
    columns = ("encoder and release", "noise ratio", "leakage", "sd", "excess", "utility", "kept")
    return StudyOutcome([StudyTable("encoders, STS12", columns, rows, note)], findings=[finding])


def difference(one: Measured, other: Measured) -> float:
    """How much more one leaks."""
    return one.leakage.released - other.leakage.released


def told_by_encoder(found: Mapping[str, Mapping[str, Measured]], method: str) -> str:
    """On how many encoders, of how many families, a method leaks less than Laplace noise or surely more."""
    gaps = {model: difference(each[method], each["laplace"]) for model, each in found.items()}
    less = [model for model, gap in gaps.items() if gap < 0]
    ends = {model: (_ends(each[method]), _ends(each["laplace"])) for model, each in found.items()}
    surely = [model for model, (own, plain) in ends.items() if own[0] > plain[1]]
    by_family = f"{len(found)} encoders of {len(families(found))} families"
    return (
        f"less with {len(less)} of {by_family}; more, with intervals that do not meet, with {len(surely)} of "
        f"{len(families(surely))}: " + ", ".join(f"{model} {gap:+.3f}" for model, gap in gaps.items())
    )


def encoder_titles(models: Iterable[str]) -> str:
    """Names, families and dimensions of some encoders."""
    known = map(study_encoder, models)
    return "; ".join(f"{each.name}: {each.title}, {each.family}, {each.dim} dimensions" for each in known)


def _ends(found: Measured) -> tuple[float, float]:
    return found.leakage.intervals["released"] or (found.leakage.released, found.leakage.released)


def _rewritten(on: Comparison, baseline: Baseline) -> Measured:
    return on.measure(baseline.fit(on.sample)[0])


@by_cells
def table9(setting: Setting) -> StudyOutcome:
    """Leakage, utility and the rate R of rewritten texts, SPARSE at printed epsilon 20, and ours."""
    ratio = levels(setting, (20,))[20]
    tables, findings = [], []
    for name in ("sts12", "fiqa")[: setting.pick(2, 1)]:
        on = comparison(setting, name)
        clean = clean_of(on)
        found: dict[str, Measured] = {}
        kinds: dict[str, Baseline] = {
            "removal": Removal(stars=(True,)),
            "random-word": RandomWord(),
            "nearest-term": NearestTerm(),
        }
        for label, baseline in kinds.items():
            setting.on_step(f"{name}, {label}")
            found[label] = on.cells.measured(label, partial(_rewritten, on, baseline))
        found["sparse"] = measured(on, "sparse", ratio)
        found["ours"] = measured(on, "ours")
        paper, whole = REWRITING[name], TRADE_OFF[name].clean
        leak = {"sparse": TRADE_OFF[name].leakage[20][2] / 100}
        rows: list[list[Cell | str | None]] = [
            [
                "unprotected",
                clean.leaked(whole[0] / 100),
                clean.spread(),
                clean.excess(),
                clean.useful(whole[2] / 100),
                None,
                None,
            ]
        ]
        for label, each in found.items():
            printed = paper.get(label, (None, None))
            useful = None if printed[0] is None else printed[0] / 100
            rows.append(
                [
                    label,
                    each.leaked(leak.get(label)),
                    each.spread(),
                    each.excess(),
                    each.useful(useful),
                    Cell(_rate(clean, each), form=".1f", printed=printed[1]),
                    Cell(_rate(clean, each, assumed=label in kinds), form=".1f"),
                ]
            )
        columns = ("release", "leakage", "sd", "excess", "utility", "R", "R with no leakage assumed")
        note = (
            f"Noise ratio {ratio:.2f}, as at printed ε = 20. Rewritten texts are attacked like any release; "
            "the paper assumes that they leak nothing, which the last column does, too."
        )
        tables.append(StudyTable(name, columns, rows, note))
        findings.append(_finding(name, clean, found, list(kinds)))
    return StudyOutcome(tables, findings=findings)


def _finding(name: str, clean: Measured, found: dict[str, Measured], texts: list[str]) -> Finding:
    rates = {label: _rate(clean, each) for label, each in found.items()}
    best = max(texts, key=lambda label: _order(rates[label]))
    same = _order(rates["sparse"]) > _order(rates[best])
    return Finding(
        "Table 9",
        f"{name}: SPARSE trades better (R) than rewriting the text",
        f"{REWRITING[name]['sparse'][1]:.1f} against at most {max(REWRITING[name][t][1] for t in texts):.1f}",
        f"{_said(rates['sparse'])} against {_said(rates[best])} ({best}), leakage measured; "
        f"ours {_said(rates['ours'])}",
        same,
        "" if same else
        "entities stand in some of the texts only, so rewriting costs little; SPARSE hardly lowers leakage",
    )  # fmt: skip


def _order(rate: float | None) -> float:
    """No utility lost is better than any rate."""
    return float("inf") if rate is None else rate


def _said(rate: float | None) -> str:
    return "no utility lost" if rate is None else f"{rate:.1f}"


def _rate(clean: Measured, released: Measured, assumed: bool = False) -> float | None:
    if clean.utility is None or released.utility is None:
        return None
    return tradeoff_rate(
        clean_leakage=clean.leakage.released,
        released_leakage=0.0 if assumed else released.leakage.released,
        clean_utility=clean.utility.released,
        released_utility=released.utility.released,
    )
