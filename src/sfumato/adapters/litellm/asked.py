"""Reading a request for embeddings as the proxy hands it over: every rule is here, no content in a message.

The fields of OpenAI's protocol are read; a field beside them, which the proxy would hand on to the upstream
as it is, is refused. Nothing of it stays where the proxy logs it until it has been made neutral.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, get_args

from sfumato.adapters.litellm.settings import GuardrailSettings
from sfumato.embedders.texts import checked_texts
from sfumato.errors import InputError
from sfumato.protector import Role

ENCODINGS = ("float", "base64")
FIELDS = frozenset({"model", "input", "encoding_format", "dimensions", "input_type", "user"})
REROUTING = frozenset({
    "api_base", "base_url", "complete_response", "context_window_fallback_dict", "custom_llm_provider",
    "fallbacks", "headers", "mock_response", "mock_timeout", "model_list", "prompt_id", "prompt_variables",
    "provider_specific_header", "stream", "use_litellm_proxy",
})  # fmt: skip
"""Settings of LiteLLM by which a request could say where texts go, or what stands for an answer."""


@dataclass(frozen=True, slots=True, repr=False)
class AskedEmbeddings:
    """What a client asks for."""

    texts: list[str]
    encoding: str = "float"
    dimensions: int | None = None
    role: Role = "document"


def taken_out(data: MutableMapping[str, Any], internal: frozenset[str]) -> tuple[Any, bool]:
    """Take the texts out of a request, and out of the copies of it that the proxy keeps for its logs.

    Args:
        data: the request.
        internal: the names under which the proxy itself adds to it.

    Returns:
        What was to be embedded, and whether there were fields that are not known, which are taken out too.
    """
    strange = set(data) - FIELDS - internal - REROUTING
    given = data.pop("input", None)
    snapshot = data.get("proxy_server_request")
    copied = snapshot.get("body") if isinstance(snapshot, Mapping) else None
    for record in (data, copied):
        if isinstance(record, MutableMapping):
            for name in ("input", *strange):
                record.pop(name, None)
    show_in_logs(data.get("litellm_logging_obj"), [])
    return given, bool(strange)


def show_in_logs(logged: Any, texts: list[str]) -> None:
    """Put texts in the place of those that the proxy's own record of a call would be written with."""
    if logged is None:
        return
    logged.messages = texts
    details = getattr(logged, "model_call_details", None)
    if isinstance(details, MutableMapping):
        for name in ("messages", "input"):
            if name in details:
                details[name] = texts


def keep_out_of_logs(logged: Any) -> None:
    """Have the proxy's own record of a call note that an upstream answered, and not what."""
    noted = logged.post_call

    def note(original_response: Any = None, *rest: Any, **more: Any) -> Any:
        return noted("", *rest, **more)

    logged.post_call = note


def read_asked(data: Mapping[str, Any], given: Any, settings: GuardrailSettings) -> AskedEmbeddings:
    """Check a request from which `given` was taken out."""
    for name in REROUTING:
        if data.get(name) not in (None, False):
            raise InputError(f"`{name}` cannot be used with protected embeddings. Leave it out.")
    return AskedEmbeddings(
        _texts(given, settings),
        _choice(data, "encoding_format", ENCODINGS, "float"),
        _dimensions(data),
        _choice(data, "input_type", get_args(Role), "document"),
    )


def _texts(given: Any, settings: GuardrailSettings) -> list[str]:
    rows = [given] if isinstance(given, str) else given
    if not isinstance(rows, list) or not rows:
        raise InputError("`input` must be a text, or a list of texts that is not empty.")
    if len(rows) > settings.max_inputs:
        raise InputError(f"`input` must hold at most {settings.max_inputs} texts. Found {len(rows)}.")
    if any(isinstance(each, int | list) for each in rows):
        raise InputError("`input` must be text: in tokens nothing can be looked for. Send texts.")
    texts = checked_texts(rows)
    long = next((row for row, text in enumerate(texts) if len(text) > settings.max_characters), None)
    if long is not None:
        raise InputError(f"Row {long} of `input` must have at most {settings.max_characters} characters.")
    return texts


def _dimensions(data: Mapping[str, Any]) -> int | None:
    given = data.get("dimensions")
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise InputError("`dimensions` must be a whole number from 1 on.")
    return given


def _choice(data: Mapping[str, Any], name: str, choices: tuple[str, ...], usual: str) -> Any:
    given = data.get(name)
    if given is None:
        return usual
    if not isinstance(given, str) or given not in choices:
        raise InputError(f"`{name}` must be one of {', '.join(choices)}.")
    return given
