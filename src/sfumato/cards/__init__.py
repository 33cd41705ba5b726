"""Privacy cards: what is certified, what was measured and of what, in one file that can be checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.cards.checking import Check, check_card
    from sfumato.cards.keys import CardKey, new_card_key, read_public_key
    from sfumato.cards.making import describe_audit, make_card
    from sfumato.cards.page import card_page
    from sfumato.cards.signing import sign_card
    from sfumato.cards.targets import CardTarget, open_target

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "checking": "Check check_card",
        "keys": "CardKey new_card_key read_public_key",
        "making": "describe_audit make_card",
        "page": "card_page",
        "signing": "sign_card",
        "targets": "CardTarget open_target",
    },
)

__all__ = [
    "CardKey",
    "CardTarget",
    "Check",
    "card_page",
    "check_card",
    "describe_audit",
    "make_card",
    "new_card_key",
    "open_target",
    "read_public_key",
    "sign_card",
]
