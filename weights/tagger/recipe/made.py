"""Values of every kind, listed and made up, and sentences that are written around them."""

from __future__ import annotations

import random
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from rows import HIDDEN, KINDS, Row, Segment

from sfumato.concepts.detectors.shapes import MONTHS, WEEKDAYS
from sfumato.concepts.lists import medical, organisations, people, places

_STARTS = "b br c ch d dr f g gr h j k kl l m n p r s sch sh st t tr v w y z al ar el en il or ul".split()
_MIDDLES = "a e i o u ai au ea ie oo ou ya".split()
_ENDS = "n r s l m t nd rt ck lla nna rro ssa ski vic sen son man berg ez ian eau oglu ova enko ura".split()
_TOWNS = (
    "ville ton burg ford port stad hausen ham wick dale grad nagar pur abad mouth haven fort view".split()
)
_LAST = "Group Holdings Partners Systems Labs Foods Media Capital Energy Motors Logistics Insurance".split()
_FORMS = "Inc Inc. Ltd LLC Corp Corporation GmbH AG plc S.A. Co".split()
_PLACES = "Hospital University Bank Clinic College School Institute Council Union Club Museum Court".split()
_STREETS = "Street St Road Rd Avenue Ave Lane Drive Court Place Way Boulevard Square".split()
_CODES = ("AB", "TX", "INV", "PT", "CASE", "POL", "REF", "CUST", "MRN", "ORD", "AC", "TKT", "DL", "CLM")


class Pools:
    """Where another value of a kind comes from: our lists, what the learning side labels, made-up ones."""

    def __init__(self, rows: Iterable[Row], more: Mapping[str, Iterable[str]]) -> None:
        seen: dict[str, dict[str, None]] = defaultdict(dict)
        for row in rows:
            for part, kind in row.segments:
                if kind not in (None, HIDDEN) and len(part) < 60 and "\n" not in part:
                    seen[str(kind)][part] = None
        for kind, values in more.items():
            seen[kind].update(dict.fromkeys(values))
        self._seen = {kind: tuple(values) for kind, values in seen.items()}
        self._made: dict[str, Callable[[random.Random], str]] = {
            "person": person, "location": location, "organisation": organisation, "date": date,
            "identifier": identifier, "phone": phone, "age": age,
            "disease": lambda rng: rng.choice(medical.DISEASES),
            "symptom": lambda rng: rng.choice(medical.SYMPTOMS),
            "drug": lambda rng: rng.choice(medical.DRUGS),
        }  # fmt: skip

    def value(self, kind: str, given: str, rng: random.Random) -> str:
        """Another value; labels that share a number and a street keep their kind of value."""
        seen = self._seen.get(kind, ())
        drawn = rng.choice(seen) if seen and rng.random() < 0.5 else self._made[kind](rng)
        if kind == "age" and given.isdigit():
            return str(rng.randrange(1, 99))
        # A weekday stands where a weekday stood: elsewhere the sentence would lie about its own words.
        if kind == "date" and given.isalpha() and not drawn.isalpha():
            return rng.choice(WEEKDAYS if given.lower() in _DAYS else MONTHS)
        return drawn


_DAYS = {day.lower() for day in WEEKDAYS}


def syllables(rng: random.Random, ends: Iterable[str] = _ENDS) -> str:
    """A word that nobody listed."""
    middle = "".join(rng.choice(_STARTS) + rng.choice(_MIDDLES) for _ in range(rng.choice((1, 1, 2))))
    return (middle + rng.choice(tuple(ends))).capitalize()


def person(rng: random.Random) -> str:
    """A name in one of many forms."""
    first = rng.choice(people.FIRST_NAMES) if rng.random() < 0.65 else syllables(rng)
    last = rng.choice(people.SURNAMES) if rng.random() < 0.45 else syllables(rng)
    initial = rng.choice(string.ascii_uppercase)
    return rng.choice((
        f"{first} {last}", f"{first} {last}", f"{first} {last}", first, last, f"{first} {initial}. {last}",
        f"{initial}. {last}", f"{last}, {first}", f"{first} {last}-{syllables(rng)}", f"{last} {initial}.",
        f"{first} de {last}", f"{first} O'{last}", f"{first} {last} Jr.",
    ))  # fmt: skip


def location(rng: random.Random) -> str:
    """A place or an address."""
    town = rng.choice(places.PLACES) if rng.random() < 0.5 else syllables(rng, _TOWNS)
    street = f"{rng.randrange(1, 9999)} {syllables(rng)} {rng.choice(_STREETS)}"
    code = f"{rng.randrange(10000, 99999)}"
    state = rng.choice(places.STATES)
    return rng.choice((
        town, town, town, town, f"{town}, {state}", f"{town}, {rng.choice(places.COUNTRIES)}", street,
        f"{street}, {town}, {state} {code}", f"{street}\n{town} {code}", f"North {town}", f"{town} {code}",
        f"{street} Apt. {rng.randrange(1, 99)}, {town}", f"Lake {syllables(rng)}", f"{syllables(rng)} County",
    ))  # fmt: skip


def organisation(rng: random.Random) -> str:
    """A company, an office, a club."""
    name = syllables(rng)
    town = rng.choice(places.CITIES)
    return rng.choice((
        rng.choice(organisations.ORGANISATIONS), rng.choice(organisations.ORGANISATIONS),
        f"{name} {rng.choice(_LAST)}", f"{name} {rng.choice(_FORMS)}", f"{name}-{syllables(rng)}",
        f"{name} {rng.choice(_LAST)} {rng.choice(_FORMS)}", f"{town} {rng.choice(_PLACES)}",
        f"{rng.choice(_PLACES)} of {town}", f"{name}, {syllables(rng)} and {syllables(rng)}",
        f"{rng.choice(people.SURNAMES)} & Sons", f"{town} United", name,
        "".join(rng.choices(string.ascii_uppercase, k=rng.choice((3, 4)))),
    ))  # fmt: skip


def date(rng: random.Random) -> str:
    """A day, a month, a year, in digits or words."""
    day, number, year = rng.randrange(1, 29), rng.randrange(1, 13), rng.randrange(1930, 2031)
    month = MONTHS[number - 1].capitalize()
    return rng.choice((
        f"{year}-{number:02d}-{day:02d}", f"{day} {month} {year}", f"{month} {day}, {year}", f"{month} {day}",
        f"{number}/{day}/{year}", f"{day}.{number}.{year}", f"{month} {year}", f"{day} {month[:3]} {year}",
        rng.choice(WEEKDAYS).capitalize(), f"{number:02d}/{day:02d}/{year % 100:02d}", str(year),
        f"{day}{'st' if day == 1 else 'th'} of {month}", f"next {rng.choice(WEEKDAYS).capitalize()}",
        "yesterday", "last week", f"{year}-{number:02d}-{day:02d} {day % 12:02d}:30:{day:02d}", month,
    ))  # fmt: skip


def identifier(rng: random.Random) -> str:
    """A number or code that stands for somebody or something of his."""

    def digits(count: int) -> str:
        return "".join(rng.choices(string.digits, k=count))

    mixed = "".join(rng.choices(string.ascii_uppercase + string.digits, k=rng.randrange(6, 14)))
    return rng.choice((
        digits(rng.randrange(6, 13)), digits(16), f"{digits(4)} {digits(4)} {digits(4)} {digits(4)}",
        f"{rng.choice(_CODES)}-{digits(6)}", f"{rng.choice(_CODES)}{digits(8)}", f"#{digits(6)}", mixed,
        f"{digits(3)}-{digits(2)}-{digits(4)}", f"{rng.choice(('GB', 'DE', 'ES', 'FR'))}{digits(20)}",
        ".".join(str(rng.randrange(1, 255)) for _ in range(4)), f"{digits(4)}-{rng.choice(_CODES)}-{digits(3)}",
        ":".join(f"{rng.randrange(256):02x}" for _ in range(6)), f"{syllables(rng).lower()}{digits(2)}",
        "0x" + "".join(rng.choices("0123456789abcdefABCDEF", k=40)), f"{digits(3)}-{digits(3)}-{digits(2)}-{digits(2)}",
    ))  # fmt: skip


def phone(rng: random.Random) -> str:
    """A telephone number as people write it."""

    def digits(count: int) -> str:
        return "".join(rng.choices(string.digits, k=count))

    return rng.choice((
        f"+1-{digits(3)}-{digits(3)}-{digits(4)}", f"({digits(3)}) {digits(3)}-{digits(4)}",
        f"{digits(3)}.{digits(3)}.{digits(4)}", f"0{digits(3)} {digits(6)}", f"+{digits(2)} {digits(3)} {digits(7)}",
        f"{digits(3)}-{digits(3)}-{digits(4)}x{digits(4)}", digits(10), f"{digits(2)}-{digits(2)}-{digits(2)}-{digits(2)}",
        f"001-{digits(3)}-{digits(3)}-{digits(4)}", f"+44 20 {digits(4)} {digits(4)}",
    ))  # fmt: skip


def age(rng: random.Random) -> str:
    """How old somebody is."""
    years = rng.randrange(1, 99)
    return rng.choice(
        (f"{years}-year-old", f"{years} years old", f"{years} y.o.", f"{years}-year old", str(years))
    )


_TEMPLATES = """
{person} moved from {location} to {location} in {date}.|my name is {person} and i live in {location}
Please call {person} at {phone} before {date}.|Dear {person}, your order {identifier} was shipped to {location}.
{person} works for {organisation} in {location}.|{organisation} named {person} as its new chief on {date}.
The patient, {person}, is a {age} woman with {disease}.|{age} man from {location} with {symptom} since {date}.
She takes {drug} for {disease} and {drug} for {symptom}.|He was started on {drug} after {symptom} and {symptom}.
No history of {disease} or {disease}; denies {symptom}.|Family history: mother with {disease}, father with {disease}.
Customer {identifier} ({person}) complained about {organisation}.|Card {identifier} was charged on {date} in {location}.
Hi {person}, can you send the contract to {organisation} by {date}? Thanks, {person}
My account number is {identifier} and my phone is {phone}.|Reference {identifier}: claim of {person}, born {date}.
{person} and {person} met {person} in {location} on {date}.|{location}, {date}: {organisation} said profits rose.
i saw dr {person} at {organisation} last time, he gave me {drug}|does anybody know whether {drug} helps with {disease}?
Name: {person}\nAddress: {location}\\nPhone: {phone}\\nDate of birth: {date}\\nSSN: {identifier}
Patient: {person} MRN: {identifier} DOB: {date} Age: {age}\nDiagnosis: {disease}\\nMedication: {drug}
The meeting with {organisation} was moved to {date}.|{organisation} sued {organisation} over a plant in {location}.
We flew to {location} and drove on to {location}.|the weather in {location} was lovely, unlike {location}
Ticket {identifier} opened by {person} on {date}, assigned to {person}.|ip {identifier} logged in as {identifier}
My daughter is {age} and has {disease}.|At the age of {age} he still works at {organisation}.
Allergies: {drug}. Past medical history: {disease}, {disease}, {symptom}.|{drug} 20 mg daily was stopped because of {symptom}.
{person} ({organisation}) beat {person} ({organisation}) in {location}.|Results from {location} on {date}: {organisation} 2 {organisation} 1
Could {person} from {organisation} sign policy {identifier}?|Send it to {location}, attention of {person}.
{person}'s brother lives near {location}.|Mr. {person} and Mrs. {person} of {location} bought shares of {organisation}.
It was {date} when {person} first complained of {symptom}.|I was diagnosed with {disease} in {date} and switched to {drug}.
the transfer {identifier} to iban {identifier} failed|passport {identifier}, issued {date}, {location}
{person} said: "{organisation} will open in {location} next year."|According to {person}, {organisation} left {location} in {date}.
""".replace("\n", "\n").replace("\\\\n", "\n")
_PLAIN = """
The committee will look at the proposal again next time.|i really like this phone, the battery lasts forever
Prices may rise if the weather does not change.|Please turn the valve to the left and wait for 10 minutes.
What is the best way to learn how to cook rice?|The results were 3 to 1 in favour of the second design.
It costs $45.00, or 30 percent less than before.|She may be right, but he will not hear of it.
A man is playing the guitar on a stage.|The grace period ends when the will is read, and the rose wilts.
The dog ran over the hill and the cat looked on.|I bought 12 eggs, 2 litres of milk and a bag of flour.
Chapter 3 shows how the temperature depends on pressure.|The lungs are clear and the heart is regular.
The abdomen is soft and the incision was closed in layers.|He is alert and oriented, in no distress.
""".strip()


def sentences(count: int, pools: Pools, rng: random.Random) -> Iterator[Row]:
    """Sentences of our own with values put in, one to three in a row."""
    templates = [line for row in _TEMPLATES.strip().splitlines() for line in row.split("|")]
    plain = [line for row in _PLAIN.splitlines() for line in row.split("|")]
    for _ in range(count):
        chosen = [
            rng.choice(templates if rng.random() < 0.85 else plain) for _ in range(rng.choice((1, 1, 2, 3)))
        ]
        yield Row(tuple(_filled(" ".join(chosen), pools, rng)), frozenset(KINDS))


def _filled(template: str, pools: Pools, rng: random.Random) -> Iterator[Segment]:
    for literal, kind, _, _ in string.Formatter().parse(template):
        if literal:
            yield literal, None
        if kind:
            given = "2020-01-01" if kind == "date" else ""
            yield pools.value(kind, given, rng), kind
