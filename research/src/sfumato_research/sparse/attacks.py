"""SPARSE, Tables 2 and 3: three kinds of attack, and eight categories of sensitive words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.concepts.concept import Concept
from sfumato_research.sparse.data import cells_of, comparison, shortened
from sfumato_research.sparse.passages import MEDICAL, CutTexts, clinical_sentences
from sfumato_research.sparse.printed import ATTACKS, CATEGORIES, METHODS
from sfumato_research.sparse.readers import (
    LITTLE,
    NOT_COUNTED,
    WRITERS,
    levels_read,
    reads_clean,
    says_nothing,
    told_sizes,
    written,
    written_clean,
)
from sfumato_research.sparse.tradeoff import NAMES, clean_of, clearly_below, defence, levels, measured
from sfumato_research.studies.base import Cell, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.corpora import Corpus
from sfumato_research.studies.data import encoder, rows
from sfumato_research.studies.kept import by_cells
from sfumato_research.studies.measured import Measured, sizes

PII = {"pii_presidio": "presidio", "pii_contextual": "contextual", "pii_ai4privacy_style": "pii"}
CATEGORY_SIZES: dict[str, int] = {
    "rows": 800, "pool": 1000, "searches": 200, "epochs": 15, "copies": 3, "seeds": 2, "draws": 2,
}  # fmt: skip
__all__ = ["MEDICAL", "PII", "table2", "table3"]


def attack_row(setting: Setting, name: str, ratios: dict[int, float]) -> dict[str, Measured]:
    """What one attack reads from clean vectors, from each release and from ours."""
    wanted = [(epsilon, method) for epsilon in ratios for method in METHODS]
    if name not in WRITERS:
        on = comparison(setting, "sts12")
        found = {"clean": clean_of(on)}
        for epsilon, method in wanted:
            found[f"{method}, {epsilon}"] = measured(on, method, ratios[epsilon])
        return {**found, "ours": measured(on, "ours")}
    found = {"clean": written_clean(setting, name)}
    if says_nothing(setting, name, found["clean"]):
        return found
    for epsilon, method in sorted(wanted, key=lambda cell: -cell[0]):
        ratio = ratios[epsilon]
        found[f"{method}, {epsilon}"] = written(
            setting,
            name,
            f"{method}@{ratio:.4f}",
            lambda on, method=method, ratio=ratio: defence(on, method, ratio),  # type: ignore[misc]
        )
    return {**found, "ours": written(setting, name, "ours", lambda on: on.ours())}


def table2(setting: Setting, attacks: Sequence[str] = ("Vec2Text", "MLC")) -> StudyOutcome:
    """Each attack on each mechanism, at the two strongest levels; GEIA is a part of its own."""
    ratios = levels(setting, levels_read(setting, attacks, setting.pick((5, 10), (10,))))
    told = {"Vec2Text": "practised", "GEIA": "language model", "MLC": "tokens"}
    lines: list[list[Cell | str]] = []
    lower: list[float] = []
    blind: list[str] = []
    for name in attacks:
        printed = ATTACKS[name]
        found = attack_row(setting, name, ratios)
        clean = found["clean"]
        line: list[Cell | str] = [f"{name} ({told[name]})", clean.leaked(printed[0] / 100)]
        line += [Cell(clean.leakage.floor), Cell(clean.leakage.prior)]
        blind += [] if reads_clean(clean) else [name]
        for epsilon in ratios:
            first = 1 if epsilon == 5 else 4
            cells = {method: found.get(f"{method}, {epsilon}") for method in METHODS}
            for each, value in zip(cells.values(), printed[first:], strict=False):
                line.append(each.leaked(value / 100) if each else Cell(None, printed=value / 100))
            if reads_clean(clean):
                own, plain = found[f"sparse, {epsilon}"], found[f"laplace, {epsilon}"]
                lower.append(own.leakage.released - plain.leakage.released)
        lines.append([*line, found["ours"].leaked() if "ours" in found else Cell(None)])
    columns = ["attack", "clean", "floor", "prior"]
    columns += [f"{NAMES[method]}, ε {epsilon}" for epsilon in ratios for method in METHODS]
    note = f"STS12. {told_sizes(setting, attacks)}"
    if "MLC" in attacks:
        note += " MLC: the classifier of table 1, in five runs."
    if blind:
        note += f" Not counted, because it does not read clean vectors well enough: {', '.join(blind)}."
    mean = sum(lower) / max(len(lower), 1)
    places = [1 if epsilon == 5 else 4 for epsilon in ratios]
    finding = Finding(
        "Table 2",
        f"SPARSE leaks less than Laplace under {' and '.join(attacks)}",
        _less([ATTACKS[name][at + 2] - ATTACKS[name][at] for name in attacks for at in places]),
        f"{_less(lower)}, by {mean:+.3f} on average" if lower else NOT_COUNTED.format(" and ".join(attacks)),
        clearly_below(mean) if lower else None,
        "" if mean < 0 else "attacks that learn the noise read the axes it leaves alone" if lower else LITTLE,
    )
    return StudyOutcome(
        [StudyTable("leakage by attack", [*columns, "ours"], lines, note)], findings=[finding]
    )


def pii_texts(data: Path) -> list[str]:
    """The texts of the sets with personal data."""
    found = (row["text"] for folder, name in PII.items() for row in rows(data, folder, name))
    return list(dict.fromkeys(shortened(text) for text in found if text.strip()))


def category_comparison(setting: Setting, source: str, category: str) -> Comparison:
    """The texts that hold a word of one category."""
    if source == "pii":
        found = pii_texts(setting.data)
        pieces = CutTexts(found, list(range(len(found))))
    else:
        pieces = clinical_sentences(setting.data)
    suite = sizes(setting, **CATEGORY_SIZES)
    corpus = Corpus(category, pieces.texts, Concept.named(category), groups=pieces.groups)
    kept = cells_of(setting, suite, "category", source, category)
    return Comparison(corpus, encoder(setting), suite, kept=kept, seed=setting.seed)


@by_cells
def table3(setting: Setting) -> StudyOutcome:
    """Leakage of each category at the printed epsilon of 10."""
    ratio = levels(setting, (10,))[10]
    wanted = list(CATEGORIES)[:: setting.pick(1, 4)]
    lines: list[list[Cell | str | int]] = []
    gaps: list[float] = []
    own: list[float] = []
    for source, category in wanted:
        setting.on_step(f"{source}, {category}")
        printed = [value / 100 for value in CATEGORIES[source, category]]
        on = category_comparison(setting, source, category)
        found = [measured(on, method, ratio) for method in METHODS]
        ours = measured(on, "ours")
        gaps.append(found[2].leakage.released - found[0].leakage.released)
        own.append(ours.leakage.released - ours.leakage.floor)
        lines.append(
            [
                f"{source}: {category}",
                clean_of(on).leaked(printed[0]),
                Cell(ours.leakage.floor),
                *(each.leaked(value) for each, value in zip(found, printed[1:], strict=True)),
                ours.leaked(),
                len(on.split.test),
            ]
        )
    less = sum(gap < 0 for gap in gaps)
    findings = [
        Finding(
            "Table 3",
            "SPARSE leaks less than Laplace in every category",
            _less([printed[3] - printed[1] for printed in CATEGORIES.values()]),
            f"less in {less} of {len(gaps)}, by {sum(gaps) / len(gaps):+.3f} on average",
            less > len(gaps) / 2,
            "" if less > len(gaps) / 2 else "as in Table 1: the attacker reads the axes without noise",
        ),
        Finding(
            "Table 3",
            "ours, beside the floor",
            "–",
            f"{sum(own) / len(own):+.3f} from the floor on average, {max(own):+.3f} at most",
            None,
        ),
    ]
    columns = ["category", "clean", "floor", *(NAMES[method] for method in METHODS), "ours", "attacked"]
    note = (
        f"Noise ratio {ratio:.2f}, as at printed ε = 10. Concepts of the catalog; texts of Presidio's, the "
        "contextual and the AI4Privacy-style sets, and sentences of clinical notes (MTSamples and notes made "
        "from them) where the paper has PII-300K and MIMIC-III. Sentences of a note stand on one side of the "
        "cut; two attackers, two releases each."
    )
    return StudyOutcome([StudyTable("leakage by category", columns, lines, note)], findings=findings)


def _less(gaps: list[float]) -> str:
    """How often printed leakage is lower."""
    return f"less in {sum(gap < 0 for gap in gaps)} of {len(gaps)}"
