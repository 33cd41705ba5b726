"""The place of every attack of the table in an audit: what it wants, and which question it answers.

An attack that reads terms or writes texts is trained and read like any other; one that names known texts is
asked whose record it is. Only those with a question of their own stand here by name. What an attack wants
beside texts and vectors, its class says (`Attack.wants`); where that is not there, it is left out and said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.attacks.base import Attack
from sfumato.trials.questions.informed import NAME as INFORMED
from sfumato.trials.questions.informed import informed_row
from sfumato.trials.questions.oracle import NAME as ORACLE
from sfumato.trials.questions.oracle import oracle_row
from sfumato.trials.rows import AttackRow, LeftOut

if TYPE_CHECKING:
    from sfumato.trials.experiment import Experiment

WANTED: dict[str, str] = {
    "encoder": "it asks the encoder, and there is none",
    "labels": "it names labels of the texts, and none are given (--label-column)",
    "tags": "it reads which rows share a tag, and no tags are given (--tags-column)",
    "groups": "it puts several rows of one person together, and no groups are given (--group-column)",
    "releases": "it takes several releases of one text, and these vectors were released once",
    "victim": "it imitates what releases the vectors, and nobody says what that is",
}
"""What an attack may want, and what is said where it is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """What is known of the pool's rows beside their texts and vectors."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """By the text; see `concepts.texts.labels`."""
    tags: Sequence[Sequence[str]] | None = None
    """Of each row."""
    groups: bool = False
    """Whether the caller said what belongs together."""


def lacking(kind: type[Attack], given: Experiment) -> str | None:
    """Why an attack cannot be run here; None where it can."""
    there = {
        "encoder": given.split.embedder is not None,
        "labels": bool(given.beside.labels),
        "tags": given.beside.tags is not None,
        "groups": given.beside.groups,
        "releases": given.target.repeats,
        "victim": given.query,
    }
    return next((WANTED[want] for want in kind.wants if not there[want]), None)


def own_question(kind: type[Attack]) -> Callable[[Experiment], AttackRow] | None:
    """How an attack with a question of its own is asked; None for one that is trained to read the concept."""
    if kind.name in _OWN:
        return _OWN[kind.name]
    if kind.reads in ("terms", "text"):
        return None
    if kind.reads == "row":
        return lambda given: _known(kind.name, given)
    raise LeftOut(f"an audit has no question for an attack that reads a {kind.reads}")


def _informed(given: Experiment) -> AttackRow:
    return informed_row(given.split, given.target, given.plan, counts=given.worst_case, seed=given.seed)


def _oracle(given: Experiment) -> AttackRow:
    row, given.oracle = oracle_row(given.split, given.protector, given.plan, seed=given.seed)
    return row


def _known(name: str, given: Experiment) -> AttackRow:
    from sfumato.trials.questions.linkage import known_row

    return known_row(name, given.split, given.target, given.plan, seed=given.seed)


def _linkage(given: Experiment) -> AttackRow:
    from sfumato.trials.questions.linkage import linkage_row

    return linkage_row(given.split, given.target, given.plan, seed=given.seed)


def _bits(given: Experiment) -> AttackRow:
    from sfumato.trials.questions.linkage import bits_row

    return bits_row(given.split, given.target, given.plan, seed=given.seed)


def _membership(given: Experiment) -> AttackRow:
    from sfumato.trials.questions.membership import membership_row

    row, given.membership = membership_row(given.split, given.target, seed=given.seed)
    return row


def _attributes(given: Experiment) -> AttackRow:
    from sfumato.trials.questions.attributes import attributes_row

    return attributes_row(given.split, given.target, given.beside.labels, given.plan, seed=given.seed)


def _structure(given: Experiment) -> AttackRow:
    from sfumato.trials.questions.structure import structure_row

    return structure_row(given.split, given.beside.tags or (), seed=given.seed)


_OWN: dict[str, Callable[[Experiment], AttackRow]] = {
    INFORMED: _informed,
    ORACLE: _oracle,
    "linkage": _linkage,
    "bits": _bits,
    "membership": _membership,
    "attributes": _attributes,
    "structure": _structure,
}
