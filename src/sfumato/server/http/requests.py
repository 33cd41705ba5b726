"""Reading a request for embeddings: every rule is checked here, and no message repeats what was sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sfumato.server.http.problems import Problem
from sfumato.server.settings import GatewaySettings
from sfumato.server.tenancy.tokens import Tokens

Encoding = Literal["float", "base64"]
InputType = Literal["document", "query", "clean_query"]

_TEXT = {"type": "string"}
_TOKENS = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}
REQUEST_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["input"],
    "properties": {
        "input": {
            "description": "A text, texts, the tokens of a text, or lists of tokens.",
            "anyOf": [
                _TEXT,
                {"type": "array", "items": _TEXT, "minItems": 1},
                _TOKENS,
                {"type": "array", "items": _TOKENS, "minItems": 1},
            ],
        },
        "model": {
            "type": ["string", "null"],
            "description": "Any name: the key decides which protector answers.",
        },
        "encoding_format": {"type": "string", "enum": list(get_args(Encoding)), "default": "float"},
        "dimensions": {
            "type": "integer",
            "minimum": 1,
            "description": "Keep the first so many numbers of the released vector, at unit length again.",
        },
        "input_type": {
            "type": "string",
            "enum": list(get_args(InputType)),
            "default": "document",
            "description": "Documents have sticky noise; queries have fresh noise and spend each time; clean "
            "queries have none and promise nothing: they need the operator's consent.",
        },
        "user": {"type": ["string", "null"], "description": "Accepted and ignored."},
    },
}


@dataclass(frozen=True, slots=True, repr=False)
class EmbeddingRequest:
    """What a client asks for."""

    texts: list[str]
    encoding: Encoding = "float"
    dimensions: int | None = None
    role: InputType = "document"


def read_request(
    body: bytes | bytearray, settings: GatewaySettings, tokens: Tokens | None, dim: int
) -> EmbeddingRequest:
    """Check a request's body; `tokens` decodes lists of tokens, `dim` is the longest vector there is."""
    found = read_object(body)
    return EmbeddingRequest(
        _texts(found, settings, tokens),
        _choice(found, "encoding_format", get_args(Encoding), "float"),
        _dimensions(found, dim),
        _choice(found, "input_type", get_args(InputType), "document"),
    )


def read_object(body: bytes | bytearray) -> dict[str, Any]:
    """The JSON object in a body."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):  # from None: a decode error carries the whole body
        raise Problem(400, "The body must be JSON in UTF-8.", code="invalid_json") from None
    if not isinstance(found, dict):
        raise Problem(400, "The body must be a JSON object.", code="invalid_json")
    for name in ("model", "user"):
        if not isinstance(found.get(name, ""), str | None):
            raise wrong_value(name, "must be a string")
    return found


def _texts(found: dict[str, Any], settings: GatewaySettings, tokens: Tokens | None) -> list[str]:
    given = found.get("input")
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list) or not given:
        raise wrong_value("input", "must be a string or a list that is not empty")
    if all(_is_token(each) for each in given):
        given = [given]
    if len(given) > settings.max_batch:
        raise wrong_value("input", f"must hold at most {settings.max_batch} texts; found {len(given)}")
    if all(isinstance(each, str) for each in given):
        texts = given
    elif all(isinstance(each, list) and each and all(map(_is_token, each)) for each in given):
        texts = _decoded(given, settings, tokens)
    else:
        raise wrong_value("input", "must hold only strings, or only lists of tokens")
    for row, text in enumerate(texts):
        checked_text(text, "input", row, settings)
    return texts


def checked_text(text: Any, name: str, row: int, settings: GatewaySettings) -> None:
    """Refuse what is no text, too long, or not to be written in UTF-8."""
    if not isinstance(text, str):
        raise wrong_value(name, f"row {row} must be a string")
    if len(text) > settings.max_characters:
        raise wrong_value(name, f"row {row} must have at most {settings.max_characters} characters")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise wrong_value(name, f"row {row} holds half of a surrogate pair")


def _decoded(rows: list[list[int]], settings: GatewaySettings, tokens: Tokens | None) -> list[str]:
    if tokens is None:
        raise wrong_value(
            "input", "must be text: this gateway's encoder has no tokenizer to decode tokens with"
        )
    for row, each in enumerate(rows):
        if len(each) > settings.max_characters:
            raise wrong_value("input", f"row {row} must have at most {settings.max_characters} tokens")
    texts = []
    for row, each in enumerate(rows):
        text = tokens.decode(each)
        if text is None:
            raise wrong_value(
                "input", f"row {row} holds tokens that are not of this encoder's tokenizer; send text instead"
            )
        texts.append(text)
    return texts


def _dimensions(found: dict[str, Any], dim: int) -> int | None:
    given = found.get("dimensions")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= dim:
        raise wrong_value("dimensions", f"must be a whole number from 1 to {dim}")
    return given


def _choice(found: dict[str, Any], name: str, choices: tuple[str, ...], default: str) -> Any:
    given = found.get(name)
    if given is None:
        return default
    if not isinstance(given, str) or given not in choices:
        raise wrong_value(name, f"must be one of {', '.join(choices)}")
    return given


def _is_token(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def wrong_value(name: str, rule: str) -> Problem:
    """A field that breaks a rule."""
    return Problem(400, f"`{name}` {rule}.", code="invalid_value", param=name)
