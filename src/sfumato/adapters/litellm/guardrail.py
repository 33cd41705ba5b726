"""The guardrail itself: where LiteLLM's proxy calls it, and what it does there.

1. `async_pre_call_hook`, before a request is routed: texts become neutral texts, in the proxy's records too.
2. `async_post_call_success_deployment_hook`, when the upstream has answered and before anything is cached or
   logged: vectors become released vectors.
3. `async_post_call_success_hook`, before the answer leaves: it is written from the release, or refused.

What goes wrong blocks the request. A guardrail that cannot be made stops the proxy: LiteLLM starts without
one whose settings raise a ValueError.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from sfumato.adapters.litellm.asked import FIELDS, keep_out_of_logs, read_asked, show_in_logs, taken_out
from sfumato.adapters.litellm.releasing import PendingRelease, ReleasingGuard
from sfumato.adapters.litellm.settings import GuardrailSettings
from sfumato.adapters.packages import needs
from sfumato.errors import BudgetError, EndpointError, InputError, place_of

with needs("litellm", "litellm"):
    import litellm
    from fastapi import HTTPException
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.types.guardrails import GuardrailEventHooks
    from litellm.types.utils import Embedding, EmbeddingResponse, all_litellm_params

_LOG = logging.getLogger("sfumato.litellm")
_MODES = [GuardrailEventHooks.pre_call, GuardrailEventHooks.post_call]
_EMBEDS = ("aembedding", "embedding", "embeddings")
_ADDED = frozenset(all_litellm_params) | {"disable_fallbacks"}
"""What the proxy itself may add to a request."""
_PENDING: WeakKeyDictionary[Any, PendingRelease] = WeakKeyDictionary()
"""Requests under way, by the proxy's own record of each."""


class GuardrailSetupError(RuntimeError):
    """The guardrail cannot be made; the proxy must not start without it."""


class EmbeddingGuardrail(CustomGuardrail):
    """Neutral texts to the upstream, released vectors to the client."""

    def __init__(self, sfumato: Any = None, **given: Any) -> None:
        try:
            super().__init__(supported_event_hooks=list(_MODES), **given)
            self._settings = GuardrailSettings.read(sfumato)
            self._guard = ReleasingGuard(self._settings)
        except Exception as error:  # never a ValueError: LiteLLM would go on without this guardrail
            raise GuardrailSetupError(f"The guardrail cannot be made. {error}") from None
        modes = self.event_hook if isinstance(self.event_hook, list) else [self.event_hook]
        if {str(getattr(mode, "value", mode)) for mode in modes} != {mode.value for mode in _MODES}:
            raise GuardrailSetupError("`mode` must be [pre_call, post_call]. Found something else.")
        if not self.default_on or self.run_in_parallel or self.scan_raw_request:
            raise GuardrailSetupError(
                "`default_on` must be true, `run_in_parallel` and `scan_raw_request` false: nobody who asks "
                "has a choice. Found otherwise."
            )

    def should_run_guardrail(self, data: Any, event_type: Any) -> bool:
        """Always before a call and after it: no request, key or team switches it off."""
        return event_type in _MODES

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any] | None:
        """Put neutral texts in the place of a request's texts, or refuse it."""
        if call_type not in _EMBEDS or not self._is_mine(data):
            return None
        given, strange = taken_out(data, _ADDED)
        try:
            record = data.get("litellm_logging_obj")
            if data.get("model") not in self._settings.models:
                raise InputError("`model` must be one that a Sfumato guardrail names. Found another.")
            if record is None:
                raise InputError("Protected embeddings are for requests to /embeddings. Found another way.")
            if strange:
                raise InputError(
                    f"Protected embeddings take {', '.join(sorted(FIELDS))}. Found another field, which the "
                    "upstream would see as it is."
                )
            asked = read_asked(data, given, self._settings)
            pending = await asyncio.to_thread(self._guard.neutral, asked)
        except Exception as error:
            raise _refusal(error) from None
        for name in ("encoding_format", "dimensions", "input_type", "stream"):
            data.pop(name, None)
        data["input"] = list(pending.sent)
        data["encoding_format"] = "float"
        # Vectors are clear until they are released, and another model is another encoder.
        data["cache"] = {"no-cache": True, "no-store": True}
        data["disable_fallbacks"] = True
        show_in_logs(record, list(pending.sent))
        keep_out_of_logs(record)
        _PENDING[record] = pending
        return data

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        """Release what an upstream answered, before the proxy caches or logs it."""
        pending = self._pending(request_data.get("litellm_logging_obj"))
        if pending is None:
            return None
        await self._settle(pending, response)
        return response

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Write the answer from the release, or refuse it."""
        pending = self._pending(data.get("litellm_logging_obj"))
        if pending is None:
            if isinstance(response, EmbeddingResponse) and self._is_stray(data):
                response.data = []
                raise _refusal(InputError("These embeddings did not pass the guardrail before the call."))
            return None
        await self._settle(pending, response)
        try:
            rows = pending.answer()
        except Exception as error:
            raise _refusal(error) from None
        response.data = _written(rows)
        return response

    async def _settle(self, pending: PendingRelease, response: Any) -> None:
        """Release once; the response holds what was released, or nothing, from here on."""
        rows = getattr(response, "data", None)
        await asyncio.to_thread(pending.settle, rows)
        response.data = [] if pending.error is not None else _written(pending.answer())

    def _pending(self, record: Any) -> PendingRelease | None:
        found = None if record is None else _PENDING.get(record)
        return found if found is not None and found.owner is self._guard else None

    def _is_mine(self, data: Mapping[str, Any]) -> bool:
        """Whether a request is this guardrail's: its models, and, for the first of all, models of none."""
        model, all_here = data.get("model"), _guardrails() or [self]
        owner = next((each for each in all_here if model in each._settings.models), all_here[0])
        return owner is self and not self._let_through(model)

    def _is_stray(self, data: Mapping[str, Any]) -> bool:
        record = data.get("litellm_logging_obj")
        handled = record is not None and record in _PENDING
        return not handled and not self._let_through(data.get("model"))

    def _let_through(self, model: Any) -> bool:
        return any(model in each._settings.unprotected for each in _guardrails() or [self])


def _guardrails() -> list[EmbeddingGuardrail]:
    return [each for each in litellm.callbacks if isinstance(each, EmbeddingGuardrail)]


def _written(rows: list[list[float] | str]) -> list[Any]:
    return [Embedding(embedding=row, index=index, object="embedding") for index, row in enumerate(rows)]


def _refusal(error: Exception) -> HTTPException:
    """What a client may know of an error; the log knows its kind and place, and no more either."""
    status, message = 500, "The guardrail failed. Nothing was released; the proxy's log has the place."
    if isinstance(error, BudgetError):
        status, message = 429, f"The privacy budget is spent. {error}"
    elif isinstance(error, InputError):
        status, message = 400, str(error)
    elif isinstance(error, EndpointError):
        status, message = 502, f"{error} Nothing was released."
    if status >= 500:
        _LOG.error("refused: %s at %s", type(error).__name__, place_of(error))
    # Trying again cannot help, and OpenAI's client would.
    headers = {"x-should-retry": "false"} if status == 429 else None
    return HTTPException(status, {"error": message}, headers)
