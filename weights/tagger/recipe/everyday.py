"""Everyday sentences without a name: no word but the first has a capital."""

from __future__ import annotations

import csv
import gzip
import random
import re
from pathlib import Path

from rows import Row

_CAPITAL = re.compile(r"\s\W*[A-Z]")
_MINE = re.compile(r"\bI\b(?:'\w+)?")
FILES = {"quora_pairs": ("text1", "sentence1", "question1"), "sentences": ("text", "sentence")}
LOOKED_FOR = frozenset(("person", "location", "organisation"))


def sentences(data: Path, count: int, rng: random.Random) -> list[Row]:
    """Questions and sentences in which nobody and no place is named."""
    found = []
    for name, columns in FILES.items():
        with gzip.open(data / name / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            column = next(column for column in columns if column in (rows.fieldnames or ()))
            found += [row[column] for row, _ in zip(rows, range(40_000), strict=False)]
    named = [text for text in found if len(text) > 20 and _CAPITAL.search(_MINE.sub("i", text)) is None]
    plain = [text for text in named if text[0].isupper()]
    return [Row(((text, None),), LOOKED_FOR) for text in rng.sample(plain, min(count, len(plain)))]
