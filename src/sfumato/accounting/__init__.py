"""What a release promises, what has been spent on each text, and the keys of sticky noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.accounting.guarantee import Guarantee, Substitutions
    from sfumato.accounting.identity import of_vectors
    from sfumato.accounting.keys import Secret
    from sfumato.accounting.ledger import Ledger, Receipt, Spend
    from sfumato.accounting.sticky import Sticky

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "guarantee": "Guarantee Substitutions",
        "identity": "of_vectors",
        "keys": "Secret",
        "ledger": "Ledger Receipt Spend",
        "sticky": "Sticky",
    },
)

__all__ = ["Guarantee", "Ledger", "Receipt", "Secret", "Spend", "Sticky", "Substitutions", "of_vectors"]
