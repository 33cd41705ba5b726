"""A small corpus with places in it, and an encoder that needs no package."""

from __future__ import annotations

from functools import cache

from sfumato.concepts import Concept
from sfumato.embedders.fake import Fake
from sfumato.evaluation import Sample
from sfumato.randomness import generator

PLACES = ["Paris", "Rome", "Lima", "Oslo", "Cairo", "New York", "Berlin", "Tokyo"]
_WHO = ["the minister", "a nurse", "my brother", "the team", "an old friend", "the driver"]
_DOES = ["flew to", "wrote from", "stayed in", "drove through", "left", "phoned"]
_WHEN = ["on Monday", "last year", "in spring", "at night", "after the match", "by train"]


def sentences(count: int, seed: int = 0) -> list[str]:
    """Sentences of which two in three name a place."""
    rng = generator(seed)
    made = []
    for row in range(count):
        who, does, when = (rng.choice(words) for words in (_WHO, _DOES, _WHEN))
        made.append(f"{who} {does} {rng.choice(PLACES) if row % 3 else 'home'} {when} {row}")
    return made


@cache
def place_sample(count: int = 240, dim: int = 48, seed: int = 0) -> Sample:
    """A sample of sentences with the concept of places."""
    texts, embedder = sentences(count, seed), Fake(dim=dim)
    return Sample(texts, embedder.embed(texts), Concept.from_terms("place", PLACES), embedder, seed=seed)
