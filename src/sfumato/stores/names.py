"""How a product lets its collections be named: a name it would refuse is refused before it is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfumato.errors import ParameterError


@dataclass(frozen=True, slots=True)
class NameRule:
    """What a whole name must match."""

    what: str
    """What is named."""
    pattern: str
    said: str
    """The pattern in words."""

    def allows(self, name: str) -> bool:
        """Whether it may be given."""
        return re.fullmatch(self.pattern, name) is not None

    def check(self, name: str) -> str:
        """The name, if it may be given."""
        if not self.allows(name):
            raise ParameterError(f"{self.what} must be named by {self.said}. Found {name!r:.40}.")
        return name
