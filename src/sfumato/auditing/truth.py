"""Who decides what is sensitive in an audit: people who labelled it, or a detector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfumato.concepts.concept import Concept
from sfumato.protector import Protector
from sfumato.trials.finding import FoundAndMissed


@dataclass(frozen=True, slots=True)
class Truth:
    """Where the attacked terms, the floor and the prior come from."""

    source: Literal["labels", "detector"]
    found_by: str
    """What names the sensitive terms."""
    own: bool
    """Whether the protector hides by the same means, so that nothing it misses can show."""

    @classmethod
    def of(cls, concept: Concept, protector: Protector | None) -> Truth:
        """Labels are the truth only where the protector does not take its own terms from them."""
        hidden = () if protector is None else protector.concepts
        own = any(concept == each for each in hidden)
        if concept.source == "spans":
            given = {label.casefold() for each in hidden for label in each.labels}
            own = own or {label.casefold() for label in concept.labels} <= given
        labelled = concept.source == "spans" and not own
        return cls("labels" if labelled else "detector", concept.found_by, own)

    def words(self, finding: FoundAndMissed | None = None) -> str:
        """What a reader has to know of the figures before he reads one."""
        if self.own:
            return (
                f"The truth here is the protector's own detector ({self.found_by}): a term that it misses is "
                "neither attacked nor counted. Label some texts and name the label with --truth-spans to "
                "see what it misses."
            )
        if self.source == "detector":
            return (
                f"The truth here is a detector ({self.found_by}): a term that it misses is neither attacked "
                "nor counted."
            )
        said = f"The truth here is labels ({self.found_by})"
        if finding is None or finding.found is None or finding.missed is None:
            return f"{said}; which of them a detector found is not known."
        return (
            f"{said}: the protector's own detector finds every term of {finding.found.count} of the "
            f"{finding.every.count} attacked texts."
        )
