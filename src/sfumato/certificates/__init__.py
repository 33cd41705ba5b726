"""Certificates: what an attacker can do with a release, whatever he computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.certificates.composition import composed_trade_off
    from sfumato.certificates.statement import Certificate, certify
    from sfumato.certificates.success import (
        bayes_security,
        binary_success,
        candidate_success,
        leaked_bits,
        success_from,
    )
    from sfumato.certificates.tradeoff import TradeOff, trade_off

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "composition": "composed_trade_off",
        "statement": "Certificate certify",
        "success": "bayes_security binary_success candidate_success leaked_bits success_from",
        "tradeoff": "TradeOff trade_off",
    },
)

__all__ = [
    "Certificate",
    "TradeOff",
    "bayes_security",
    "binary_success",
    "candidate_success",
    "certify",
    "composed_trade_off",
    "leaked_bits",
    "success_from",
    "trade_off",
]
