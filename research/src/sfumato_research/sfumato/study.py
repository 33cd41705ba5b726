"""Our own study: what protectors leak and keep, over concepts, encoders and attacks, beside all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from sfumato.evaluation import Defence
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics import Leakage, Utility
from sfumato.trials.control import MARGIN, works
from sfumato.trials.questions.averaging import averaging_row
from sfumato.trials.reading import AttackMethod
from sfumato.trials.reading import named as attack_method
from sfumato.trials.rows import AttackRow, LeftOut
from sfumato_research.sfumato.comparison import alignment, baselines, compare, protectors
from sfumato_research.sfumato.concepts import many_concepts, what_the_floor_is
from sfumato_research.sfumato.losses import losses
from sfumato_research.sfumato.vectors import NAMES, vectors_alone
from sfumato_research.studies.base import (
    Cell,
    Entry,
    Finding,
    Picture,
    Setting,
    Study,
    StudyOutcome,
    StudyPart,
    StudyTable,
)
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.corpora import CORPORA
from sfumato_research.studies.draw import Curve, curves

EVERYTHING = (
    "laplace", "purkayastha", "gaussian", "projection", "sparse", "suppression", "leace", "removal",
    "random-word", "nearest-term", "quantised", "truncated", "rotation", "ironcore", "privrag",
)  # fmt: skip
SOME = ("laplace", "purkayastha", "sparse", "suppression", "leace", "removal")
LEAKED = 1000
"""Releases that an attacker who queries nothing got hold of."""
_MODELS = {"minilm": "all-MiniLM-L6-v2", "wordllama": "WordLlama"}
ComparedRow = tuple[Defence, Leakage, dict[str, Utility], float | None]


def _compared(setting: Setting, name: str, model: str, named: Sequence[str]) -> StudyOutcome:
    """What our protectors and others leak to the token attack, and what they keep."""
    with one_blas_thread():
        on = compare(CORPORA[name][0](setting.data), setting, model)
        others = baselines(on, setting.pick(named, ("laplace", "leace", "removal")), setting)
        rows: list[ComparedRow] = []
        for defence in (*protectors(on), *others):
            setting.on_step(f"{on.corpus.name}: {defence.label}")
            asked = on.informed(defence) if defence.name in ("protector", "laplace", "leace") else None
            runs = None if defence.name == "protector" else 1
            rows.append((defence, on.leakage(defence, runs=runs), on.utility(defence), asked))
    title = f"{on.corpus.name}, {_MODELS[model]}"
    drawn = [_picture(title, f"sfumato-{name}-{model}.svg", on, rows)] if len(others) > 20 else []
    return StudyOutcome([_defences(title, on, rows)], drawn)


def _strongest(setting: Setting, name: str, model: str) -> StudyOutcome:
    """Every attack on the default protector; where none learns to write, on neutral texts alone too."""
    tables, findings = [], []
    with one_blas_thread():
        on = compare(CORPORA[name][0](setting.data), setting, model)
        default, _, neutral = protectors(on)
        writes = model == "minilm"
        for defence in (default,) if writes else (default, neutral):
            texts = setting.pick(("decoder", "minilm"), ("minilm",)) if writes else ()
            found, blind = _attacks(on, defence, texts, setting)
            title = f"{on.corpus.name}, {_MODELS[model]}: {defence.label}"
            counted = [each for each in found if each.excess is not None and _name(each) not in blind]
            worst = max(counted, key=lambda each: each.released)
            tables.append(_suite(title, found, blind))
            findings.append(_reads_most(title, worst, on.utility(defence)))
    return StudyOutcome(tables, findings=findings)


def _attacks(
    on: Comparison, defence: Defence, written: Sequence[str], setting: Setting
) -> tuple[list[Leakage | AttackRow], set[str]]:
    """Trained, aligned, written, averaged; and which of them do not read clean vectors either."""
    setting.on_step(f"{on.corpus.name}: {defence.label}")
    aligned = alignment(on, setting, LEAKED)
    few = on.narrowed(on.suite.written)
    found: list[Leakage | AttackRow] = [
        on.leakage(defence),
        on.leakage(defence, aligned, target=on.leaked(defence)),
    ]
    blind = _blind(on, aligned)
    for name in written:
        setting.on_step(f"{on.corpus.name}: {name} on {defence.label}")
        writer = attack_method(name, few.split)
        found.append(few.leakage(defence, writer))
        blind |= _blind(few, writer)
    with suppress(LeftOut):  # without noise every release is the same
        target, count = on.target(defence), on.suite.averaged
        found.append(averaging_row(on.split, target, on.calibration(), count, seed=on.seed))
    return found, blind


def _blind(on: Comparison, method: AttackMethod) -> set[str]:
    """The attack's name, if by an audit's own rule it does not read clean vectors."""
    known = on.calibration(method)
    sees = works(known.control, known.floor, known.prior, on.split.resampling())
    return set() if sees else {method.name}


def _defences(title: str, on: Comparison, rows: Sequence[ComparedRow]) -> StudyTable:
    first = rows[0][1]
    control: list[Entry] = [
        "clean vectors (control)", Cell.between(first.control, first.intervals["control"]),
        Cell(1.0, form=".0%"), "",
        *(Cell(1.0, form=".1%") for _ in on.measures),
    ]  # fmt: skip
    floor: list[Entry] = [
        "concept taken out of the text (floor)", Cell.between(first.floor, first.intervals["floor"]),
        Cell(0.0, form=".0%"), "", *("" for _ in on.measures),
    ]  # fmt: skip
    table: list[list[Entry]] = [control, floor]
    for defence, leaks, keeps, asked in rows:
        table.append(
            [
                defence.label,
                Cell.between(leaks.released, leaks.intervals["released"]),
                Cell.between(leaks.excess, leaks.interval, ".0%"),
                "" if asked is None else Cell(asked, form=".2f"),
                *(Cell.between(each.kept, each.interval, ".1%") for each in keeps.values()),
            ]
        )
    clean = ", ".join(f"{name} {each.clean:.3f} ({each.metric})" for name, each in rows[0][2].items())
    split, suite = on.split, on.suite
    note = (
        f"{len(split.rows):,} texts name one of {len(split.vocabulary.terms)} terms; "
        f"{len(split.test):,} are attacked, near-duplicates never on both sides; pool of "
        f"{len(split.texts):,}. Token attack: network, linear and their mean, {suite.epochs} epochs on "
        f"fresh releases, {suite.copies} copies with other terms, {suite.seeds} seeds for control, floor and "
        f"protectors, one for the others. Prior {first.prior:.3f}. Clean: {clean}. "
        "*informed*: top-1 of an attacker who knows all but the term and may not ask the protector."
    )
    columns = ["release", "leakage", "excess", "informed", *(f"{name} kept" for name in on.measures)]
    return StudyTable(f"{title}: what leaks and what is kept", columns, table, note)


def _name(found: Leakage | AttackRow) -> str:
    return found.attack if isinstance(found, Leakage) else found.name


def _suite(title: str, attacks: Sequence[Leakage | AttackRow], blind: set[str]) -> StudyTable:
    rows: list[list[Entry]] = []
    for each in attacks:
        excess = Cell.between(each.excess, each.interval, ".0%")
        last: Entry = "not counted: it does not read clean vectors" if _name(each) in blind else excess
        rows.append(
            [_name(each), Cell(each.control), Cell(each.floor), Cell(each.prior), Cell(each.released), last]
        )
    note = (
        "Each attack beside its own control and floor; the mean of releases is what sticky noise prevents. "
        f"An attack counts if its control is {MARGIN:.0%} above floor and prior with 95 % confidence."
    )
    return StudyTable(
        f"Every attack on {title}",
        ["attack", "control", "floor", "prior", "released", "excess"],
        rows,
        note,
    )


def _reads_most(title: str, worst: Leakage | AttackRow, keeps: dict[str, Utility]) -> Finding:
    kept = ", ".join(f"{name} {each.kept or 0.0:.1%}" for name, each in keeps.items())
    return Finding(
        title,
        "what the attack that reads most names, beside redaction and guessing; no verdict",
        "–",
        f"{worst.released:.3f} by {_name(worst)} (clean {worst.control:.3f}, redaction {worst.floor:.3f}, "
        f"guess {worst.prior:.3f}); kept over all rows: {kept}",
        None,
    )


def _picture(title: str, name: str, on: Comparison, rows: Sequence[ComparedRow]) -> Picture:
    """What leaks against what is kept, a series for each defence."""
    measure = next(iter(on.measures))
    series: dict[str, list[ComparedRow]] = {}
    for row in rows:
        series.setdefault(row[0].name, []).append(row)
    lines = []
    for label, found in series.items():
        usable = [row for row in found if row[1].excess is not None and row[2][measure].kept is not None]
        excess = [row[1].excess or 0.0 for row in usable]
        bounds = [row[1].interval or (value, value) for row, value in zip(usable, excess, strict=True)]
        lines.append(
            Curve(
                label,
                [row[2][measure].kept or 0.0 for row in usable],
                excess,
                [low for low, _ in bounds],
                [high for _, high in bounds],
                joined=label != "protector",
            )
        )
    drawn = curves(
        lines,
        title=title,
        x_label=f"share of clean {measure} kept",
        y_label="excess leakage (0: what redaction leaves)",
        x_range=(0.0, 1.0),
        y_range=(-0.5, 1.0),
    )
    note = "Bars: 95 % intervals. What leaks less than -50 % is drawn there."
    return Picture(name, drawn, f"{title}: excess leakage against what is kept", note)


def _parts(name: str, model: str, named: Sequence[str]) -> list[StudyPart]:
    needs = CORPORA[name][1]
    leaks: Callable[[Setting], StudyOutcome] = partial(_compared, name=name, model=model, named=named)
    attacks: Callable[[Setting], StudyOutcome] = partial(_strongest, name=name, model=model)
    return [
        StudyPart(f"{name}-{model}", f"{name}, {_MODELS[model]}: defences", leaks, needs),
        StudyPart(f"{name}-{model}-attacks", f"{name}, {_MODELS[model]}: attacks", attacks, needs),
    ]


def _needs(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(need for name in names for need in CORPORA[name][1]))


STUDY = Study(
    "sfumato",
    "What protectors leak and keep, over concepts, encoders and attacks",
    "ours",
    [
        *_parts("location", "minilm", EVERYTHING),
        *_parts("disease", "minilm", SOME),
        *_parts("person", "minilm", SOME),
        *_parts("location", "wordllama", SOME),
        *_parts("disease", "wordllama", SOME),
        *_parts("person", "wordllama", SOME),
        StudyPart("vectors", "Vectors without their texts", vectors_alone, _needs(*NAMES)),
        StudyPart("losses", "What one swapped term costs", losses, _needs(*NAMES)),
        StudyPart("floor", "What the floor is made of", what_the_floor_is, CORPORA["location"][1]),
        StudyPart("concepts", "The cost of hiding more concepts", many_concepts, CORPORA["location"][1]),
    ],
)
