"""How much do detectors find? Precision and recall on labelled public data, as Markdown tables.

A span counts as found when one of the same label overlaps it; "any" is the share of labelled spans that a
span of whatever label touches, which is what matters when spans are taken out. Every table is made twice: on
the texts as they are and in lower case.

    python benchmarks/detectors.py DATA                # DATA holds the folders named in SETS
    python benchmarks/detectors.py DATA --rows 500     # 500 texts of each, drawn at random
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from sfumato.concepts import CATALOG, Concept, Dictionary, Patterns, score_detector
from sfumato.concepts.base import Detector, Span
from sfumato.concepts.detectors import spacy
from sfumato.concepts.detectors.names import Names
from sfumato.concepts.detectors.presidio import Presidio
from sfumato.concepts.evaluate import ANY, DetectorScores
from sfumato.concepts.lists import medical, organisations, places
from sfumato.randomness import generator

Row = tuple[str, list[Span]]

LABELS = {
    "person": "PER PERSON NAME DOCTOR FIRSTNAME MIDDLENAME LASTNAME",
    "location": "LOC LOCATION GPE ADDRESS STREET_ADDRESS ZIP_CODE CITY STATE COUNTY STREET ZIPCODE "
    "BUILDINGNUMBER SECONDARYADDRESS",
    "organisation": "ORG ORGANIZATION COMPANY SCHOOL UNIVERSITY INSURER BANK HOSPITAL COMPANYNAME",
    "date": "DATE DATE_TIME DOB DATE_OF_BIRTH",
    "age": "AGE",
    "phone": "PHONE PHONE_NUMBER PHONENUMBER",
    "email": "EMAIL EMAIL_ADDRESS",
    "identifier": "CREDIT_CARD US_SSN US_DRIVER_LICENSE IBAN_CODE IP_ADDRESS DOMAIN_NAME ACCOUNT PESEL NIP "
    "TRANSACTION_ID POLICY_NUMBER TICKET_ID CASE_NUMBER CLAIM_ID ORDER_NUMBER CREDITCARDNUMBER IBAN IP IPV "
    "MAC URL ACCOUNTNUMBER SSN PHONEIMEI VEHICLEVIN VEHICLEVRM BIC",
    "disease": "DIAGNOSIS",
    "drug": "MEDICATION",
}
MAPPING = {theirs: ours for ours, names in LABELS.items() for theirs in names.split()}
FEWEST = 20
# Shapes and lists were improved by reading what they missed in the first three; the last was left alone.
SETS = ["conll2003", "pii_presidio", "pii_contextual", "pii_ai4privacy_style"]
# Finer than the catalog: cards, accounts and network addresses are identifiers.
COARSER = dict.fromkeys(("card", "iban", "ssn", "record", "code", "ip", "handle", "url"), "identifier")
COARSER |= {"title": "person", "company": "organisation", "address": "location"}


class Together:
    """Several detectors side by side: spans of different labels may overlap here, as each label is scored."""

    blind_to = ""

    def __init__(self, name: str, *parts: Detector) -> None:
        self.name = name
        self.parts = parts

    def find(self, text: str) -> list[Span]:
        found = (span for part in self.parts for span in part.find(text))
        return [Span(span.start, span.end, COARSER.get(span.label, span.label)) for span in found]


class Named:
    """A concept of the catalog as a detector."""

    blind_to = ""

    def __init__(self, name: str) -> None:
        self.name = name
        self.find = Concept.named(name).find


def lists() -> list[Detector]:
    return [
        Names(),
        Dictionary(places.PLACES, label="location", cased=places.CASED),
        Dictionary(organisations.ORGANISATIONS, label="organisation", cased=organisations.CASED),
        Dictionary(medical.DISEASES, label="disease", cased=medical.CASED),
        Dictionary(medical.DRUGS, label="drug", cased=medical.CASED),
    ]


def detectors() -> dict[str, Callable[[], Detector]]:
    model = spacy.best_model()
    kinds = [name for name in LABELS if name in CATALOG]
    found: dict[str, Callable[[], Detector]] = {
        "patterns": lambda: Together("patterns", *(Patterns(kind) for kind in patterns())),
        "lists": lambda: Together("lists", *lists()),
        "presidio, patterns": lambda: Together("presidio, patterns", Presidio()),
    }
    if model is not None:
        found["spaCy"] = lambda: Together("spaCy", spacy.Spacy())
        found["presidio, spaCy"] = lambda: Together("presidio, spaCy", Presidio(model))
    found["catalog"] = lambda: Together("catalog", *(Named(name) for name in kinds))
    return found


def patterns() -> list[str]:
    from sfumato.concepts.detectors.shapes import SHAPES

    return [kind for kind in SHAPES if kind not in ("weekday", "month", "sex", "time", "number", "money")]


def read(folder: Path, name: str) -> Iterator[dict]:
    path = next(iter(sorted((folder / name).glob("*.jsonl*"))))
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        yield from map(json.loads, lines)


def rows(folder: Path, name: str, count: int | None) -> list[Row]:
    found = [
        (row["text"], [Span(span["start"], span["end"], span["label"]) for span in row["spans"]])
        for row in read(folder, name)
        if row.get("split", "testa") == "testa"
    ]
    if count is None or count >= len(found):
        return found
    return [found[index] for index in generator(0).choice(len(found), count, replace=False)]


def lowered(given: list[Row]) -> list[Row]:
    # A few letters change their length, which would move every span behind them.
    return [(text.lower(), spans) for text, spans in given if len(text.lower()) == len(text)]


def table(scores: list[tuple[str, DetectorScores]]) -> str:
    # A share of a handful says nothing.
    given = scores[0][1].labels
    present = [label for label in LABELS if label in given and given[label].labelled >= FEWEST]
    head = ["detector", *present, "any span", "texts/s"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for name, got in scores:
        cells = [cell(got, label) for label in present]
        lines.append(
            "| "
            + " | ".join([name, *cells, f"{got.labels[ANY].recall:.2f}", f"{got.texts_per_second:,.0f}"])
            + " |"
        )
    return "\n".join(lines)


def cell(scores: DetectorScores, label: str) -> str:
    score = scores.labels[label]
    return f"{score.precision:.2f} / {score.recall:.2f}" if score.found else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description="Precision / recall of detectors on labelled data.")
    parser.add_argument("data", type=Path, help="folder that holds the sets")
    parser.add_argument("--rows", type=int, help="texts of each set, drawn at random; all by default")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--only", nargs="+", help="detectors to score")
    wanted = parser.parse_args()
    for name in wanted.sets:
        given = rows(wanted.data, name, wanted.rows)
        for case, texts in (("as written", given), ("lower-cased", lowered(given))):
            spans = sum(MAPPING.get(span.label) is not None for _, found in texts for span in found)
            print(f"\n**{name}, {case}**: {len(texts):,} texts, {spans:,} labelled spans\n")
            chosen = {key: make for key, make in detectors().items() if not wanted.only or key in wanted.only}
            print(table([(key, score_detector(make(), texts, MAPPING)) for key, make in chosen.items()]))


if __name__ == "__main__":
    main()
