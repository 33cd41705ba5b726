"""Reading what is asked of a sealed collection, rule by rule; no message repeats what was sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sfumato.errors import InputError
from sfumato.server.http.problems import Problem
from sfumato.server.http.requests import checked_text, read_object, wrong_value
from sfumato.server.settings import GatewaySettings
from sfumato.stores.rows import FIELD, Metadata, Scalar, checked_fields, checked_ids, checked_where

T = TypeVar("T")
MOST_HITS = 1000
"""Hits that one request may ask for, over all its queries."""
MOST_QUERIES = 64
MOST_READ = 256
"""Documents that are read at once."""
_MOST_FIELDS, _MOST_VALUES = 64, 64
_VALUES = "must hold texts without NUL, whole numbers of 64 bits, finite numbers, true and false"

_TEXT = {"type": "string"}
_QUERY = {"type": "string", "pattern": r"\S"}
_NAMES = {"pattern": f"^{FIELD.pattern}$"}
_IDS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 512}, "minItems": 1}
_SCALAR = {"type": ["string", "number", "boolean"]}
_FIELDS = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
    "propertyNames": _NAMES,
    "maxProperties": _MOST_FIELDS,
}
DOCUMENTS: dict[str, Any] = {
    "type": "object",
    "required": ["ids", "texts"],
    "additionalProperties": False,
    "properties": {
        "ids": {**_IDS, "description": "One a text; a document with the same id is replaced."},
        "texts": {"type": "array", "items": _TEXT, "minItems": 1},
        "metadata": {"type": "array", "items": _FIELDS},
    },
}
READ: dict[str, Any] = {
    "type": "object",
    "required": ["ids"],
    "additionalProperties": False,
    "properties": {"ids": {**_IDS, "maxItems": MOST_READ}},
}
DELETE: dict[str, Any] = {
    "type": "object",
    "required": ["ids"],
    "additionalProperties": False,
    "properties": {
        "ids": _IDS,
        "erase": {
            "type": "boolean",
            "default": False,
            "description": "Destroy the salts too, so that copies of the store open nothing of them.",
        },
    },
}
SEARCH: dict[str, Any] = {
    "type": "object",
    "oneOf": [{"required": ["query"]}, {"required": ["queries"]}],
    "additionalProperties": False,
    "properties": {
        "query": {**_QUERY, "description": "A text to look for; or `queries`."},
        "queries": {"type": "array", "items": _QUERY, "minItems": 1, "maxItems": MOST_QUERIES},
        "k": {"type": "integer", "minimum": 1, "maximum": MOST_HITS, "default": 10},
        "where": {
            "type": "object",
            "description": "Fields and the value each must have, or a list of values it may have.",
            "propertyNames": _NAMES,
            "maxProperties": _MOST_FIELDS,
            "additionalProperties": {
                "anyOf": [
                    _SCALAR,
                    {"type": "array", "items": _SCALAR, "minItems": 1, "maxItems": _MOST_VALUES},
                ]
            },
        },
    },
}


@dataclass(frozen=True, slots=True, repr=False)
class NewDocuments:
    """Documents to seal."""

    ids: list[str]
    texts: list[str]
    metadata: list[Metadata] | None


@dataclass(frozen=True, slots=True, repr=False)
class GoneDocuments:
    """Documents to take out."""

    ids: list[str]
    erase: bool


@dataclass(frozen=True, slots=True, repr=False)
class SealedSearch:
    """What to look for."""

    queries: list[str]
    k: int
    where: Mapping[str, Scalar | list[Scalar]]


def read_documents(body: bytes | bytearray, settings: GatewaySettings) -> NewDocuments:
    """Check a request to add documents."""
    found = _object(body, DOCUMENTS)
    ids = _ids(found.get("ids"), settings.max_batch)
    texts = _list(found, "texts", settings.max_batch)
    if len(texts) != len(ids):
        raise wrong_value("texts", f"must be one an id; found {len(texts)} for {len(ids)} ids")
    for row, text in enumerate(texts):
        checked_text(text, "texts", row, settings)
    metadata = None
    if found.get("metadata") is not None:
        given = _list(found, "metadata", settings.max_batch)
        if len(given) != len(ids):
            raise wrong_value("metadata", f"must have one entry an id; found {len(given)} for {len(ids)} ids")
        metadata = [_fields(each, row) for row, each in enumerate(given)]
    return NewDocuments(ids, texts, metadata)


def read_ids(body: bytes | bytearray) -> list[str]:
    """Check a request for documents."""
    return _ids(_object(body, READ).get("ids"), MOST_READ)


def read_gone(body: bytes | bytearray, settings: GatewaySettings) -> GoneDocuments:
    """Check a request to take documents out."""
    found = _object(body, DELETE)
    erase = found.get("erase", False)
    if not isinstance(erase, bool):
        raise wrong_value("erase", "must be true or false")
    return GoneDocuments(_ids(found.get("ids"), settings.max_batch), erase)


def one_id(given: str) -> list[str]:
    """Check an id out of an address."""
    return _ids([given], 1)


def read_search(body: bytes | bytearray, settings: GatewaySettings) -> SealedSearch:
    """Check a search."""
    found = _object(body, SEARCH)
    if ("query" in found) == ("queries" in found):
        raise wrong_value("query", "or `queries` must be given, and not both")
    queries = [found["query"]] if "query" in found else _list(found, "queries", MOST_QUERIES)
    for row, text in enumerate(queries):
        checked_text(text, "queries", row, settings)
        if not text.strip():
            raise wrong_value("queries", f"row {row} must hold more than blanks")
    k = found.get("k", 10)
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_HITS // len(queries):
        most = MOST_HITS // len(queries)
        raise wrong_value("k", f"must be a whole number from 1 to {most} for {len(queries)} queries")
    return SealedSearch(queries, k, _where(found.get("where")))


def _object(body: bytes | bytearray, schema: dict[str, Any]) -> dict[str, Any]:
    """The body, without fields that mean nothing: a filter that is misspelt must not be passed over."""
    found = read_object(body)
    if not set(found) <= set(schema["properties"]):
        known = ", ".join(schema["properties"])
        raise Problem(400, f"The body must hold nothing but {known}.", code="invalid_value")
    return found


def _list(found: dict[str, Any], name: str, most: int) -> list[Any]:
    given = found.get(name)
    if not isinstance(given, list) or not given:
        raise wrong_value(name, "must be a list that is not empty")
    if len(given) > most:
        raise wrong_value(name, f"must have at most {most} entries; found {len(given)}")
    return given


def _ids(given: Any, most: int) -> list[str]:
    listed = _list({"ids": given}, "ids", most)
    return _checked("ids", lambda: checked_ids(listed))


def _fields(given: Any, row: int) -> Metadata:
    _named(given, "metadata", f"row {row} must be an object")
    return _checked("metadata", lambda: checked_fields(given, ""), f"row {row} {_VALUES}")


def _where(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    _named(given, "where", "must be an object")
    for value in given.values():
        several = isinstance(value, list) and 0 < len(value) <= _MOST_VALUES
        if not several and not isinstance(value, str | int | float):
            rule = f"must give each field a value or a list of 1 to {_MOST_VALUES} values"
            raise wrong_value("where", rule)
    return _checked("where", lambda: dict(checked_where(given)), _VALUES)


def _named(given: Any, name: str, rule: str) -> None:
    """Refuse what is no object, has too many fields, or names some as no store can: without showing those."""
    if not isinstance(given, dict):
        raise wrong_value(name, rule)
    if len(given) > _MOST_FIELDS or not all(FIELD.fullmatch(each) for each in given):
        words = "a letter or _ and up to 62 letters, digits, _ and -"
        raise wrong_value(name, f"must have at most {_MOST_FIELDS} fields, named by {words}")


def _checked(name: str, check: Callable[[], T], rule: str = "") -> T:
    try:
        return check()
    except InputError as error:
        if rule:
            raise wrong_value(name, rule) from None
        raise Problem(400, str(error), code="invalid_value", param=name) from None
