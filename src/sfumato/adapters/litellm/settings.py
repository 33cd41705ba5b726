"""How the guardrail is set up: the mapping `sfumato` in the proxy's own configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sfumato.errors import ParameterError
from sfumato.numbers import whole_number
from sfumato.reference import ProtectorReference

_REFERENCE = ("ceiling", "tenant", "collection", "counting", "ceiling_advantage", "distance")
"""Settings that are the protector's own, as in `ProtectorReference`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailSettings:
    """Everything the guardrail can be told.

    Args:
        reference: the protector, its secret and its ledger; none of the three may be left out.
        models: the proxy's names of the models it guards, which serve the encoder of this protector.
        unprotected: the proxy's names of embedding models that are let through as they are.
        max_inputs: the most texts that one request may send to the upstream, neutral copies included.
        max_characters: the longest text.
    """

    reference: ProtectorReference
    models: frozenset[str]
    unprotected: frozenset[str] = frozenset()
    max_inputs: int = 2048
    max_characters: int = 100_000

    @classmethod
    def read(cls, given: Any) -> GuardrailSettings:
        """Read what stands under `sfumato`, or refuse it whole."""
        if not isinstance(given, Mapping):
            raise ParameterError(
                "`litellm_params` must hold `sfumato`: protector, secret, ledger and models. Found none."
            )
        own = {each.name for each in fields(cls)} - {"reference"}
        known = {"protector", "secret", "ledger", *_REFERENCE, *own}
        if not known.issuperset(given):
            raise ParameterError(f"`sfumato` may hold {', '.join(sorted(known))}. Found other names.")
        for name in ("protector", "secret", "ledger"):
            if not isinstance(given.get(name), str) or not given[name]:
                raise ParameterError(
                    f"`{name}` must say where it is: there is no release without. Found none."
                )
        reference = ProtectorReference(
            given["protector"],
            secret=given["secret"],
            ledger=given["ledger"],
            **{name: given[name] for name in _REFERENCE if name in given},
        )
        models, unprotected = (_names(given, name) for name in ("models", "unprotected"))
        if not models or models & unprotected:
            raise ParameterError("`models` must name a model, none of them `unprotected`. Found otherwise.")
        return cls(
            reference=reference,
            models=models,
            unprotected=unprotected,
            max_inputs=whole_number(given.get("max_inputs", 2048), "max_inputs", 1, 1 << 20),
            max_characters=whole_number(given.get("max_characters", 100_000), "max_characters", 1, 1 << 24),
        )


def _names(given: Mapping[str, Any], name: str) -> frozenset[str]:
    found = given.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
        raise ParameterError(f"`{name}` must be a list of the proxy's model names. Found something else.")
    return frozenset(found)
