"""One concept's trial while it runs: every attack in its turn, and what each left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks import ATTACKS
from sfumato.concepts.concept import Concept
from sfumato.errors import SfumatoError
from sfumato.protector import Protector
from sfumato.trials.finding import by_finding, every_term_found
from sfumato.trials.places import Beside, lacking, own_question
from sfumato.trials.progress import Steps
from sfumato.trials.questions.informed import NAME as INFORMED
from sfumato.trials.questions.oracle import Oracle
from sfumato.trials.questions.presence import Presence, measure_presence
from sfumato.trials.reading import (
    READY_MADE,
    AttackMethod,
    Calibration,
    Reading,
    alike,
    attack,
    calibrate,
    named,
    tokens,
)
from sfumato.trials.rivals import BaselineRow, compare
from sfumato.trials.rows import AttackRow, LeftOut, row_of
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import DefenceTarget, Target, protector_of
from sfumato.trials.utility import UtilityMeasure

if TYPE_CHECKING:
    from sfumato.trials.questions.membership import MembershipFound

MAIN = "tokens"
"""The attack that is always run, and that baselines are attacked with."""
_QUESTIONS = {
    "terms": "Which of the concept's terms are in the text?",
    "text": "Writes the text: do the concept's terms stand in it?",
}


@dataclass(slots=True, eq=False)
class Experiment:
    """The split, the target, and what the attacks got so far."""

    split: Split
    target: Target
    protector: Protector | None
    """With its secret, as whoever may ask it finds it."""
    plan: Suite
    steps: Steps
    seed: int = 0
    worst_case: bool = False
    """Whether the informed attacker counts for a verdict, too."""
    rows: list[AttackRow] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    read: dict[str, tuple[Calibration, Reading]] = field(default_factory=dict)
    beside: Beside = field(default_factory=Beside)
    """Labels, tags and groups, where there are any."""
    oracle: Oracle | None = None
    membership: MembershipFound | None = None
    presence: Presence | None = None
    found: NDArray[np.bool_] | None = field(init=False)
    """`[m]` whether the protector finds every term of each text with the concept; None without one."""

    def __post_init__(self) -> None:
        """Look which terms the protector finds."""
        self.found = every_term_found(self.target, self.split)

    @property
    def query(self) -> bool:
        """Whether the attacker can release texts of his own making."""
        return isinstance(self.target, DefenceTarget)

    @property
    def worst(self) -> AttackRow | None:
        """The informed attacker; None where he could not be asked."""
        return next((row for row in self.rows if row.name == INFORMED), None)

    @property
    def missing(self) -> str:
        """Why an attack that was asked to count could not be run."""
        if not self.worst_case or self.worst is not None:
            return ""
        reason = next(reason for name, reason in self.left_out if name == INFORMED)
        return f"the worst case was asked for and could not be measured: {reason.rstrip('.')}"

    def attack(self) -> None:
        """Run every attack of the plan."""
        from sfumato.trials.questions.averaging import averaging_row

        split, target, plan, seed = self.split, self.target, self.plan, self.seed
        self._trained(MAIN)
        for name in plan.attacks:
            if name != MAIN:
                self._attempt(name, lambda name=name: self._placed(name))  # type: ignore[misc]
        self.presence = measure_presence(split, target, seed=seed)
        self.steps.begin("averaging")
        calibration = self.read[MAIN][0]
        self._attempt(
            "averaging", lambda: averaging_row(split, target, calibration, plan.averaged, seed=seed)
        )

    def _placed(self, name: str) -> AttackRow | None:
        """Run an attack in its place; one that is trained leaves its row by itself."""
        self.steps.begin(name)
        kind: Any = ATTACKS.get(name)
        if (reason := lacking(kind, self)) is not None:
            raise LeftOut(reason)
        asked = own_question(kind)
        if asked is not None:
            return asked(self)
        self._trained(name)
        return None

    def compare(self, names: list[str], measure: UtilityMeasure) -> list[BaselineRow]:
        """Attack and use other defences in the same way."""
        if not names:
            return []
        calibration = self.read[MAIN][0]
        if not self.query and self.split.embedder is not None:
            # Vectors made elsewhere are read by an attacker who cannot query; here he can.
            calibration = calibrate(
                calibration.method, self.split, self.plan.seeds, query=True, seed=self.seed
            )
        return compare(
            self.split,
            names,
            calibration,
            measure,
            self.plan,
            concept=self._looked_for,
            seed=self.seed,
            on_step=lambda name: self.steps.begin(f"baseline {name}"),
        )

    @property
    def _looked_for(self) -> Concept | None:
        """What baselines look for where labels are the truth: the protector's own concept, if it has one."""
        protector = protector_of(self.target)
        own = () if protector is None else protector.concepts
        alone = len(own) == 1 and own[0].source != "spans" and self.split.concept.source == "spans"
        return own[0] if alone else None

    def _trained(self, name: str) -> None:
        """Run an attack that reads the concept, with its control and its floor."""
        if name == MAIN:
            self.steps.begin(name)
        method = self._method(name)
        seed, seeds = self.seed, self.plan.seeds if method.reads == "terms" else 1
        split = self.split
        if method.reads == "text" and not method.together:
            split = split.sampled(min(self.plan.written, method.most or self.plan.written), seed)
        calibration = calibrate(method, split, seeds, query=self.query, seed=seed)
        reading = attack(method, split, self.target, seeds, query=self.query, seed=seed)
        note = "" if calibration.floor else "No encoder: its floor was not measured."
        if not method.learns:
            note = "It learns nothing, so it cannot adapt to a defence."
        how = split.resampling()
        finding = by_finding(
            None if self.found is None else self.found[split.test],
            control=calibration.control,
            floor=calibration.floor,
            prior=calibration.prior,
            released=reading.hits,
            groups=how.groups,
        )
        self.rows.append(
            row_of(
                method.name,
                method.reads,
                _QUESTIONS[method.reads],
                control=calibration.control,
                floor=calibration.floor,
                floor_is="removed",
                prior=calibration.prior,
                released=reading.hits,
                how=how,
                counts=True,
                note=note,
                finding=finding,
                searched=alike(calibration, reading),
            )
        )
        self.read[name] = calibration, reading

    def _method(self, name: str) -> AttackMethod:
        if name == MAIN:
            ATTACKS.get(name)
            return tokens(self.plan, self.split, self.steps.within)
        encoder = self.split.embedder
        if name == READY_MADE and (encoder is None or encoder.name != READY_MADE):
            raise LeftOut("it reads all-MiniLM-L6-v2 vectors only")
        return named(name, self.split, self.steps.within)

    def _attempt(self, name: str, run: Callable[[], AttackRow | None]) -> None:
        """Run one attack, or note why it cannot be run here."""
        try:
            found = run()
        except LeftOut as reason:
            self.left_out.append((name, f"{reason}."))
        except SfumatoError as error:
            self.left_out.append((name, str(error)))
        else:
            if found is not None:
                self.rows.append(found)
