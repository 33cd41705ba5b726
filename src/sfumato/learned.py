"""How a protector was learned, for the record and for what its promise rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sfumato.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What is known of it; None where nobody said."""

    model_id: str | None = None
    """The encoder it was learned for, exactly."""
    dim: int | None = None
    source: str | None = None
    """What kind of text it was learned from."""
    shape: str | None = None
    """"ellipsoid" or "mask"."""
    concepts: Mapping[str, Any] = field(default_factory=dict)
    """Statistics of the pairs each concept was learned from, by its name."""
    kind: str | None = None
    strength: float | None = None
    rank: int | None = None
    """Of the ellipsoid."""
    agreement: float | None = None
    """How far the ellipsoids of two halves of the texts agree, where not all were used."""
    background_rows: int | None = None
    background_source: str | None = None
    substitution_distances: Mapping[str, float] | None = None
    """How far apart two terms are in the mechanism's metric: median, p95 and max."""
    distances_by_removal: bool | None = None
    """Whether some of these are twice the distance to the text without its term, for want of another term."""
    loss_over_substitutions: Mapping[str, float] | None = None
    """What that costs, in privacy loss."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else was written down, by a later version or a user."""

    @classmethod
    def of(cls, given: Learned | Mapping[str, Any]) -> Learned:
        """Return the record itself, or the one that a mapping such as `config.json` writes down."""
        if isinstance(given, Learned):
            return given
        if not isinstance(given, Mapping):
            raise ParameterError(f"`learned` must be a record or a mapping. Found {type(given).__name__}.")
        known = {each.name for each in fields(cls)} - {"more"}
        own = {name: value for name, value in given.items() if name in known}
        return cls(**own, more={name: value for name, value in given.items() if name not in known})

    def to_dict(self) -> dict[str, Any]:
        """What `of` makes it again from, ready for JSON."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "more"}
        return {name: value for name, value in own.items() if value is not None and value != {}} | dict(
            self.more
        )
