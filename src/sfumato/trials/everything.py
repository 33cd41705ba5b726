"""Every attack of the table that fits what there is and the time there is, the cheap and strong ones first.

What an attack will cost is known from small runs that were timed once, from how fast this machine is now and
from what its encoder takes for a text (`trials.costs`). One that would not end in time reads fewer rows, or
is left out with the reason; one that takes the others' time all the same is stopped where it says how far it
is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Attack, OnStep, Reads
from sfumato.concepts.concept import Concept
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.errors import InputError, SfumatoError
from sfumato.metrics.intervals import Figure
from sfumato.metrics.leakage import count_prior
from sfumato.randomness import generator
from sfumato.trials.costs import LEAST_ROWS, Cost, cost_of, in_order, slowness
from sfumato.trials.making import make_attack, settings_of
from sfumato.trials.reading import READY_MADE
from sfumato.trials.rows import LeftOut
from sfumato.trials.running import AttackResult, figures_of, run_attack
from sfumato.trials.threat import ThreatModel
from sfumato.types import Rows

_READY_DIM = 384
_STREAM = 1 << 45
_SHARE = 0.6
"""Of the time left, the most that one attack is given while others wait."""
_GRACE = 1.5
"""How many times longer than it was given an attack may take while others wait."""
_TIMED = 32
"""Texts by which the encoder is timed."""


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """What one attack got."""

    name: str
    reads: Reads
    rows: int
    """Rows it read."""
    figure: Figure | None
    """What it got right; None where the truth is not known."""
    control: Figure | None
    """The same on clean vectors."""
    prior: float | None
    """What is got without looking at a vector: a constant guess, chance, or the same answers for others."""
    seconds: float
    result: AttackResult
    places: Rows
    """Which of the caller's rows it was given."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; no text."""
        return {
            "attack": self.name,
            "reads": self.reads,
            "rows": self.rows,
            "figure": None if self.figure is None else self.figure.to_dict(),
            "figures": [each.to_dict() for each in self.result.figures],
            "control": None if self.control is None else self.control.to_dict(),
            "prior": self.prior,
            "seconds": round(self.seconds, 3),
        }


@dataclass(slots=True, eq=False)
class Everything:
    """A run of all attacks: what was tried so far, and what was left out and why."""

    threat: ThreatModel
    minutes: float
    concept: Concept | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """By the text, where the texts have one."""
    seed: int = 0
    names: Sequence[str] = ()
    """Attacks to try; all of the table, if left out."""
    on_step: OnStep | None = None
    tried: list[Tried] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    done: int = 0
    total: int = 1

    def run(self) -> Iterator[Tried]:
        """Try one after another, and yield what each got; whoever stops early keeps what is done."""
        if not np.isfinite(self.minutes) or not 0 < self.minutes <= 10_000:
            raise InputError(f"The minutes must be more than 0, at most 10,000. Found {self.minutes}.")
        end, slower = time.monotonic() + 60 * self.minutes, slowness()
        terms = 0 if self.concept is None else len(self.concept.terms)
        self.threat = _remembering(self.threat)
        names = [name for name in self.names or ATTACKS.names() if self._fits(name)]
        text_seconds = _text_seconds(self.threat) if names else 0.0
        costs = {name: cost_of(name, slower, terms, text_seconds) for name in names}
        waiting = in_order(costs)
        self.total = len(waiting)
        while waiting:
            name = waiting[0]
            self.done = self.total - len(waiting)
            self._say(name, 0.0)
            try:
                done = self._try(name, end, costs[name], last=len(waiting) == 1)
            except LeftOut as reason:
                self.left_out.append((name, str(reason)))
            except SfumatoError as error:
                self.left_out.append((name, str(error)))
            except Exception as error:  # one that breaks leaves the others alone; it may quote a text
                self.left_out.append((name, f"it broke: {type(error).__name__}"))
            else:
                self.tried.append(done)
                yield done
            waiting.pop(0)

    def _say(self, label: str, share: float) -> None:
        if self.on_step is not None:
            self.on_step(label, (self.done + min(max(share, 0.0), 1.0)) / self.total)

    def stopped(self) -> None:
        """Say of all that was not tried that somebody stopped it."""
        said = {each.name for each in self.tried} | {name for name, _ in self.left_out}
        names = self.names or ATTACKS.names()
        self.left_out += [(name, "it was stopped before its turn") for name in names if name not in said]

    def _fits(self, name: str) -> bool:
        """Whether an attack can be run on what there is; else it is left out, and why is said."""
        if not ATTACKS.installed(name):
            self.left_out.append((name, f"not installed: {ATTACKS.install_line(name)}"))
            return False
        reason = self._lacking(ATTACKS.get(name))
        if reason is not None:
            self.left_out.append((name, reason))
        return reason is None

    def _lacking(self, kind: type[Attack]) -> str | None:
        threat = self.threat
        if "tags" in kind.wants:
            return "it reads which rows share a tag; fit it in Python"
        if "groups" in kind.wants:
            return "it puts several rows of one person together; `sfumato audit` has groups"
        if "labels" in kind.wants and not self.labels:
            return "it names labels of the texts: give --labels COLUMN"
        settings = settings_of(kind)
        if "concept" in settings and self.concept is None:
            return "it chooses among terms: give --concept or --terms"
        if threat.texts is None and kind.needs in ("attacked", "candidates"):
            return "it knows the texts, or looks for them: give --texts FILE"
        if threat.texts is None and threat.own_texts is None and kind.needs != "nothing":
            return "it learns from texts: give --texts FILE, or the attacker's own with --train FILE"
        if "embedder" in settings and threat.embedder is None and kind.name != READY_MADE:
            return "it asks the encoder: give --embedder NAME"
        if kind.name == READY_MADE and _dim(threat) != _READY_DIM:
            return f"it reads all-MiniLM-L6-v2 vectors of dimension {_READY_DIM} only"
        return None

    def _try(self, name: str, end: float, cost: Cost, *, last: bool) -> Tried:
        left = end - time.monotonic()
        allowed = left if last else max(_SHARE * left, min(left, cost.seconds(LEAST_ROWS)))
        rows = cost.rows_within(allowed, _count(self.threat))
        if rows < min(LEAST_ROWS, _count(self.threat)):
            needed = cost.seconds(min(LEAST_ROWS, _count(self.threat)))
            time_left = f"{max(left, 0):.0f} s are left"
            raise LeftOut(f"it needs about {needed:.0f} s for {LEAST_ROWS} rows, and {time_left}")
        places = self._places(rows, cost.whole)
        threat = _part(self.threat, places)
        began = time.monotonic()
        stop = end if last else min(end, began + _GRACE * allowed)

        def on_step(label: str, share: float) -> None:
            if time.monotonic() > stop:
                raise LeftOut(f"it ran over its time, after {time.monotonic() - began:.0f} s")
            self._say(f"{name}: {label}", share)

        offered = offered_to_all(threat, self.concept, self.labels, self.seed)
        attack = make_attack(name, {}, offered)
        result = run_attack(attack, threat, concept=self.concept, on_step=on_step)
        seconds = time.monotonic() - began
        figure = result.figures[0] if result.figures else None
        prior = None if figure is None else _prior(attack, result, threat, self.concept)
        return Tried(
            name, attack.reads, len(result.recovered), figure, result.control, prior, seconds, result, places
        )

    def _places(self, rows: int, whole: bool) -> Rows:
        """The rows an attack is given: drawn alike for all of them."""
        count = _count(self.threat)
        if whole or rows >= count:
            return np.arange(count)
        return np.sort(generator(_STREAM + self.seed).permutation(count)[:rows])


def offered_to_all(
    threat: ThreatModel, concept: Concept | None, labels: Mapping[str, str], seed: int
) -> dict[str, Any]:
    """Settings for those attacks that have them."""
    return {
        "seed": seed,
        "embedder": threat.embedder,
        "concept": concept,
        "vocabulary": concept,
        "labels": labels or None,
        "control": False,  # measured on the same rows, for every attack alike
    }


def _remembering(threat: ThreatModel) -> ThreatModel:
    """The same, embedding every distinct text once for all attacks."""
    encoder, defence = threat.embedder, threat.defence
    if encoder is None or isinstance(encoder, RememberingEmbedder):
        return threat
    kept = RememberingEmbedder(encoder)
    if defence is not None and defence.embedder is encoder:
        defence = replace(defence, embedder=kept)
    return replace(threat, embedder=kept, defence=defence)


def _text_seconds(threat: ThreatModel) -> float:
    """What the encoder takes for a text, by some of the rows, which all attacks need."""
    texts = list(dict.fromkeys(threat.texts or threat.own_texts or []))[: _TIMED + 1]
    if threat.embedder is None or len(texts) < 2:
        return 0.0
    threat.embedder.embed(texts[:1])  # loads what is loaded on first use
    began = time.monotonic()
    threat.embedder.embed(texts[1:])
    return (time.monotonic() - began) / (len(texts) - 1)


def _count(threat: ThreatModel) -> int:
    given = (threat.texts, threat.released, threat.vectors)
    return next((len(each) for each in given if each is not None), 0)


def _dim(threat: ThreatModel) -> int | None:
    for each in (threat.released, threat.vectors):
        if each is not None:
            return int(each.shape[1])
    return getattr(threat.embedder, "dim", None)


def _part(threat: ThreatModel, places: Rows) -> ThreatModel:
    """The same with some of the rows."""
    if len(places) == _count(threat):
        return threat
    return replace(
        threat,
        texts=None if threat.texts is None else [threat.texts[row] for row in places],
        vectors=None if threat.vectors is None else threat.vectors[places],
        released=None if threat.released is None else threat.released[places],
    )


def _prior(
    attack: Attack, result: AttackResult, threat: ThreatModel, concept: Concept | None
) -> float | None:
    """What is got without a vector; see `Tried.prior`."""
    trial, texts = result.trial, threat.texts or []
    true = [texts[row] for row in trial.rows]
    if attack.reads == "member":
        return 0.5
    if attack.reads == "row":
        return 1.0 / max(len(trial.learned), 1)
    if attack.reads == "label":
        own = [each[0] for each in attack.truth(true) or [] if each]
        known = Counter(each[0] for each in attack.truth(trial.learned) or [] if each)
        return own.count(known.most_common(1)[0][0]) / len(own) if known and own else None
    if attack.reads == "terms" and concept is not None:
        asked = result.recovered.details.get("asked", np.ones(len(true), bool))
        terms = [concept.terms_in(text) for text, one in zip(true, asked, strict=True) if one]
        known_terms = [concept.terms_in(text) for text in trial.learned]
        return count_prior(terms, known_terms).rate if any(terms) else None
    order = np.roll(np.arange(len(true)), 1)  # everybody gets another row's answer
    moved = replace(
        result.recovered,
        rows=np.array(result.recovered.rows, object)[order].tolist(),
        details=_moved(result.recovered.details, order),
    )
    return figures_of(type(attack), moved, true, concept=concept, known=trial.learned)[0].value


def _moved(details: Mapping[str, Any], order: Rows) -> dict[str, Any]:
    return {
        key: each[order] if isinstance(each, np.ndarray) and len(each) == len(order) else each
        for key, each in details.items()
    }
