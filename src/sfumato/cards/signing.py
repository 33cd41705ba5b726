"""What is signed: all of a card but the signature, in one spelling, under a name that nothing else signs.

The spelling: keys sorted, no spaces, UTF-8, whole numbers in digits, other numbers as the shortest decimal
that reads back the same (`artifacts.canonical_json`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from sfumato.artifacts import canonical_json
from sfumato.cards.keys import CardKey
from sfumato.sealing.crypto.signing import signed_by

_PURPOSE = b"sfumato privacy card 1\0"
ALGORITHM = "Ed25519"


def sign_card(body: Mapping[str, Any], key: CardKey) -> dict[str, Any]:
    """The card: its contents, who signs, and the signature of both."""
    signer = {"algorithm": ALGORITHM, "public_key": key.public}
    card = {**body, "signer": signer}
    return {**card, "signature": key.sign(signed_bytes(card)).hex()}


def signed_bytes(card: Mapping[str, Any]) -> bytes:
    """What the signature of a card is of."""
    return _PURPOSE + canonical_json({name: value for name, value in card.items() if name != "signature"})


def card_digest(card: Mapping[str, Any]) -> str:
    """SHA-256 of what is signed: a name for exactly this card."""
    return hashlib.sha256(signed_bytes(card)).hexdigest()


def signature_holds(card: Mapping[str, Any], public: str) -> bool:
    """Whether the card is signed with this key, and says so itself."""
    if card["signer"] != {"algorithm": ALGORITHM, "public_key": public}:
        return False
    return signed_by(public, signed_bytes(card), bytes.fromhex(card["signature"]))
