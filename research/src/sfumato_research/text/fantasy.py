"""Fictional passages with questions, as the paper's "fantasy" set: no reader can answer them from memory.

Names are invented syllable by syllable; every answer is a stretch of its passage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.numbers import whole_number
from sfumato.randomness import generator

_STARTS = (
    "Ar Bel Cor Dra El Fen Gal Hal Il Kor Lor Mor Nar Or Pel Quor Ras Sil Tor Ul Vel Wyn Xan Yor Zel".split()
)
_MIDDLES = "a e i o u an en in or ar il al un eth ith".split()
_ENDS = "dor mir thas wen lin rok dral vane this gorn las mere stead fell quist bane dun rith".split()
_MATERIALS = "copper glass amber iron marble silver cedar salt".split()
_COLOURS = "violet crimson golden emerald white black azure".split()
_FOODS = "moss berries crabs honey mushrooms seeds eels".split()
_TRADES = "potters weavers sailors miners masons brewers scribes".split()
_FEARS = "thunder fire bells smoke music frost".split()
_HABITATS = "caves marshes orchards cliffs rivers dunes".split()
_CAUSES = "a broken treaty,a stolen bell,a failed harvest,a poisoned well,an unpaid debt".split(",")
_GOODS = "lamps ropes maps drums carpets knives".split()
_NUMBERS = "three four five six seven eight nine eleven twelve".split()


@dataclass(frozen=True, slots=True)
class PassageQuestion:
    """A question, and its answer as it stands in the passage."""

    text: str
    answer: str
    start: int
    """Where the answer starts in the passage."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A fictional passage with its questions."""

    title: str
    text: str
    questions: tuple[PassageQuestion, ...]
    names: tuple[str, ...]
    """The invented names, which stand in no dictionary."""


class _PassageWriter:
    """Fills one template and remembers what was put where."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.names: list[str] = []

    def pick(self, words: list[str]) -> str:
        return words[int(self.rng.integers(len(words)))]

    def name(self) -> str:
        made = self.pick(_STARTS) + self.pick(_MIDDLES) + self.pick(_ENDS)
        if made in self.names:
            return self.name()
        self.names.append(made)
        return made

    def year(self) -> str:
        return str(int(self.rng.integers(200, 1900)))

    def passage(self, title: str, text: str, asked: list[tuple[str, str]]) -> Passage:
        questions = tuple(PassageQuestion(question, answer, text.index(answer)) for question, answer in asked)
        return Passage(title, text, questions, tuple(self.names))


def _event(w: _PassageWriter) -> Passage:
    war, ruler, enemy, field, town = w.name(), w.name(), w.name(), w.name(), w.name()
    year, months, cause = w.year(), w.pick(_NUMBERS), w.pick(_CAUSES)
    colour, metal = w.pick(_COLOURS), w.pick(_MATERIALS)
    text = (
        f"The {war} War began in the year {year} over {cause}. Queen {ruler} led an army under a banner of "
        f"{colour} cloth and met the forces of General {enemy} on the plain of {field}. The fighting lasted "
        f"{months} months. When it ended, both sides signed a treaty on plates of {metal} in the town of "
        f"{town}."
    )
    return w.passage(
        f"{war} War",
        text,
        [
            (f"In which year did the {war} War begin?", year),
            (f"Who led the army against General {enemy}?", ruler),
            ("How many months did the fighting last?", months),
            ("What colour was the cloth of the banner?", colour),
            ("In which town was the treaty signed?", town),
        ],
    )


def _city(w: _PassageWriter) -> Passage:
    city, river, founder, god = w.name(), w.name(), w.name(), w.name()
    year, gates, metal = w.year(), w.pick(_NUMBERS), w.pick(_MATERIALS)
    trade, goods = w.pick(_TRADES), w.pick(_GOODS)
    text = (
        f"{city} is a walled city on the river {river}. It was founded in {year} by a trader named "
        f"{founder}, who built its first bridge from {metal}. The city has {gates} gates and a temple of "
        f"{god} on its hill. Its {trade} are famous far away, and its market sells {goods} to travellers "
        f"from the north."
    )
    return w.passage(
        city,
        text,
        [
            (f"On which river does {city} stand?", river),
            (f"Who founded the city of {city}?", founder),
            ("What was the first bridge built from?", metal),
            ("How many gates does the city have?", gates),
            ("What does the market sell to travellers?", goods),
        ],
    )


def _species(w: _PassageWriter) -> Passage:
    species, island, scholar = w.name(), w.name(), w.name()
    legs, colour, food = w.pick(_NUMBERS), w.pick(_COLOURS), w.pick(_FOODS)
    fear, habitat, year = w.pick(_FEARS), w.pick(_HABITATS), w.year()
    text = (
        f"The {species} is a small animal with {legs} legs that lives in the {habitat} of the island of "
        f"{island}. Its fur is {colour} in winter. It eats {food} and is afraid of {fear}. The scholar "
        f"{scholar} described it first in {year}, after a long search."
    )
    return w.passage(
        species,
        text,
        [
            (f"How many legs does the {species} have?", legs),
            (f"On which island does the {species} live?", island),
            ("What does the animal eat?", food),
            ("What is the animal afraid of?", fear),
            ("Which scholar described it first?", scholar),
        ],
    )


def passages(count: int, *, seed: int = 0) -> list[Passage]:
    """Write `count` fictional passages with five questions each; the same seed writes the same ones."""
    rng = generator(seed)
    kinds = (_event, _city, _species)
    return [
        kinds[row % len(kinds)](_PassageWriter(rng)) for row in range(whole_number(count, "count", 1, 10**6))
    ]
