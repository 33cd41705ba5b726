"""The generator: facts drawn first, then written down in one of many ways."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from sfumato.concepts.base import Span
from sfumato.concepts.lists.people import SURNAMES
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.records import clinic, customers
from sfumato.records.writing import fill

Kind = Literal["clinic", "customer"]

CITIES = (
    "Amsterdam", "Athens", "Auckland", "Bangkok", "Barcelona", "Berlin", "Bogota", "Boston", "Brussels",
    "Budapest", "Cairo", "Cape Town", "Chicago", "Copenhagen", "Dublin", "Geneva", "Hamburg", "Hanoi",
    "Helsinki", "Istanbul", "Jakarta", "Lagos", "Lima", "Lisbon", "Madrid", "Manila", "Melbourne", "Milan",
    "Montreal", "Mumbai", "Nairobi", "Oslo", "Prague", "Rome", "Seattle", "Seoul", "Tokyo", "Toronto",
    "Vienna", "Warsaw",
)  # fmt: skip
WOMEN = (
    "Agnes", "Aisha", "Alice", "Amina", "Anna", "Beatrice", "Camille", "Carmen", "Clara", "Daisy", "Denise",
    "Diana", "Edith", "Elena", "Emma", "Eva", "Fatima", "Fiona", "Giulia", "Grace", "Hannah", "Helen",
    "Ingrid", "Irene", "Julia", "Karen", "Laura", "Leah", "Lucia", "Maria", "Mei", "Monica", "Nadia",
    "Nina", "Olga", "Paula", "Priya", "Rachel", "Rosa", "Ruth", "Salma", "Sofia", "Sunita", "Tamara",
    "Vera", "Yasmin", "Zoe",
)  # fmt: skip
MEN = (
    "Adam", "Ahmed", "Albert", "Andrei", "Antonio", "Arjun", "Boris", "Carlos", "Colin", "Daniel", "Diego",
    "Dmitri", "Edward", "Erik", "Felix", "Frank", "George", "Giovanni", "Hans", "Harold", "Hassan",
    "Hiroshi", "Hugo", "Ibrahim", "Ivan", "Jacob", "Javier", "Kenji", "Kevin", "Lars", "Leonard", "Luis",
    "Martin", "Miguel", "Nathan", "Oliver", "Omar", "Oscar", "Pierre", "Rajesh", "Ralph", "Sergei", "Simon",
    "Sven", "Thomas", "Victor", "Walter", "Yusuf",
)  # fmt: skip
JOBS = (
    "teacher", "bus driver", "baker", "nurse", "carpenter", "violinist", "farmer", "translator", "welder",
    "librarian", "cook", "programmer", "florist", "judge", "fisher", "hairdresser", "pilot", "plumber",
)  # fmt: skip
RELATIVES = ("a sister", "a brother", "the mother", "the father", "an aunt", "a cousin", "the grandson")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_HINTED, _CONTACT, _PROMISED = 0.35, 0.3, 0.6


@dataclass(frozen=True, slots=True)
class Record:
    """One made-up note, where its personal facts stand, and a search for it in other words."""

    kind: Kind
    text: str
    spans: tuple[Span, ...]
    """Names, cities, ages, words for a sex, diseases and contact data."""
    query: str
    """A search for it: the same matter in other words, without name or disease."""
    disease: str = ""

    def to_dict(self) -> dict[str, Any]:
        """A row of an input file; nobody's data, so it may be shown."""
        spans = [asdict(span) for span in self.spans]
        return {"text": self.text, "spans": spans, "kind": self.kind, "showable": True}


def make_records(count: int = 2000, *, seed: int = 0) -> list[Record]:
    """Make `count` different records, about half of a clinic and half of a shop."""
    whole_number(count, "count", 1, 10**6)
    rng = generator(seed)
    made: dict[str, Record] = {}
    while len(made) < count:
        record = _clinic(rng) if rng.random() < 0.5 else _customer(rng)
        made.setdefault(record.text, record)
    return list(made.values())


def _pick(choices: Any, rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _two(idea: tuple[str, ...], rng: np.random.Generator) -> tuple[str, str]:
    """Two wordings of one idea."""
    first, second = rng.permutation(len(idea))[:2].tolist()
    return idea[first], idea[second]


def _facts(rng: np.random.Generator) -> dict[str, str]:
    female = rng.random() < 0.5
    first, last = _pick(WOMEN if female else MEN, rng), _pick(SURNAMES, rng)
    digits = "".join(str(digit) for digit in rng.integers(10, size=2))
    return {
        "name": f"{first} {last}",
        "person": "woman" if female else "man",
        "he": "she" if female else "he",
        "him": "her" if female else "him",
        "his": "her" if female else "his",
        "age": str(int(rng.integers(19, 92))),
        "city": _pick(CITIES, rng),
        "job": _pick(JOBS, rng),
        "relative": _pick(RELATIVES, rng),
        "weekday": _pick(WEEKDAYS, rng),
        "number": str(int(rng.integers(2, 30))),
        "clinician": f"Dr {_pick(SURNAMES, rng)}",
        "product": _pick(customers.PRODUCTS, rng),
        "email": f"{first}.{last}{digits}@example.com".lower().replace("'", ""),
        "phone": f"555-01{digits}",
    }


def _clinic(rng: np.random.Generator) -> Record:
    facts = _facts(rng)
    facts["disease"] = disease = _pick(clinic.DISEASES, rng)
    facts["complaint"], facts["treatment"] = clinic.HINTS[disease]
    opening = _pick(_pick(clinic.OPENINGS, rng), rng)
    statement = _pick(_pick(clinic.STATEMENTS, rng), rng)
    matter, other = _two(_pick(clinic.MATTERS, rng), rng)
    middle = [statement, matter]
    if rng.random() < _HINTED:
        middle.append(_pick(_pick(clinic.HINT_LINES, rng), rng))
    middle = [middle[place] for place in rng.permutation(len(middle)).tolist()]
    closing = [_pick(_pick(clinic.CLOSINGS, rng), rng)] if rng.random() < _CONTACT else []
    text, spans = fill(" ".join([opening, *middle, *closing]), facts)
    return Record("clinic", text, tuple(spans), fill(f"Patient from {{city}}. {other}", facts)[0], disease)


def _customer(rng: np.random.Generator) -> Record:
    facts = _facts(rng)
    opening = _pick(_pick(customers.OPENINGS, rng), rng)
    matter, other = _two(_pick(customers.MATTERS, rng), rng)
    promise = [_pick(_pick(customers.PROMISES, rng), rng)] if rng.random() < _PROMISED else []
    closing = [_pick(_pick(customers.CLOSINGS, rng), rng)] if rng.random() < _CONTACT else []
    text, spans = fill(" ".join([opening, matter, *promise, *closing]), facts)
    query = fill(f"Customer in {{city}}, {{product}}. {other}", facts)[0]
    return Record("customer", text, tuple(spans), query)
