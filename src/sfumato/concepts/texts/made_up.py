"""Makes up another value of the same shape: another date, another number, another person."""

from __future__ import annotations

import re

import numpy as np

from sfumato.concepts.detectors import checks
from sfumato.concepts.detectors.dictionary import folded
from sfumato.concepts.detectors.shapes import MONTHS, WEEKDAYS
from sfumato.concepts.lists import people
from sfumato.concepts.texts.swaps import pick

# Words of one group can stand where another of the group stood: forty-two, forty-nine.
_NUMBERS = (
    ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "eighteen", "nineteen"),
    ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
    ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties", "teens"),
    ("hundred", "thousand", "million", "billion", "dozen"),
    ("hundreds", "thousands", "millions", "billions", "dozens"),
    ("first", "second", "third", "fourth", "fifth"),
)
_RELATIVE = (
    "today",
    "yesterday",
    "tomorrow",
    "last week",
    "next week",
    "last month",
    "next month",
    "last year",
)
_TRIES = 20
_DOMAINS = ("example.com", "example.org", "example.net", "mail.example.com")
_TITLES = re.compile(r"(?i)(?:mr|mrs|ms|miss|dr|prof|sir)\b\.? ")


def another_number(found: str, rng: np.random.Generator) -> str:
    """Draw new digits or number words in the same shape; a plain number for what has neither."""
    for _ in range(_TRIES):
        drawn = _same_shape(found, rng)
        if folded(drawn) != folded(found):
            return drawn
    # A tagger may take "old" for an age, or "No." for a number: nothing in it can be drawn anew.
    return str(rng.integers(10, 100))


def _same_shape(found: str, rng: np.random.Generator) -> str:
    """Draw digits or number words once; check digits that fitted fit again."""
    if not any(mark.isdecimal() for mark in found):
        return re.sub(r"[^\W\d_]+", lambda word: _another_word(word.group(), rng), found)
    drawn = "".join(_another_digit(found, place, rng) for place in range(len(found)))
    if checks.luhn(found):
        return next(
            _last_digit(drawn, digit) for digit in "0123456789" if checks.luhn(_last_digit(drawn, digit))
        )
    if checks.iban(found):
        return next(drawn[:2] + f"{two:02d}" + drawn[4:] for two in range(2, 99) if _fits(drawn, two))
    if checks.ip(found) and "." in found:
        return ".".join(str(part) for part in rng.integers(1, 223, size=4))
    return drawn


def another_date(found: str, rng: np.random.Generator) -> str:
    """Draw new days, months and years in the same notation."""
    drawn = re.sub(r"\d+|[^\W\d_]+", lambda part: _another_date_part(part.group(), rng), found)
    if folded(drawn) == folded(found):
        return pick(_RELATIVE, rng)
    # 3rd stays a possible ordinal whatever the digit became.
    return re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "th", drawn)


def another_person(found: str, rng: np.random.Generator) -> str:
    """Draw a name with as many parts, behind the same title, or an address for an address."""
    if "@" in found:
        address = another_email(found, rng)
        return f"@{address.partition('@')[0]}" if found.startswith("@") else address
    title = _TITLES.match(found)
    words = found[title.end() if title else 0 :].split()
    if len(words) > 1:
        first = pick(people.FIRST_NAMES, rng)
        first = first[0] + "." if len(words[0].strip(".")) == 1 else first
        name = f"{first} {pick(people.SURNAMES, rng)}"
    else:
        family = bool(words) and folded(words[0]) in _FAMILY
        name = pick(people.SURNAMES if family or title else people.FIRST_NAMES, rng)
    return (title.group() if title else "") + name


def another_email(found: str, rng: np.random.Generator) -> str:
    """Draw an address at a domain that belongs to nobody."""
    first, last = pick(people.FIRST_NAMES, rng), pick(people.SURNAMES, rng)
    letters = re.sub(r"[^a-z.]", "", folded(f"{first}.{last}"))
    return f"{letters}{int(rng.integers(10, 100))}@{pick(_DOMAINS, rng)}"


def another_sex(found: str, rng: np.random.Generator) -> str:
    """Return the counterpart: woman for man, F for M."""
    pairs = {
        folded(a): b
        for female, male in (*people.SEXES, ("F", "M"))
        for a, b in ((female, male), (male, female))
    }
    word = folded(found)
    if word in pairs or f"{word}." in pairs:
        return pairs.get(word) or pairs[f"{word}."].rstrip(".")
    return pick(people.FEMALE + people.MALE, rng)


_FAMILY = frozenset(folded(name) for name in people.SURNAMES)


def _another_word(word: str, rng: np.random.Generator) -> str:
    return pick(next((group for group in _NUMBERS if folded(word) in group), (word,)), rng)


def _another_digit(found: str, place: int, rng: np.random.Generator) -> str:
    mark = found[place]
    before = found[place - 1] if place else ""
    # A leading zero and a country code say which kind of number it is.
    if not mark.isdecimal() or before == "+" or (mark == "0" and not before.isdecimal()):
        return mark
    return str(rng.integers(0 if before.isdecimal() else 1, 10))


def _last_digit(number: str, digit: str) -> str:
    return number[:-1] + digit


def _fits(number: str, two: int) -> bool:
    return checks.iban(number[:2] + f"{two:02d}" + number[4:])


def _another_date_part(part: str, rng: np.random.Generator) -> str:
    if part.isdecimal():
        if len(part) > 2:
            return str(rng.integers(1950, 2030))
        # At most twelve: a day and a month alike, whichever it is.
        return f"{rng.integers(1, 13):02d}" if len(part) == 2 else str(rng.integers(1, 10))
    for names in (MONTHS, WEEKDAYS):
        known = next(
            (name for name in names if len(part) > 2 and folded(name).startswith(folded(part))), None
        )
        if known:
            short = len(part) < len(known)
            return pick([name[:3] if short else name for name in names if name != known], rng)
    return part
