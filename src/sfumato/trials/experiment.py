"""One concept's audit while it runs: every attack in its turn, and what each left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sfumato.attacks import ATTACKS
from sfumato.auditing.examples import READY_MADE, Shown, shown_by
from sfumato.auditing.settings import AuditSettings, Suite
from sfumato.errors import SfumatoError
from sfumato.protector import Protector
from sfumato.trials.progress import Steps
from sfumato.trials.questions.averaging import averaging_row
from sfumato.trials.questions.informed import NAME as INFORMED
from sfumato.trials.questions.informed import informed_row
from sfumato.trials.questions.linkage import bits_row, linkage_row
from sfumato.trials.questions.oracle import NAME as ORACLE
from sfumato.trials.questions.oracle import Oracle, oracle_row
from sfumato.trials.reading import Instrument, Reading, Scale, attack, calibrate, named, tokens
from sfumato.trials.rivals import BaselineRow, compare
from sfumato.trials.rows import AttackRow, LeftOut, row_of
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget, Target
from sfumato.trials.utility import Yardstick

MAIN = "tokens"
"""The attack that is always run, and that baselines are attacked with."""
_QUESTIONS = {
    "terms": "Which of the concept's terms are in the text?",
    "text": "Writes the text: do the concept's terms stand in it?",
}


@dataclass(slots=True, eq=False)
class Bench:
    """The material, the target, and what the attacks got so far."""

    material: Split
    target: Target
    protector: Protector | None
    """With its secret, as whoever may ask it finds it."""
    plan: Suite
    settings: AuditSettings
    steps: Steps
    rows: list[AttackRow] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    read: dict[str, tuple[Scale, Reading]] = field(default_factory=dict)
    shown: dict[str, Shown] = field(default_factory=dict)
    oracle: Oracle | None = None

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
        if not self.settings.worst_case or self.worst is not None:
            return ""
        reason = next(reason for name, reason in self.left_out if name == INFORMED)
        return f"the worst case was asked for and could not be measured: {reason.rstrip('.')}"

    def attack(self) -> None:
        """Run every attack of the plan."""
        material, target, plan, seed = self.material, self.target, self.plan, self.settings.seed
        self._trained(MAIN)
        for name in plan.attacks:
            if name != MAIN:
                self._attempt(name, lambda name=name: self._trained(name))  # type: ignore[misc]
        self.steps.begin(INFORMED)
        counts = self.settings.worst_case
        self._attempt(INFORMED, lambda: informed_row(material, target, plan, counts=counts, seed=seed))
        self._attempt(ORACLE, self._asked)
        self.steps.begin("linkage")
        self._attempt("linkage", lambda: linkage_row(material, target, plan, seed=seed))
        self._attempt("bits", lambda: bits_row(material, target, plan, seed=seed))
        self.steps.begin("averaging")
        scale = self.read[MAIN][0]
        self._attempt("averaging", lambda: averaging_row(material, target, scale, plan.averaged, seed=seed))

    def compare(self, names: list[str], yardstick: Yardstick) -> list[BaselineRow]:
        """Attack and use other defences in the same way."""
        if not names:
            return []
        scale = self.read[MAIN][0]
        if not self.query and self.material.embedder is not None:
            # Vectors made elsewhere are read by an attacker who cannot query; here he can.
            scale = calibrate(
                scale.instrument, self.material, self.plan.seeds, query=True, seed=self.settings.seed
            )
        return compare(
            self.material,
            names,
            scale,
            yardstick,
            self.plan,
            seed=self.settings.seed,
            on_step=lambda name: self.steps.begin(f"baseline {name}"),
        )

    def _trained(self, name: str) -> None:
        """Run an attack that reads the concept, with its control and its floor."""
        self.steps.begin(name)
        instrument = self._instrument(name)
        seed, seeds = self.settings.seed, self.plan.seeds if instrument.reads == "terms" else 1
        material = self.material
        if instrument.reads == "text":
            material = material.sampled(self.plan.written, seed)
        scale = calibrate(instrument, material, seeds, query=self.query, seed=seed)
        reading = attack(instrument, material, self.target, seeds, query=self.query, seed=seed)
        note = "" if scale.floor else "No encoder: its floor was not measured."
        if not instrument.learns:
            note = "It learns nothing, so it cannot adapt to a defence."
        self.rows.append(
            row_of(
                instrument.name,
                instrument.reads,
                _QUESTIONS[instrument.reads],
                control=scale.control,
                floor=scale.floor,
                floor_is="removed",
                prior=scale.prior,
                released=reading.hits,
                how=material.resampling(),
                counts=True,
                note=note,
            )
        )
        self.read[name] = scale, reading
        self.shown[name] = shown_by(material, scale, reading)

    def _instrument(self, name: str) -> Instrument:
        if name == MAIN:
            ATTACKS.get(name)
            return tokens(self.plan, self.material, self.steps.within)
        encoder = self.material.embedder
        if name == READY_MADE and (encoder is None or encoder.name != READY_MADE):
            raise LeftOut("it reads all-MiniLM-L6-v2 vectors only")
        if ATTACKS.entry(name).name in (INFORMED, "linkage", "bits"):
            raise LeftOut("it is always run, and has a row of its own")
        return named(name, self.material, self.steps.within)

    def _asked(self) -> AttackRow:
        row, self.oracle = oracle_row(self.material, self.protector, self.plan, seed=self.settings.seed)
        return row

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
