"""Labelled texts as segments, and the public sets that are read as such."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = (
    "person", "location", "organisation", "date", "identifier", "phone", "age", "disease", "symptom", "drug",
)  # fmt: skip
HIDDEN = "?"
"""The kind of a segment that nobody labelled: nothing is learned from it."""

Segment = tuple[str, str | None]
"""A stretch of a text with its kind; None where it is known to be none."""


@dataclass(frozen=True)
class Row:
    """A text in segments, and which kinds whoever labelled it looked for."""

    segments: tuple[Segment, ...]
    looked_for: frozenset[str]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(part for part, _ in self.segments)

    @property
    def spans(self) -> list[tuple[int, int, str]]:
        """Where the kinds stand."""
        found, at = [], 0
        for part, kind in self.segments:
            if kind not in (None, HIDDEN):
                found.append((at, at + len(part), str(kind)))
            at += len(part)
        return found


# The labels of the sets in the tagger's words; what is not named here is hidden.
CONLL = {"PER": "person", "LOC": "location", "ORG": "organisation", "MISC": None}
PRESIDIO = {
    "PERSON": "person", "ADDRESS": "location", "LOCATION": "location", "STREET_ADDRESS": "location",
    "GPE": "location", "ZIP_CODE": "location", "ORGANIZATION": "organisation", "DATE_TIME": "date",
    "CREDIT_CARD": "identifier", "US_SSN": "identifier", "US_DRIVER_LICENSE": "identifier",
    "IBAN_CODE": "identifier", "IP_ADDRESS": "identifier", "PHONE_NUMBER": "phone", "AGE": "age",
    "TITLE": None, "PREFIX": None, "NRP": None,
}  # fmt: skip
CONTEXTUAL = {
    "NAME": "person", "DOCTOR": "person", "ADDRESS": "location", "LOCATION": "location",
    "LANDMARK": "location", "PLACE": "location", "COMPANY": "organisation", "SCHOOL": "organisation",
    "UNIVERSITY": "organisation", "BANK": "organisation", "INSURER": "organisation",
    "HOSPITAL": "organisation", "COURT": "organisation", "MERCHANT": "organisation",
    "STORE": "organisation", "BANK_NAME": "organisation", "DATE": "date", "DAY": "date",
    "ACCOUNT": "identifier", "TRANSACTION_ID": "identifier", "POLICY_NUMBER": "identifier",
    "TICKET_ID": "identifier", "CASE_NUMBER": "identifier", "PESEL": "identifier", "NIP": "identifier",
    "CLAIM_ID": "identifier", "ORDER_NUMBER": "identifier", "VIN": "identifier", "PHONE": "phone",
    "MEDICATION": "drug", "AGE": "age", "CURRENCY": None, "POSITION": None, "SKILL": None,
}  # fmt: skip
NOTES = {"NAME": "person", "DATE_OF_BIRTH": "date", "ADDRESS": "location", "PHONE": "phone"}
THIRD = {
    "FIRSTNAME": "person", "LASTNAME": "person", "MIDDLENAME": "person", "ACCOUNTNAME": "person",
    "CITY": "location", "STATE": "location", "COUNTY": "location", "STREET": "location",
    "ZIPCODE": "location", "BUILDINGNUMBER": "location", "SECONDARYADDRESS": "location",
    "COMPANYNAME": "organisation", "DATE": "date", "DOB": "date", "CREDITCARDNUMBER": "identifier",
    "IBAN": "identifier", "IPV": "identifier", "IP": "identifier", "ACCOUNTNUMBER": "identifier",
    "MASKEDNUMBER": "identifier", "SSN": "identifier", "PHONEIMEI": "identifier", "MAC": "identifier",
    "VEHICLEVIN": "identifier", "VEHICLEVRM": "identifier", "BIC": "identifier",
    "BITCOINADDRESS": "identifier", "ETHEREUMADDRESS": "identifier", "USERNAME": "identifier",
    "URL": "identifier", "PHONENUMBER": "phone", "AGE": "age",
}  # fmt: skip
_LOOKED = {
    "conll2003": ("person", "location", "organisation"),
    "pii_presidio": ("person", "location", "organisation", "date", "identifier", "phone", "age"),
    "pii_contextual": ("person", "date", "identifier", "phone"),
    "pii_medical_notes": ("person", "location", "date", "phone"),
    "pii_ai4privacy_style": ("person", "location", "date", "identifier", "phone"),
}
SETS: Mapping[str, tuple[str, Mapping[str, str | None]]] = {
    "conll2003": ("conll2003", CONLL),
    "pii_presidio": ("presidio", PRESIDIO),
    "pii_contextual": ("contextual", CONTEXTUAL),
    "pii_medical_notes": ("notes", NOTES),
    "pii_ai4privacy_style": ("pii", THIRD),
}
_PHONE_LINE = re.compile(r"Phone:[^\n]*\n")


def raw(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows of a set as they are on disk."""
    with gzip.open(data / name / f"{SETS[name][0]}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def labelled(name: str, given: Mapping[str, Any]) -> Row:
    """One row of a set, in segments."""
    text, mapping = given["text"], SETS[name][1]
    if name == "pii_medical_notes" and (end := _PHONE_LINE.search(text)):
        # The header alone is labelled.
        text = text[: end.end()]
    spans = sorted((each["start"], each["end"], each["label"]) for each in given["spans"])
    return Row(tuple(_segments(text, spans, mapping)), frozenset(_LOOKED[name]))


def side(name: str, given: Mapping[str, Any]) -> str:
    """learn, tune or test: by CoNLL's own split, by template, else by the text without its labelled words."""
    if name == "pii_ai4privacy_style":
        return "third"
    if name == "conll2003":
        if given["split"] == "train":
            return "learn"
        return "tune" if _share(given["text"]) < 0.5 else "test"
    key = given.get("template") or _bare(given)
    share = _share(key)
    return "learn" if share < 0.6 else "tune" if share < 0.75 else "test"


def _bare(given: Mapping[str, Any]) -> str:
    """The first words without what was labelled, and without numbers: documents of one form are alike there."""
    text = given["text"][:400]
    for span in sorted(given["spans"], key=lambda span: -span["start"]):
        if span["end"] <= 400:
            text = text[: span["start"]] + text[span["end"] :]
    return " ".join(re.findall(r"[a-z]+", text.lower())[:8])


def _share(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def _segments(
    text: str, spans: Iterable[tuple[int, int, str]], mapping: Mapping[str, str | None]
) -> Iterator[Segment]:
    at = 0
    for start, end, label in spans:
        if start < at or end <= start:
            continue
        if start > at:
            yield text[at:start], None
        yield text[start:end], mapping.get(label, HIDDEN)
        at = end
    if at < len(text):
        yield text[at:], None
