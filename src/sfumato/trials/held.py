"""What an attacker who knows some of a store's rows reads from the others, whatever the store holds."""

from __future__ import annotations

from sfumato.metrics.leakage import Hits, pool
from sfumato.trials.reading import attack, tokens
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import FixedTarget
from sfumato.types import Vectors


def read_held(split: Split, held: Vectors, suite: Suite, *, seed: int) -> Hits:
    """Train the token attack on what a store holds of the rows he knows, and read the attacked ones.

    Args:
        split: which rows the attacker knows, and which he reads.
        held: `[n, d]` what the store holds of each row of the pool, as numbers.
        suite: how long he trains.
        seed: of the run.
    """
    target = FixedTarget(held, split.texts)
    return pool(attack(tokens(suite, split), split, target, 1, query=False, seed=seed).hits)
