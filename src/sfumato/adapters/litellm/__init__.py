"""LiteLLM: a guardrail of its proxy that protects what comes back from `/embeddings`, and what goes there.

    guardrail: sfumato.adapters.litellm.EmbeddingGuardrail

The names of the proxy's own packages are imported when the guardrail is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.adapters.litellm.guardrail import EmbeddingGuardrail

__getattr__, __dir__ = on_first_use(__name__, {"guardrail": "EmbeddingGuardrail"})

__all__ = ["EmbeddingGuardrail"]
