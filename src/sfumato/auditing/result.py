"""What an audit found, ready for JSON and for the page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sfumato.auditing.truth import Truth
from sfumato.auditing.verdict import Outcome, Verdict
from sfumato.metrics.intervals import Figure, exact_share
from sfumato.metrics.utility import Utility
from sfumato.trials.finding import FoundAndMissed
from sfumato.trials.questions.oracle import Oracle
from sfumato.trials.questions.presence import Presence
from sfumato.trials.removal import RemovalRow
from sfumato.trials.rivals import BaselineRow, matched
from sfumato.trials.rows import AttackRow
from sfumato.trials.touched import Use

if TYPE_CHECKING:
    from sfumato.auditing.readable import AlsoReadable
    from sfumato.trials.questions.membership import MembershipFound


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptResult:
    """What an audit says of one of its concepts."""

    name: str
    outcome: Outcome
    reason: str
    row: AttackRow | None = None
    """The attack its verdict rests on; None where none was run."""
    worst_case: AttackRow | None = None
    oracle: Oracle | None = None
    cautions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "verdict": self.outcome,
            "reason": self.reason,
            "cautions": list(self.cautions),
            "leakage": None if self.row is None else _leakage(self.row),
            "worst_case": None if self.worst_case is None else _leakage(self.worst_case),
            "oracle": None if self.oracle is None else self.oracle.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Verdict, attacks, utility and baselines; it holds no text but those that were said to be showable.

    Of several concepts it holds the worst one's figures; `concepts` has a line for each.
    """

    verdict: Verdict
    truth: Truth
    """Who decided what is sensitive."""
    cautions: tuple[str, ...] = ()
    """What a reader of the verdict has to know beside it."""
    concepts: tuple[ConceptResult, ...] = ()
    attacks: tuple[AttackRow, ...]
    worst_case: AttackRow | None
    """The informed attacker; None where he could not be asked."""
    oracle: Oracle | None = None
    """Who asked the same protector for texts of his own; None where nobody could."""
    certificate: dict[str, Any] | None = None
    """What no attacker who knows all but the term can exceed, with as many candidates as the informed one
    has; None where nothing is known of the noise or of the distances between terms."""
    membership: MembershipFound | None = None
    """Whether stored texts can be told from others; None where that was not asked."""
    presence: Presence | None = None
    """Whether texts with the concept can be told from those without; None where there are too few."""
    left_out: tuple[tuple[str, str], ...]
    """Attacks and baselines that were not run, and why."""
    uses: tuple[Use, ...]
    """The first one is the one to look at."""
    baselines: tuple[BaselineRow, ...]
    removal: RemovalRow | None = None
    """The floor of the same attack as a defence; None where it was not measured."""
    guarantee: dict[str, Any]
    noise: dict[str, float | None]
    """`ratio` of the noise's length to a vector's, and the `cosine` kept, before any filter."""
    terms: tuple[dict[str, Any], ...]
    """Leakage of each term: control, floor and released; `term` is None where its name is private."""
    examples: tuple[dict[str, Any], ...] = ()
    """Showable texts beside what was read of them."""
    readable: AlsoReadable | None = None
    """What a reader of texts still names of other kinds; None where no reader fits."""
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """pass, measured, fail or refused."""
        return self.verdict.outcome

    @property
    def exit_code(self) -> int:
        """0 pass or measured, 1 fail, 3 refused."""
        return self.verdict.exit_code

    @property
    def concept(self) -> str:
        """The name of the concept these figures are of."""
        return str(self.settings["concept"]["name"])

    @property
    def excess(self) -> float | None:
        """Excess leakage by the attack the verdict rests on."""
        return None if self.verdict.row is None else self.verdict.row.excess

    @property
    def finding(self) -> FoundAndMissed | None:
        """Leakage on found and missed rows, by the attack the verdict rests on or else the first trained one.

        None where no attack was trained.
        """
        row = self.verdict.trained(self.attacks)
        return None if row is None else row.finding

    @property
    def informed(self) -> Figure | None:
        """How often the informed attacker named the term, with the exact interval; None where he could not.

        Several releases of one text count as one.
        """
        row = self.worst_case
        if row is None:
            return None
        exact = exact_share("named", round(row.released * row.rows), row.rows)
        return replace(exact, value=row.released)

    @property
    def linkage(self) -> AttackRow | None:
        """Which of the known texts a vector is of; None where that could not be asked."""
        return next((row for row in self.attacks if row.name == "linkage"), None)

    @property
    def utilities(self) -> tuple[Utility, ...]:
        """Every measure of utility, of all rows."""
        return tuple(each.every for each in self.uses)

    @property
    def utility(self) -> Utility:
        """The main measure of utility."""
        return self.utilities[0]

    def matched(self) -> dict[str, Any]:
        """The lowest excess leakage of what keeps 95 % of clean utility."""
        return matched(self.baselines, self.excess, self.utility.kept)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; docs/audit-schema.json says what they are."""
        row = self.verdict.row
        return {
            "certificate": self.certificate,
            "informed": None if self.informed is None else self.informed.to_dict(),
            "verdict": self.verdict.outcome,
            "reason": self.verdict.reason,
            "truth": self.truth.source,
            "cautions": list(self.cautions),
            "leakage": None if row is None else _leakage(row),
            "rows": None if self.finding is None else self.finding.to_dict(),
            "worst_case": None if self.worst_case is None else _leakage(self.worst_case),
            "oracle": None if self.oracle is None else self.oracle.to_dict(),
            "membership": None if self.membership is None else self.membership.to_dict(),
            "presence": None if self.presence is None else self.presence.to_dict(),
            "linkage": None if self.linkage is None else _shares(self.linkage),
            "concepts": [each.to_dict() for each in self.concepts],
            "utility": self.uses[0].to_dict(),
            "utilities": [each.to_dict() for each in self.uses],
            "attacks": [each.to_dict() for each in self.attacks],
            "left_out": [{"name": name, "reason": reason} for name, reason in self.left_out],
            "baselines": [each.to_dict() for each in self.baselines],
            "removal": None if self.removal is None else self.removal.to_dict(),
            "matched": self.matched() if self.baselines else None,
            "guarantee": self.guarantee,
            "noise": self.noise,
            "terms": list(self.terms),
            "examples": list(self.examples),
            "also_readable": None if self.readable is None else self.readable.to_dict(),
            "notes": list(self.notes),
            "settings": self.settings,
        }


def _shares(row: AttackRow) -> dict[str, float]:
    return {"released": row.released, "prior": row.prior}


def _leakage(row: AttackRow) -> dict[str, Any]:
    names = (
        "control", "floor", "floor_is", "prior", "released", "excess", "interval", "absolute",
        "absolute_interval",
    )  # fmt: skip
    values = row.to_dict()
    return {name: values[name] for name in names} | {"attack": row.name}
