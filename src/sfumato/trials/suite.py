"""How much of everything a trial does: two suites of attacks, a quick one and a full one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SuiteName = Literal["quick", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """How much of everything an audit does."""

    rows: int
    """Most texts with the concept: some the attacker learns from, the others are attacked."""
    pool: int
    """Most texts in all; those without the concept are there for search and to be told apart."""
    seeds: int
    """Runs of the token attack, each with another seed and pooled; attacks that write texts run once."""
    draws: int
    """Releases of the attacked texts that one fitted attack reads, each by itself; they are pooled."""
    epochs: int
    copies: int
    """Texts with another term put in that the attacker makes of each of his own, where he may query."""
    informed: int
    """Texts of which the informed attacker knows everything but the term."""
    candidates: int
    """Most terms he chooses from."""
    linked: int
    """Releases that are to be told apart among all texts of the pool."""
    averaged: int
    """Releases of one text that are averaged."""
    written: int
    """Attacked texts that an attack which writes texts reads: it is slow."""
    searches: int
    """Most searches, or pairs, that utility is measured on."""
    attacks: tuple[str, ...]
    """Attacks of the table, in the order they are run; see `trials.places`. The first reads terms, and
    baselines are attacked with it."""
    baselines: tuple[str, ...] | None
    """Baselines to compare with; None for all that are installed."""


SUITES: dict[SuiteName, Suite] = {
    "quick": Suite(
        rows=1000, pool=1600, seeds=1, draws=3, epochs=25, copies=2, informed=40, candidates=30, linked=60,
        averaged=8, written=150, searches=400,
        attacks=("tokens", "informed", "oracle", "linkage", "bits"),
        baselines=("laplace", "sparse", "suppression", "leace", "removal"),
    ),
    "full": Suite(
        rows=4000, pool=8000, seeds=3, draws=3, epochs=40, copies=8, informed=200, candidates=100, linked=200,
        averaged=16, written=300, searches=2000,
        attacks=(
            "tokens", "decoder", "minilm", "practised", "zero-shot", "alignment", "unpaired", "denoising",
            "neighbours", "pooling", "structure", "informed", "oracle", "linkage", "membership", "attributes",
            "bits",
        ),
        baselines=None,
    ),
}  # fmt: skip
