"""The same names in other surroundings, other names in the same ones: why some are not read (Table 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.concepts.lists.people import FIRST_NAMES, SURNAMES
from sfumato.randomness import generator
from sfumato_research.studies.base import Entry, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.vec2text.gains import above, share_cell, written
from sfumato_research.vec2text.names import NamedNote, NameHits, hits, name_shares, named_notes
from sfumato_research.vec2text.texts import ReadyMadeReaders, shortened, steps_label
from sfumato_research.vec2text.words import training_words

OFTEN = 100
"""A name that stands so often in training text is a frequent one."""
OWN, FREQUENT, RARE = "its own", "frequent, one wordpiece each", "rare, several wordpieces each"
_PLAIN = (
    "went to see the doctor last week because of a bad cough and was sent home.",
    "has been our neighbour for ten years and works at the hospital in the city.",
    "called this morning to say that the new car would not start again.",
    "was the first in the family who went to university and became a teacher.",
)
FRAMES: dict[str, Callable[[NamedNote, str, int], str]] = {
    "as it stands: name, birth, address": lambda note, name, at: note.header.replace(note.name, name, 1),
    "name, then the note": lambda note, name, at: f"{name} {note.body}",
    "name in a plain sentence": lambda note, name, at: f"{name} {_PLAIN[at % len(_PLAIN)]}",
    "name alone": lambda note, name, at: f"Patient Name: {name}",
}
"""What is embedded, with this name in the note's place for it."""


def listed_names(counts: Counter[str], count: int, seed: int, *, rare: bool) -> list[tuple[str, str]]:
    """Names of our own lists: frequent ones of a wordpiece each, or rare ones of several wordpieces each."""
    pieces = Wordpieces.minilm()

    def wanted(name: str) -> bool:
        often, single = counts[name.lower()] >= OFTEN, len(pieces.numbers([name])[0]) == 1
        return name.isalpha() and (not often and not single if rare else often and single)

    chosen = [[name for name in given if wanted(name)] or list(given) for given in (FIRST_NAMES, SURNAMES)]
    random = generator(seed)
    drawn = [[each[int(random.integers(len(each)))] for _ in range(count)] for each in chosen]
    return list(zip(*drawn, strict=True))


def why(setting: Setting) -> StudyOutcome:
    """The same names in other surroundings, and other names in the same ones."""
    readers = ReadyMadeReaders(setting)
    notes = named_notes(setting.data, setting.pick(100 if readers.gpu else 60, 1))
    counts = training_words(setting.data, setting.pick(None, 500))
    given = {
        OWN: [(note.first, note.last) for note in notes],
        FREQUENT: listed_names(counts, len(notes), setting.seed, rare=False),
        RARE: listed_names(counts, len(notes), setting.seed, rare=True),
    }
    cases = {(frame, kind): make for frame, make in FRAMES.items() for kind in given}
    texts = {
        key: shortened(
            [
                make(note, " ".join(name), at)
                for at, (note, name) in enumerate(zip(notes, given[key[1]], strict=True))
            ]
        )
        for key, make in cases.items()
    }
    found = _read_all(setting, readers, texts, given)
    table: list[list[Entry]] = []
    for frame, kind in cases:
        row: list[Entry] = [frame, kind, len(notes)]
        row += [share_cell(each[frame, kind][:, 2]) for each in found.values()]
        first, last, _, both = name_shares(list(found.values())[-1][frame, kind])
        table.append([*row, first, last, both])
    best = list(found)[-1]
    heads = [f"full names, {label}" for label in found]
    return StudyOutcome(
        [
            StudyTable(
                "The same notes: other surroundings, other names",
                ["embedded", "name", "notes", *heads, "first names", "last names", "both parts"],
                table,
                f"The last three columns: {best}. *Both parts*: first and last name, wherever they stand. "
                f"*Frequent* and *rare*: names of our lists, at least {OFTEN} times in the training text "
                "that is public data here, or less often. *Then the note*: without header, birth, address "
                "and telephone, as the paper's notes begin. All cut at 32 wordpieces.",
            )
        ],
        findings=_why_findings(found[best], best),
    )


def _read_all(
    setting: Setting,
    readers: ReadyMadeReaders,
    texts: dict[tuple[str, str], list[str]],
    given: dict[str, list[tuple[str, str]]],
) -> dict[str, dict[tuple[str, str], NameHits]]:
    """What every search reads of every case, all cases in one go."""
    every = [text for each in texts.values() for text in each]
    vectors: Any = readers.vectors(every)
    steps = setting.pick(20, 1)
    setting.on_step(f"{steps} steps")
    greedy = readers.rounds(vectors, steps)
    read = {steps_label(steps): greedy.texts(steps)}
    read |= readers.beamed(vectors)
    found: dict[str, dict[tuple[str, str], NameHits]] = {}
    for label, written_texts in read.items():
        parts = iter(written_texts)
        found[label] = {key: hits(given[key[1]], [next(parts) for _ in each]) for key, each in texts.items()}
    return found


def _why_findings(found: dict[tuple[str, str], NameHits], label: str) -> list[Finding]:
    stands, note, plain, alone = FRAMES

    def full(case: tuple[str, str]) -> np.ndarray:
        return 100.0 * found[case][:, 2]

    compared = (
        ("birth, address and telephone around a name hide it: more is read where the note follows",
         (note, OWN), (stands, OWN)),
        ("the note hides it: more is read in a plain sentence", (plain, OWN), (note, OWN)),
        ("32 wordpieces hide it: more is read of the name alone", (alone, OWN), (note, OWN)),
        ("frequent names are read more than its own, where the note follows", (note, FREQUENT), (note, OWN)),
        ("frequent names are read more than rare ones of several wordpieces, where the note follows",
         (note, FREQUENT), (note, RARE)),
        ("the same in a plain sentence", (plain, FREQUENT), (plain, RARE)),
    )  # fmt: skip
    return [
        Finding(
            "Table 3, why",
            claim,
            "not in the paper",
            f"full names {full(one).mean():.0f} % against {full(other).mean():.0f} %, "
            f"{written(full(one), full(other))}; {label}",
            above(full(one), full(other)),
        )
        for claim, one, other in compared
    ]
