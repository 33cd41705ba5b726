"""Names, numbers and places of a text, by rules that know nothing of the reader, and how many it found.

Numbers: words with a digit. Places: countries (ISO 3166), cities that name a time zone, the states of the
USA. Names: words with a capital inside a sentence that are no place; of texts written with capitals alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np

from sfumato.metrics.intervals import mean_interval

KINDS = ("names", "numbers", "places")
STATES = (
    "alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho "
    "illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota "
    "mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah "
    "vermont virginia washington wisconsin wyoming"
)
ZONES = Path("/usr/share/zoneinfo")
CONTINENTS = (
    "Africa",
    "America",
    "Antarctica",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)
NO_PLACES = frozenset("center central east eastern general north south west western".split())
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9'’&-]*")
ORDINARY = frozenset(
    "i i'm i'll i've i'd mr mrs ms dr st the a an and of in on at to for by from with but or as it".split()
)


@lru_cache
def gazetteer() -> frozenset[str]:
    """Places of one word, in lower case."""
    found = set(STATES.split())
    for line in (ZONES / "iso3166.tab").read_text().splitlines():
        if not line.startswith("#"):
            found.add(line.partition("\t")[2].lower())
    for line in (ZONES / "tzdata.zi").read_text().splitlines():
        parts = line.split()
        zone = {"Z": parts[1:2], "L": parts[2:3]}.get(parts[0] if parts else "", [])
        continent, _, city = zone[0].rpartition("/") if zone else ("", "", "")
        if continent.partition("/")[0] in CONTINENTS:
            found.add(city.replace("_", " ").lower())
    return frozenset(place for place in found - NO_PLACES if place.isalpha() and len(place) > 3)


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return [word.lower() for word in WORD.findall(text)]


def entities(text: str) -> dict[str, list[str]]:
    """The words of each kind in a text as it was written."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    cased = text != text.lower() and text != text.upper()
    fresh = True
    for match in WORD.finditer(text):
        word = match.group()
        low = word.lower().removesuffix("'s").removesuffix("’s")
        if any(letter.isdigit() for letter in word):
            found["numbers"].append(low)
        elif low in gazetteer():
            found["places"].append(low)
        elif cased and not fresh and word[0].isupper() and low not in ORDINARY:
            found["names"].append(low)
        fresh = text[match.end() : match.end() + 2].strip()[:1] in (".", "!", "?", ":", '"')
    return found


def recalls(written: list[str], read: list[str]) -> dict[str, dict[str, object]]:
    """Of each kind: the share found, a mean over the sentences that hold some, with its 95 % interval."""
    found: dict[str, dict[str, object]] = {}
    shares: dict[str, list[float]] = {kind: [] for kind in KINDS}
    count = dict.fromkeys(KINDS, 0)
    for text, other in zip(written, read, strict=True):
        own = set(words(other)) | {word.removesuffix("'s") for word in words(other)}
        own |= {part for word in words(other) for part in re.split(r"[-'’&]", word)}
        for kind, wanted in entities(text).items():
            if wanted:
                count[kind] += len(wanted)
                hit = [
                    word in own or all(part in own for part in re.split(r"[-'’&]", word)) for word in wanted
                ]
                shares[kind].append(100.0 * float(np.mean(hit)))
    for kind in KINDS:
        if shares[kind]:
            values = np.array(shares[kind])
            found[kind] = {
                "recall": float(values.mean()),
                "interval": mean_interval(values),
                "sentences": len(values),
                "words": count[kind],
            }
    return found
