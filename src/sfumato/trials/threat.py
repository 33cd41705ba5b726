"""The threat model of one attack: whose vectors are read, what the attacker learns from, what is true.

| given                                | attacked                      | the attacker learns from          |
|--------------------------------------|-------------------------------|-----------------------------------|
| texts, a protector or mechanism      | releases of half of the texts | fresh releases of the other half  |
| texts and vectors somebody released  | half of those vectors         | the other half: pairs that leaked |
| texts alone                          | clean vectors of half         | clean vectors of the other half   |
| any of these, and texts of his own   | all rows                      | his own texts, released as above  |
| vectors alone, and texts of his own  | all rows                      | his own texts                     |

An attack that names known texts, or fills a gap in them, is given the attacked texts; halves keep
near-duplicates together.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Attack, Inverter, OnStep, Recovered
from sfumato.attacks.training_set import split_texts
from sfumato.errors import InputError
from sfumato.protector import Protector
from sfumato.randomness import InsecureSeedWarning, Source, generator
from sfumato.release import Release, Releasing
from sfumato.types import Vectors

_VICTIM_SEED = 7_919_000_003
"""Keeps the victim's noise apart from that of the attacker's training, which counts from the same seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreatModel:
    """What there is; see the table above."""

    texts: list[str] | None = None
    """The texts behind the attacked vectors, where they are known."""
    vectors: Any = None
    """Their clean vectors, where these need not be made."""
    released: Any = None
    """Vectors released by somebody else, a row a text; without them the texts are released here."""
    release: Release | None = None
    """What vectors are released through, where there is no protector."""
    protector: Protector | None = None
    """What texts and vectors are released through."""
    embedder: Any = None
    own_texts: list[str] | None = None
    """The attacker's own."""
    own_vectors: Any = None
    seed: int = 0

    @property
    def victim(self) -> Releasing | None:
        """All that the attacker knows of what texts and vectors go through."""
        return self.release if self.protector is None else self.protector.without_accounting()


@dataclass(frozen=True, slots=True)
class Trial:
    """What an attack is given and what it is tried on."""

    learned: list[str]
    learned_vectors: Vectors
    victim: Releasing | None
    attacked: Vectors
    rows: NDArray[np.intp]
    """Which of the rows are attacked."""
    learned_clean: bool
    """Whether `learned_vectors` are clean: neither neutral texts' nor somebody's releases."""


def _encode(threat: ThreatModel, texts: Sequence[str]) -> Vectors:
    if threat.embedder is None:
        raise InputError("Texts have to be embedded for this. Name the encoder with --embedder.")
    return np.asarray(threat.embedder.embed(texts), np.float32)


def _entering(threat: ThreatModel, texts: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_] | None]:
    """The vectors that enter the mechanism, and which texts hold a concept."""
    if threat.protector is not None and threat.embedder is not None:
        ready = threat.protector.entrance(threat.embedder).prepare(texts)
        return ready.vectors, ready.matched
    return _encode(threat, texts), None


def _release(threat: ThreatModel, entering: Vectors, matched: NDArray[np.bool_] | None) -> Vectors:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)  # these releases leave nothing behind
        source = Source.seeded(threat.seed + _VICTIM_SEED)
    if threat.protector is not None:
        return threat.protector.without_accounting().protect(entering, matched=matched, rng=source)
    released: Vectors = entering if threat.release is None else threat.release(entering, source)
    return released


def set_up(threat: ThreatModel, attack: Attack, *, loaded: bool = False) -> Trial:
    """Work out what the attack is given, what it is tried on, and what proves that it works at all.

    A `loaded` attack is given nothing and tried on every row.
    """
    entering, matched = _known(threat)
    if threat.released is not None:
        attacked = np.asarray(threat.released, np.float32)
    elif entering is not None:
        attacked = _release(threat, entering, matched)
    else:
        raise InputError("There is nothing to attack: give texts, vectors or both.")
    if threat.texts is not None and len(threat.texts) != len(attacked):
        raise InputError(
            f"There must be one text a vector. Found {len(threat.texts)} texts and {len(attacked)} vectors."
        )
    everything = np.arange(len(attacked))
    plain = threat.protector is None or not threat.protector.embeds_neutral
    if loaded or attack.needs == "nothing":
        empty = np.zeros((0, attacked.shape[1]), np.float32)
        return Trial([], empty, threat.victim, attacked, everything, learned_clean=True)
    if threat.own_texts is not None:
        made = threat.own_vectors is None
        own = _entering(threat, threat.own_texts)[0] if made else np.asarray(threat.own_vectors, np.float32)
        return Trial(threat.own_texts, own, threat.victim, attacked, everything, plain or not made)
    if threat.texts is None:
        raise InputError(
            "The attacker needs texts to learn from: give a file with texts, or his own with --train FILE."
        )
    if attack.needs == "attacked":
        known = entering if entering is not None else _entering(threat, threat.texts)[0]
        return Trial(threat.texts, known, threat.victim, attacked, everything, plain)
    learn, test = split_texts(threat.texts, 0.5, generator(threat.seed))
    texts, rows = [threat.texts[row] for row in learn], test.astype(np.intp)
    if threat.released is not None and (threat.victim is None or entering is None):
        # Without a victim to imitate, somebody else's releases are learned from as they are.
        return Trial(texts, attacked[learn], None, attacked[test], rows, learned_clean=False)
    assert entering is not None
    return Trial(texts, entering[learn], threat.victim, attacked[test], rows, plain)


def _known(threat: ThreatModel) -> tuple[Vectors | None, NDArray[np.bool_] | None]:
    """The vectors of the texts before release, where there is a need and a way to have them."""
    if threat.vectors is not None:
        return np.asarray(threat.vectors, np.float32), None
    if threat.texts is not None and (threat.released is None or threat.embedder is not None):
        return _entering(threat, threat.texts)
    return None, None


def attack_clean(
    attack: Attack, fitted: Inverter, threat: ThreatModel, ready: Trial, on_step: OnStep | None = None
) -> Recovered | None:
    """The positive control: the same attack, fitted to clean vectors and tried on those of the same rows.

    None where nobody can tell what the clean vectors are.
    """
    if threat.vectors is not None:
        clean = np.asarray(threat.vectors, np.float32)[ready.rows]
    elif threat.texts is not None and threat.embedder is not None:
        clean = _encode(threat, [threat.texts[row] for row in ready.rows])
    else:
        return None
    if attack.needs == "nothing":
        return fitted.recover(clean)
    if not ready.learned_clean and threat.embedder is None:
        return None
    learned = ready.learned_vectors if ready.learned_clean else _encode(threat, ready.learned)
    return attack.fit(ready.learned, learned, None, on_step=on_step).recover(clean)
