"""Long texts cut into short ones, which know the document they are of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato_research.studies.data import rows, searches

PASSAGE = 25
"""Words of a passage at most; the papers' sentences have 3 to 15 on average."""
MEDICAL = {"pii_medical_notes": ("notes", "text"), "mtsamples": ("mtsamples", "transcription")}
"""Clinical texts: folder, and the file and column in it."""
LONGEST = 50
"""Words of a sentence that are embedded."""
FEWEST = 5
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True, eq=False)
class CutTexts:
    """Different texts, and which document each is of."""

    texts: list[str]
    groups: list[int]


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [part for part in _SENTENCE.split(text) if part.strip()]


def passages(text: str, most: int = PASSAGE) -> list[str]:
    """Whole sentences joined as long as they are short enough; longer ones are cut."""
    made: list[str] = []
    words: list[str] = []
    for sentence in sentences(text):
        more = sentence.split()
        if words and len(words) + len(more) > most:
            made.append(" ".join(words))
            words = []
        words += more
        while len(words) > most:
            made.append(" ".join(words[:most]))
            words = words[most:]
    return [*made, " ".join(words)] if words else made


def distinct(documents: Iterable[Sequence[str]]) -> CutTexts:
    """The pieces of documents; one that stands in two belongs to the first."""
    place: dict[str, int] = {}
    for number, pieces in enumerate(documents):
        for piece in pieces:
            place.setdefault(piece, number)
    return CutTexts(list(place), list(place.values()))


def clinical_sentences(data: Path, folders: Sequence[str] = tuple(MEDICAL), most: int = 12_000) -> CutTexts:
    """Sentences of clinical notes, at most so many and as many of each folder."""
    kinds = []
    for folder in folders:
        name, column = MEDICAL[folder]
        notes = [
            [
                " ".join(text.split()[:LONGEST])
                for text in sentences(row[column] or "")
                if len(text.split()) >= FEWEST
            ]
            for row in rows(data, folder, name)
        ]
        kinds.append(_first(notes, most // len(folders)))
    return distinct(note for notes in kinds for note in notes)


def _first(notes: Sequence[Sequence[str]], most: int) -> list[Sequence[str]]:
    """Whole notes, as long as there is room."""
    kept, count = [], 0
    for note in notes:
        count += len(note)
        if count > most:
            break
        kept.append(note)
    return kept


def searched_passages(data: Path, folder: str) -> tuple[CutTexts, list[str], list[list[int]]]:
    """Passages and searches as texts, the searches, and for each the passages it looks for."""
    found = searches(data, folder)
    cut = [passages(document) for document in found.documents]
    # A search is no part of a document: each is a group of its own.
    pieces = distinct([*cut, *([query] for query in found.queries)])
    place = {text: row for row, text in enumerate(pieces.texts)}
    answers = [sorted({place[text] for row in judged for text in cut[row]}) for judged in found.judged]
    return pieces, list(found.queries), answers
