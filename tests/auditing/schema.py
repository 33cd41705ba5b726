"""The part of JSON Schema that docs/audit-schema.json uses, so that no package is needed to check it."""

from __future__ import annotations

import json
from pathlib import Path

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "audit-schema.json").read_text())
KINDS = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
    "null": type(None),
}  # fmt: skip
KNOWN = {
    "$schema", "title", "$defs", "type", "required", "properties", "additionalProperties", "items", "enum",
    "anyOf", "$ref", "minimum", "maximum", "minItems", "maxItems", "description",
}  # fmt: skip


def problems(value, schema=SCHEMA, where="$"):
    """Everything in `value` that the schema does not allow."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        return problems(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], where)
    if "anyOf" in schema:
        return min((problems(value, each, where) for each in schema["anyOf"]), key=len)
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r} is not one of {schema['enum']}"]
    kinds = schema.get("type", list(KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds):
        return [f"{where}: {type(value).__name__} is not {kinds}"]
    checks = {dict: _object, list: _array, int: _number, float: _number}
    return checks.get(type(value), lambda *_: [])(value, schema, where)


def _object(value, schema, where):
    known = schema.get("properties", {})
    found = [f"{where}: lacks {name}" for name in schema.get("required", []) if name not in value]
    if schema.get("additionalProperties") is False:
        found += [f"{where}: does not know {name}" for name in value if name not in known]
    for name in sorted(value.keys() & known.keys()):
        found += problems(value[name], known[name], f"{where}.{name}")
    return found


def _array(value, schema, where):
    fits = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9)
    found = [] if fits else [f"{where}: {len(value)} items"]
    for number, each in enumerate(value):
        found += problems(each, schema.get("items", {}), f"{where}[{number}]")
    return found


def _number(value, schema, where):
    fits = schema.get("minimum", value) <= value <= schema.get("maximum", value)
    return [] if fits else [f"{where}: {value} is out of range"]


def _is(value, kind):
    return isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))
