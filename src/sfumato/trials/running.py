"""Running any attack of the table: what it got right, and its positive control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, Control, Inverter, OnStep, Recovered
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.metrics.intervals import Figure, share
from sfumato.metrics.leakage import confidence_figure, leakage_figure
from sfumato.metrics.ranking import ranked
from sfumato.metrics.reconstruction import text_figures
from sfumato.metrics.roc import roc
from sfumato.trials.control import undefended
from sfumato.trials.making import inverter_of
from sfumato.trials.searched import NO_CHOICE, Searched, searched_alike
from sfumato.trials.threat import ThreatModel, Trial, clean_pair, set_up
from sfumato.types import Vectors


def figures_of(
    kind: type[Attack],
    recovered: Recovered,
    texts: Sequence[str],
    *,
    concept: Concept | None = None,
    known: Sequence[str] = (),
    truth: Sequence[Sequence[str]] | None = None,
    stored: NDArray[np.bool_] | None = None,
) -> list[Figure]:
    """What an attack got right, given the true texts; the first figure is the one to look at.

    Args:
        kind: the attack.
        recovered: what it recovered, a row a text.
        texts: the true texts.
        concept: the sensitive terms, where there are any.
        known: for an attack that names rows, the texts it knew.
        truth: for one that names labels, those of each text; nothing where it has none.
        stored: for one that looks for texts, which of them are there.
    """
    if len(recovered) != len(texts):
        raise InputError(f"There must be a true text a row. Found {len(texts)} for {len(recovered)} rows.")
    if kind.reads == "member":
        return [] if stored is None else roc(recovered.scores, stored).figures()
    if kind.reads == "label":
        return _label_figures(recovered, truth or [])
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


def _label_figures(recovered: Recovered, truth: Sequence[Sequence[str]]) -> list[Figure]:
    """How often the first label is the text's own, of texts that have one."""
    rows = [(found[0], own[0]) for found, own in zip(recovered.rows, truth, strict=True) if own]
    return [share("accuracy", sum(first == own for first, own in rows), len(rows))] if rows else []


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
    searched: Searched = NO_CHOICE
    """What the attack was chosen from, for the release and for the control."""


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
        control: whether to report how it reads clean vectors of the same rows, for which it is fitted again.
        on_step: hears how far it is.
    """
    kind = type(attack)
    ready = set_up(threat, attack, loaded=load is not None)
    if load is not None:
        inverter = inverter_of(kind).load(load)
    else:
        inverter = attack.fit(ready.learned, ready.learned_vectors, ready.victim, on_step=on_step)
    recovered = inverter.recover(ready.attacked)
    true = None if threat.texts is None else [threat.texts[row] for row in ready.rows]

    def figures(found: Recovered) -> list[Figure]:
        if true is None:
            return []
        given: dict[str, Any] = {"truth": attack.truth(true), "stored": ready.stored}
        return figures_of(kind, found, true, concept=concept, known=ready.learned, **given)

    scored, proof = figures(recovered), None
    fitted: list[Inverter] = []
    if control and scored and load is None and not attack.proves_itself:
        clean = _read_clean(attack, inverter, threat, ready, recovered, on_step, fitted)
        proof = None if clean is None else figures(clean)[0]
        _keep(inverter, proof)
    if control and proof is None and (ready.learned_clean or load is not None or attack.proves_itself):
        proof = control_figure(inverter)  # on texts it held back itself
    searched = searched_alike({"control": fitted, "released": [inverter]})
    return AttackResult(inverter, ready, recovered, scored, proof, searched)


def _read_clean(
    attack: Attack,
    fitted: Inverter,
    threat: ThreatModel,
    ready: Trial,
    recovered: Recovered,
    on_step: OnStep | None,
    kept: list[Inverter],
) -> Recovered | None:
    """The positive control on the same rows; None where nobody can tell what the clean vectors are.

    The attack that was fitted for it is added to `kept`.
    """
    if threat.released is None and (threat.defence is None or threat.defence.unchanged):
        kept.append(fitted)
        return recovered
    pair = clean_pair(threat, ready)
    if pair is None:
        return None
    if attack.needs == "nothing":
        return fitted.recover(pair[1])

    def fit(learned: Vectors) -> Callable[[Vectors], Recovered]:
        kept.append(attack.fit(ready.learned, learned, None, on_step=on_step))
        return kept[-1].recover

    return undefended(fit, *pair)


def _keep(inverter: Inverter, proof: Figure | None) -> None:
    """Let a fitted attack carry its control, so that it can be told when the attack is used again."""
    own = inverter.control
    if proof is not None and (own is None or own.metric == proof.metric):
        inverter.control = Control(proof.metric, proof.value, proof.count)
