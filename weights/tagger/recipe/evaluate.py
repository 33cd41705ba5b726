"""Scores detectors on the sides nothing was learned from or tuned on: python evaluate.py --data DATA

Precision and recall by overlap (`sfumato.concepts.evaluate`), by set and kind, as written, in lower case and
with an error in every tenth longer word. A set counts for the kinds that it labels throughout.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from changes import lower, with_typos
from rows import SETS, Row, Segment, labelled, raw, side

from sfumato.concepts.base import Detector, Span
from sfumato.concepts.catalog import CATALOG
from sfumato.concepts.detectors.presidio import Presidio
from sfumato.concepts.detectors.spacy import Spacy, best_model
from sfumato.concepts.evaluate import DetectorScore, score_detector
from sfumato.tagging.detector import Tagger

MEASURED = {
    "conll2003": ("person", "location", "organisation"),
    "pii_presidio": ("person", "location", "organisation", "date", "identifier"),
    "pii_contextual": ("person", "date", "identifier"),
    "pii_medical_notes": ("person", "location", "date"),
    "pii_ai4privacy_style": ("person", "location", "date", "identifier"),
}
_PRESIDIO = {"identifier": ["card", "iban", "ip", "ssn", "code", "record", "url"]}
_SPACY = {"person": ["person"], "location": ["location"], "organisation": ["organisation"], "date": ["date"]}
Form = Callable[[tuple[Segment, ...]], tuple[Segment, ...]]


def _catalog(kind: str, *, tagger: bool) -> Detector:
    entry = CATALOG[kind]
    parts = [
        part.make()
        for part in entry.parts
        if part.ready() and ("tagger" in part.name) <= tagger and not (tagger and "spaCy" in part.name)
    ]
    from sfumato.concepts.detectors.union import Union

    return Union(*parts)


DETECTORS: dict[str, Callable[[str], Detector | None]] = {
    "tagger alone": lambda kind: Tagger(labels=[kind]),
    "catalog": lambda kind: CATALOG[kind].detector(),
    "catalog before": lambda kind: _catalog(kind, tagger=False),
    "spaCy": lambda kind: Spacy(labels=_SPACY[kind]) if kind in _SPACY else None,
    "Presidio": lambda kind: Presidio(best_model(), labels=_PRESIDIO.get(kind, [kind])),
}


def forms() -> dict[str, Form]:
    """The ways a text is written."""
    rng = random.Random(7)
    return {
        "as written": lambda given: given,
        "lower case": lower,
        "typing errors": lambda given: with_typos(given, rng),
    }


def measured(data: Path, names: list[str], sets: list[str], wanted: list[str]) -> Iterator[dict[str, object]]:
    """One line a set, form, kind and detector."""
    for name in sets:
        rows = [labelled(name, given) for given in raw(data, name) if side(name, given) in ("test", "third")]
        for form, change in forms().items():
            if form not in wanted:
                continue
            written = [Row(change(row.segments), row.looked_for) for row in rows]
            for kind in MEASURED[name]:
                gold = [(row.text, [Span(*span) for span in row.spans if span[2] == kind]) for row in written]
                for detector in names:
                    finder = DETECTORS[detector](kind)
                    if finder is None:
                        continue
                    score = score_detector(Relabelled(finder, kind), gold).labels[kind]
                    yield _line(name, form, kind, detector, score)


class Relabelled:
    """A detector whose findings all have one label."""

    def __init__(self, inner: Detector, kind: str) -> None:
        self._inner, self._kind, self.name, self.blind_to = inner, kind, inner.name, inner.blind_to

    def find(self, text: str) -> list[Span]:
        """What the other finds, under the label."""
        return [Span(span.start, span.end, self._kind) for span in self._inner.find(text)]


def _line(name: str, form: str, kind: str, detector: str, score: DetectorScore) -> dict[str, object]:
    return {
        "set": name, "form": form, "kind": kind, "detector": detector, "labelled": score.labelled, "hit": score.hit,
        "found": score.found, "right": score.right,
        "recall": round(score.recall, 4), "precision": round(score.precision, 4),
    }  # fmt: skip


def main() -> None:
    """Write a line a cell."""
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("-o", "--out", type=Path)
    options.add_argument("--detectors", nargs="+", default=list(DETECTORS))
    options.add_argument("--forms", nargs="+", default=list(forms()))
    options.add_argument("--sets", nargs="+", default=list(SETS))
    given = options.parse_args()
    lines = []
    for line in measured(given.data, given.detectors, given.sets, given.forms):
        print(json.dumps(line), flush=True)
        lines.append(line)
    if given.out:
        given.out.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
