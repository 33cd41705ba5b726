"""Whether a card is one: the part of JSON Schema that `card-schema.json` uses, with nothing beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "integer": (int,),
    "number": (int, float), "null": (type(None),),
}  # fmt: skip
_KNOWN = {
    "$schema", "title", "description", "$defs", "$ref", "type", "enum", "required", "properties",
    "additionalProperties", "items", "maxItems", "minItems", "minimum", "maximum", "maxLength", "pattern",
}  # fmt: skip
MEASURED = "measured"
Schema = Mapping[str, Any]


@cache
def card_schema() -> dict[str, Any]:
    """The schema that ships with the package."""
    found: dict[str, Any] = json.loads((files("sfumato.cards") / "card-schema.json").read_text())
    return found


def problems(value: Any, part: str | None = None, *, unsigned: bool = False) -> list[str]:
    """Everything in a card, or in a part of one, that the schema does not allow: where, and what is wrong.

    Args:
        value: the card.
        part: a definition of the schema, in the place of the whole.
        unsigned: whether signer and signature are still to come.
    """
    schema: Schema = card_schema() if part is None else card_schema()["$defs"][part]
    found = _problems(value, schema, "card" if part is None else part)
    late = ("card.signer", "card.signature")
    return [each for each in found if not (unsigned and each.startswith(late))]


def _problems(value: Any, schema: Schema, where: str) -> list[str]:
    if unknown := set(schema) - _KNOWN:
        raise AssertionError(f"card-schema.json uses {unknown}, which nothing checks")
    if "$ref" in schema:
        return _problems(value, card_schema()["$defs"][schema["$ref"].rpartition("/")[2]], where)
    if "enum" in schema:
        # Of one type too: True equals 1.
        same = any(type(value) is type(each) and value == each for each in schema["enum"])
        return [] if same else [f"{where} is none of what it may be"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is(value, kind) for kind in kinds):
        return [f"{where} is of another type"]
    checks: dict[type, Callable[[Any, Schema, str], list[str]]] = {
        dict: _object, list: _array, str: _string, int: _number, float: _number
    }  # fmt: skip
    return checks[type(value)](value, schema, where) if type(value) in checks else []


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _object(value: dict[str, Any], schema: Schema, where: str) -> list[str]:
    known = schema["properties"]
    found = [f"{where}.{name} is missing" for name in schema["required"] if name not in value]
    # Names that a stranger chose are counted, and not shown.
    if others := len(value.keys() - known.keys()):
        found.append(f"{where} has {others} fields that no card has")
    for name in sorted(value.keys() & known.keys()):
        found += _problems(value[name], known[name], f"{where}.{name}")
    return found


def _array(value: list[Any], schema: Schema, where: str) -> list[str]:
    if not schema.get("minItems", 0) <= len(value) <= schema["maxItems"]:
        return [f"{where} has {len(value)} items"]
    return [
        wrong
        for number, each in enumerate(value)
        for wrong in _problems(each, schema["items"], f"{where}[{number}]")
    ]


def _string(value: str, schema: Schema, where: str) -> list[str]:
    if len(value) > schema["maxLength"]:
        return [f"{where} is longer than {schema['maxLength']} characters"]
    if not re.fullmatch(schema["pattern"], value):
        return [f"{where} has characters that it may not have"]
    return []


def _number(value: float, schema: Schema, where: str) -> list[str]:
    fits = schema["minimum"] <= value <= schema["maximum"]
    return [] if fits else [f"{where} is out of range"]
