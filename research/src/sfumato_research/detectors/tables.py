"""The page's tables from what was measured: python -m sfumato_research.detectors.tables FOLDER.

FOLDER holds scores*.jsonl of the tagger's recipe (evaluate.py) and leakage.jsonl of this study.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sfumato.metrics.intervals import exact_share

KINDS = ("person", "location", "organisation", "date", "identifier")
FORMS = ("as written", "lower case", "typing errors")
_SETS = {
    "conll2003": "news", "pii_presidio": "Presidio's sentences", "pii_contextual": "documents",
    "pii_medical_notes": "headers of notes", "pii_ai4privacy_style": "third set",
}  # fmt: skip
Line = dict[str, Any]


def summed(lines: Iterable[Line]) -> str:
    """Recall with its exact interval, and precision, over some cells."""
    given = list(lines)
    if not given:
        return "–"
    hit, labelled, right, found = (
        sum(line[key] for line in given) for key in ("hit", "labelled", "right", "found")
    )
    share = exact_share("found", hit, labelled)
    return f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}] / {right / max(found, 1):.2f}"


def overall(lines: list[Line]) -> Iterator[str]:
    """A row a kind and form, a column a detector."""
    names = list(dict.fromkeys(line["detector"] for line in lines))
    yield from _table(["kind", "text", "labelled", *names], _overall_rows(lines, names))


def by_set(lines: list[Line], detectors: tuple[str, str]) -> Iterator[str]:
    """A row a set and kind, as written."""
    rows = []
    for name, title in _SETS.items():
        for kind in KINDS:
            cells = [
                [line for line in lines if (line["set"], line["kind"], line["form"]) == (name, kind, FORMS[0])
                 and line["detector"] == each]
                for each in detectors
            ]  # fmt: skip
            if cells[0]:
                rows.append([title, kind, str(cells[0][0]["labelled"]), *map(summed, cells)])
    yield from _table(["set", "kind", "labelled", *detectors], rows)


def leakage(lines: list[Line]) -> Iterator[str]:
    """A row a defence."""
    rows = []
    for concept in dict.fromkeys(line["concept"] for line in lines):
        own = [line for line in lines if line["concept"] == concept]
        clean = own[0]["named"]
        for name in dict.fromkeys(line["released"] for line in own):
            cells = {line["rows"]: line for line in own if line["released"] == name}
            every = cells["all"]
            absolute = (every["named"] - every["prior"]) / (clean - every["prior"])
            rows.append([concept, name, f"{absolute:.0%}", *(_named(cells.get(which)) for which in _ROWS)])
    yield from _table(["concept", "released", "absolute", *(f"named, {which} rows" for which in _ROWS)], rows)


_ROWS = ("all", "found", "missed")


def _named(line: Line | None) -> str:
    if line is None:
        return "–"
    return f"{line['named']:.3f} [{line['low']:.3f}, {line['high']:.3f}] ({line['texts']})"


def _overall_rows(lines: list[Line], names: list[str]) -> Iterator[list[str]]:
    for kind in KINDS:
        for form in FORMS:
            cells = [line for line in lines if line["kind"] == kind and line["form"] == form]
            first = [line for line in cells if line["detector"] == names[0]]
            own = [[line for line in cells if line["detector"] == name] for name in names]
            yield [kind, form, str(sum(line["labelled"] for line in first)), *map(summed, own)]


def _table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    for line in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(line)} |"


def main(folder: str) -> None:
    """Print every table."""
    scores = [
        json.loads(line)
        for path in sorted(Path(folder).glob("scores*.jsonl"), reverse=True)
        for line in path.read_text().splitlines()
    ]
    read = [json.loads(line) for line in (Path(folder) / "leakage.jsonl").read_text().splitlines()]
    for part in (overall(scores), by_set(scores, ("catalog", "catalog before")), leakage(read)):
        sys.stdout.write("\n".join(part) + "\n\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
