"""Running any attack of the table: settings by field name, what it got right, and its positive control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import isabstract
from typing import Any, get_type_hints

import numpy as np

from sfumato.artifacts import PathLike
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Attack, Inverter, OnStep, Recovered
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError, ParameterError
from sfumato.metrics.intervals import Figure, share
from sfumato.metrics.leakage import confidence_figure, leakage_figure
from sfumato.metrics.ranking import ranked
from sfumato.metrics.reconstruction import text_figures
from sfumato.trials.threat import ThreatModel, Trial, attack_clean, set_up


def settings_of(kind: type[Attack]) -> list[str]:
    """The names of an attack's settings."""
    return [field.name for field in fields(kind) if field.init]  # type: ignore[arg-type]


def make_attack(name: str, asked: Mapping[str, Any], offered: Mapping[str, Any]) -> Attack:
    """Make the attack of this name.

    Args:
        name: a name of the table.
        asked: settings the caller insists on; one that the attack does not have is refused.
        offered: settings for those attacks that have them; None is not passed on.
    """
    kind = ATTACKS.get(name)
    known = settings_of(kind)
    unknown = next((key for key in asked if key not in known), None)
    if unknown is not None:
        raise ParameterError(
            f"The attack `{name}` has these settings: {', '.join(known)}. Found `{unknown}`."
        )
    given = {key: value for key, value in offered.items() if key in known and value is not None}
    listed = {key: tuple(value) if isinstance(value, list) else value for key, value in asked.items()}
    try:
        return kind(**{**given, **listed})
    except TypeError as error:
        raise ParameterError(f"The attack `{name}` cannot be made like this: {error}.") from None


def inverter_of(kind: type[Attack]) -> type[Inverter]:
    """The class of what an attack's `fit` returns, which is what loads it."""
    found = get_type_hints(kind.fit)["return"]
    if isabstract(found):
        raise InputError(f"The attack `{kind.name}` cannot be loaded: it does not say what it returns.")
    return found  # type: ignore[no-any-return]


def figures_of(
    kind: type[Attack],
    recovered: Recovered,
    texts: Sequence[str],
    *,
    concept: Concept | None = None,
    known: Sequence[str] = (),
) -> list[Figure]:
    """What an attack got right, given the true texts; the first figure is the one to look at.

    Args:
        kind: the attack.
        recovered: what it recovered, a row a text.
        texts: the true texts.
        concept: the sensitive terms, where there are any.
        known: for an attack that names rows, the texts it knew.
    """
    if len(recovered) != len(texts):
        raise InputError(f"There must be a true text a row. Found {len(texts)} for {len(recovered)} rows.")
    if kind.reads == "terms":
        return _term_figures(recovered, texts, concept)
    rows = [str(row) for row in recovered.rows]
    if kind.reads == "row":
        return _row_figures(recovered, rows, texts, known)
    found = text_figures(texts, rows)
    return (
        found
        if concept is None
        else [*found, leakage_figure([concept.terms_in(text) for text in texts], rows)]
    )


def _term_figures(recovered: Recovered, texts: Sequence[str], concept: Concept | None) -> list[Figure]:
    vocabulary, probabilities = recovered.details["vocabulary"], recovered.details["probabilities"]
    looked_for = Concept.from_terms("vocabulary", vocabulary) if concept is None else concept
    asked = recovered.details.get("asked", np.ones(len(texts), bool))
    rows = np.flatnonzero(asked).tolist()
    truth = [looked_for.terms_in(texts[row]) for row in rows]
    counts = [len(found) for found in truth]
    # A row lists its likeliest terms, equals in an order of the attack's own; longer lists are ranked here.
    listed = [recovered.rows[row] for row in rows]
    all_ranked = ranked(probabilities[rows], vocabulary, counts)
    guesses = [
        own if len(own) >= count else more
        for own, more, count in zip(listed, all_ranked, counts, strict=True)
    ]
    return [leakage_figure(truth, guesses), confidence_figure(truth, probabilities[rows], vocabulary)]


def _row_figures(
    recovered: Recovered, rows: Sequence[str], texts: Sequence[str], known: Sequence[str]
) -> list[Figure]:
    found = [share("top-1", sum(row == text for row, text in zip(rows, texts, strict=True)), len(rows))]
    best = recovered.details.get("top")
    if best is not None and known:
        hits = [text in {known[one] for one in row} for row, text in zip(best.tolist(), texts, strict=True)]
        found.append(share(f"top-{best.shape[1]}", sum(hits), len(hits)))
    left = recovered.details.get("left")
    if left is not None:
        found.append(share("exactly one left", int((left == 1).sum()), len(left)))
    return found


def control_figure(inverter: Inverter) -> Figure | None:
    """The positive control as a figure with an interval."""
    control = inverter.control
    if control is None:
        return None
    return share(control.metric, round(control.value * control.rows), control.rows)


@dataclass(frozen=True, slots=True)
class AttackResult:
    """One attack, run."""

    inverter: Inverter
    trial: Trial
    recovered: Recovered
    figures: list[Figure]
    """What it got right, where the true texts are known."""
    control: Figure | None
    """The first figure of the same attack on clean vectors; None where that is not known."""


def run_attack(
    attack: Attack,
    threat: ThreatModel,
    *,
    concept: Concept | None = None,
    load: PathLike | None = None,
    control: bool = True,
    on_step: OnStep | None = None,
) -> AttackResult:
    """Fit an attack, read the vectors it is tried on, and score what can be scored.

    Args:
        attack: the attack and its settings.
        threat: whose vectors are read, and what is known.
        concept: the sensitive terms, to score by.
        load: a folder with a fitted attack, instead of fitting one.
        control: whether to report how it reads clean vectors, for which it may have to be fitted to those.
        on_step: hears how far it is.
    """
    kind = type(attack)
    ready = set_up(threat, attack, loaded=load is not None)
    if load is not None:
        inverter = inverter_of(kind).load(load)
    else:
        inverter = attack.fit(ready.learned, ready.learned_vectors, ready.victim, on_step=on_step)
    recovered = inverter.recover(ready.attacked)
    # What it says of clean vectors counts only where clean vectors are what it was given.
    proof = control_figure(inverter) if control and (ready.learned_clean or load is not None) else None
    if threat.texts is None:
        return AttackResult(inverter, ready, recovered, [], proof)
    true = [threat.texts[row] for row in ready.rows]

    def figures(found: Recovered) -> list[Figure]:
        return figures_of(kind, found, true, concept=concept, known=ready.learned)

    if control and proof is None and load is None:
        clean = attack_clean(attack, inverter, threat, ready, on_step)
        proof = None if clean is None else figures(clean)[0]
    return AttackResult(inverter, ready, recovered, figures(recovered), proof)
