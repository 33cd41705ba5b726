"""Filters in a product's own language may pass more rows than ours: what comes back is looked at again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sfumato.stores.rows import Hit, Scalar, matches

_MORE = 8


def narrowed(
    ask: Callable[[int], list[Hit]], k: int, allowed: Mapping[str, Sequence[Scalar]], most: int
) -> list[Hit]:
    """The k nearest rows that pass a filter, from a product that has passed all of those and maybe others.

    Args:
        ask: gives as many of the nearest rows as it is asked for.
        k: how many are wanted.
        allowed: what our own filter asks of a row.
        most: how many rows the product gives at a time.
    """
    count = k
    while True:
        found = ask(min(count, most))
        passed = [hit for hit in found if matches(hit.metadata, allowed)]
        if len(passed) >= k or len(found) < count or count >= most:
            return passed[:k]
        count *= _MORE
