"""Writing embeddings as JSON, a block of rows at a time, so that a large answer is never whole in memory."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from sfumato.server.turns.engine import Reply

BLOCK = 64
"""Rows written at a time; an answer of no more rows is sent in one piece."""


def written(released: Reply, model: str) -> Iterator[bytes]:
    """The answer to a request for embeddings, in pieces."""
    yield b'{"object":"list","data":['
    for start in range(0, len(released.vectors), BLOCK):
        yield (b"," if start else b"") + ",".join(_rows(released, start)).encode()
    usage = {"prompt_tokens": released.tokens, "total_tokens": released.tokens}
    yield f'],"model":{json.dumps(model)},"usage":{json.dumps(usage)}}}'.encode()


def _rows(released: Reply, start: int) -> Iterator[str]:
    block = released.vectors[start : start + BLOCK]
    plain = released.request.encoding == "float"
    for number, row in enumerate(block, start):
        if plain:
            # Every digit of the number as float64, so that reading it back gives the same float32.
            shown = json.dumps(row.tolist(), separators=(",", ":"))
        else:
            shown = f'"{base64.b64encode(row.astype("<f4").tobytes()).decode()}"'
        yield f'{{"object":"embedding","index":{number},"embedding":{shown}}}'
