"""What protectors do for vectors whose texts are not there, so that no neutral text can be embedded."""

from __future__ import annotations

from dataclasses import replace

from sfumato.evaluation import Defence
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics import Leakage
from sfumato.protector import Protector
from sfumato_research.sfumato.comparison import LIMIT, compare
from sfumato_research.studies.base import Cell, Entry, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.corpora import CORPORA

NAMES = ("location", "disease", "person")


def vectors_alone(setting: Setting) -> StudyOutcome:
    """Release plain vectors with a protector learned for texts, and with one learned for vectors."""
    tables, findings = [], []
    for name in setting.pick(NAMES, NAMES[:1]):
        with one_blas_thread():
            on = compare(CORPORA[name][0](setting.data), setting, "minilm")
            found: list[Leakage] = []
            rows: list[list[Entry]] = []
            for label, protector in _protectors(on).items():
                defence = Defence.from_protector(protector, setting=label)
                leaks = on.leakage(defence)
                found.append(leaks)
                rows.append(
                    [
                        label,
                        Cell(protector.mechanism.noise_ratio(on.dim), form=".2f"),
                        Cell.between(leaks.released, leaks.intervals["released"]),
                        Cell.between(leaks.excess, leaks.interval, ".0%"),
                        *(
                            Cell.between(use.kept, use.interval, ".1%")
                            for use in on.utility(defence).values()
                        ),
                    ]
                )
        columns = [
            "protector",
            "noise ratio",
            "leakage",
            "excess",
            *(f"{use} kept" for use in on.measures),
        ]
        note = f"Control {found[0].control:.3f}, floor {found[0].floor:.3f}; the token attack, as above."
        tables.append(StudyTable(f"{on.corpus.name}, all-MiniLM-L6-v2: vectors alone", columns, rows, note))
        findings.append(_finding(on.corpus.name, *found))
    return StudyOutcome(tables, findings=findings)


def _protectors(on: Comparison) -> dict[str, Protector]:
    both, light = on.protector(limit=LIMIT), on.protector(limit=LIMIT, neutral=0)
    return {"learned for texts": replace(both, neutral=0), "learned for vectors (--neutral 0)": light}


def _finding(name: str, texts: Leakage, vectors: Leakage) -> Finding:
    said = []
    for each in (texts, vectors):
        low, high = each.interval or (float("nan"), float("nan"))
        said.append("undefined" if each.excess is None else f"{each.excess:.0%} [{low:.0%}, {high:.0%}]")
    return Finding(
        f"{name}, vectors alone",
        "a protector learned for texts hides less of vectors without them than one learned for vectors",
        "–",
        f"excess {said[0]} against {said[1]}",
        texts.released > vectors.released,
        "" if texts.released > vectors.released else "half the strength was enough here",
    )
