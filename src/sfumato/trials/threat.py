"""The threat model of one attack: whose vectors are read, and what the attacker holds and learns from.

| given                                | attacked                      | the attacker learns from          |
|--------------------------------------|-------------------------------|-----------------------------------|
| texts, a protector or mechanism      | releases of half of the texts | fresh releases of the other half  |
| texts and vectors somebody released  | half of those vectors         | the other half: pairs that leaked |
| texts alone                          | clean vectors of half         | clean vectors of the other half   |
| any of these, and texts of his own   | all rows                      | his own texts, released as above  |
| vectors alone, and texts of his own  | all rows                      | his own texts                     |

An attack that names known texts, or fills a gap in them, is given the attacked texts; one that looks for
texts is given all, and half of them are there. Halves keep near-duplicates together. One that has no use for
pairs learns from clean vectors where others take leaked ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Attack
from sfumato.concepts.texts.duplicates import split_texts
from sfumato.errors import InputError
from sfumato.evaluation.defence import Defence
from sfumato.preparing import RowSpans
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.trials.split import Pool
from sfumato.trials.target import DefenceTarget, FixedTarget
from sfumato.types import Rows, Vectors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThreatModel:
    """What there is; see the table above."""

    texts: list[str] | None = None
    """The texts behind the attacked vectors, where they are known."""
    vectors: Vectors | None = None
    """Their clean vectors, where these need not be made."""
    released: Vectors | None = None
    """Vectors released by somebody else, a row a text; without them the texts are released here."""
    defence: Defence | None = None
    """What texts and vectors are released through; None for nothing, or where nobody knows."""
    embedder: Any = None
    own_texts: list[str] | None = None
    """The attacker's own."""
    own_vectors: Vectors | None = None
    """Their clean vectors."""
    spans: RowSpans | None = None
    """Labelled spans of the texts, for a protector that finds its concept by them."""
    own_spans: RowSpans | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Keep vectors as float32."""
        for name in ("vectors", "released", "own_vectors"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.asarray(getattr(self, name), np.float32))

    @property
    def victim(self) -> Releasing | None:
        """All that the attacker knows of what texts and vectors go through."""
        return None if self.defence is None else self.defence.victim

    @property
    def hides(self) -> bool:
        """Whether other texts are embedded than those that were given."""
        return self.defence is not None and self.defence.hides

    def through(
        self, texts: list[str] | None, vectors: Vectors | None, spans: RowSpans | None = None
    ) -> DefenceTarget:
        """Texts or vectors, ready to be released here."""
        if vectors is None and self.embedder is None:
            raise InputError("Texts have to be embedded for this. Name the encoder with --embedder.")
        defence = self.defence or Defence(name="none", embedder=self.embedder)
        return DefenceTarget(defence, Pool(texts, vectors, spans, self.embedder), seed=self.seed)

    def clean(self, texts: list[str]) -> Vectors | None:
        """Clean vectors of texts, where there is an encoder."""
        return None if self.embedder is None else np.asarray(self.embedder.embed(texts), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What an attack is given and what it is tried on."""

    learned: list[str]
    learned_vectors: Vectors
    victim: Releasing | None
    attacked: Vectors
    rows: Rows
    """Which of the rows are attacked."""
    learned_clean: bool
    """Whether `learned_vectors` are clean: neither neutral texts' nor somebody's releases."""
    clean: Vectors | None
    """Clean vectors of all rows, where they had to be made."""
    stored: NDArray[np.bool_] | None = None
    """`[n]` of texts that are looked for, which of them were released; None where all are attacked."""

    @property
    def released(self) -> Rows:
        """The rows whose releases are attacked."""
        return self.rows if self.stored is None else self.rows[self.stored]


def set_up(threat: ThreatModel, attack: Attack, *, loaded: bool = False) -> Trial:
    """Work out what the attack is given and what it is tried on.

    A `loaded` attack is given nothing and tried on every row.
    """
    known = _known(threat)
    if threat.released is None and known is None:
        raise InputError("There is nothing to attack: give texts, vectors or both.")
    attacked = threat.released if threat.released is not None else known.documents()  # type: ignore[union-attr]
    if threat.texts is not None and len(threat.texts) != len(attacked):
        raise InputError(
            f"There must be one text a vector. Found {len(threat.texts)} texts and {len(attacked)} vectors."
        )
    everything = np.arange(len(attacked))
    clean = known.entering if known is not None and not threat.hides else None
    keyed = threat.defence is not None and threat.defence.key is not None and not attack.public
    plain = not threat.hides and not keyed
    if loaded or attack.needs == "nothing":
        return Trial([], attacked[:0], threat.victim, attacked, everything, True, clean)
    if threat.own_texts is not None:
        own = threat.through(threat.own_texts, threat.own_vectors, threat.own_spans)
        given = own.learning(np.arange(len(threat.own_texts)), public=attack.public)
        return Trial(threat.own_texts, *given, attacked, everything, plain, clean)
    if threat.texts is None:
        raise InputError(
            "The attacker needs texts to learn from: give a file with texts, or his own with --train FILE."
        )
    if attack.needs == "attacked":
        given = (known or threat.through(threat.texts, None, threat.spans)).learning(everything)
        return Trial(threat.texts, *given, attacked, everything, plain, clean)
    learn, test = (rows.astype(np.intp) for rows in split_texts(threat.texts, 0.5, generator(threat.seed)))
    if attack.needs == "candidates":
        given = (known or threat.through(threat.texts, None, threat.spans)).learning(everything, public=True)
        stored = np.isin(everything, test)
        return Trial(threat.texts, *given, attacked[test], everything, not threat.hides, clean, stored)
    texts = [threat.texts[row] for row in learn]
    if attack.public and known is None:
        raise InputError(
            f"The attack `{attack.name}` learns from clean vectors. Name the encoder with --embedder, "
            "or give texts of the attacker's own with --train FILE."
        )
    if threat.released is not None and (threat.defence is None or known is None) and not attack.public:
        # Without a victim to imitate, somebody else's releases are learned from as they are.
        leaked = FixedTarget(attacked, threat.texts).learning(learn)
        return Trial(texts, *leaked, attacked[test], test, False, clean)
    assert known is not None
    given = known.learning(learn, public=attack.public)
    return Trial(texts, *given, attacked[test], test, plain, clean)


def _known(threat: ThreatModel) -> DefenceTarget | None:
    """The texts as they enter the release, where there is a need and a way to have them."""
    if threat.vectors is not None:
        return threat.through(threat.texts, threat.vectors, threat.spans)
    if threat.texts is not None and (threat.released is None or threat.embedder is not None):
        return threat.through(threat.texts, None, threat.spans)
    return None


def clean_pair(threat: ThreatModel, trial: Trial) -> tuple[Vectors, Vectors] | None:
    """Clean vectors of what the attack learned from and was tried on; None where nobody has them."""
    learned = trial.learned_vectors if trial.learned_clean else threat.clean(trial.learned)
    every = trial.clean if trial.clean is not None else threat.vectors
    if every is not None:
        attacked: Vectors | None = every[trial.released]
    elif threat.texts is None:
        attacked = None
    else:
        attacked = threat.clean([threat.texts[row] for row in trial.released])
    return None if learned is None or attacked is None else (learned, attacked)
