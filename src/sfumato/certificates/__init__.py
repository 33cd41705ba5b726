"""Certificates: what an attacker can do with a release, whatever he computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.certificates.composition import composed_trade_off
    from sfumato.certificates.detection import MissRate, miss_rate
    from sfumato.certificates.measuring import InformedTrials, informed_success
    from sfumato.certificates.protecting import certificate_of
    from sfumato.certificates.shown import shown_code, shown_geometry, shown_nothing
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
        "detection": "MissRate miss_rate",
        "measuring": "InformedTrials informed_success",
        "protecting": "certificate_of",
        "shown": "shown_code shown_geometry shown_nothing",
        "statement": "Certificate certify",
        "success": "bayes_security binary_success candidate_success leaked_bits success_from",
        "tradeoff": "TradeOff trade_off",
    },
)

__all__ = [
    "Certificate",
    "InformedTrials",
    "MissRate",
    "TradeOff",
    "bayes_security",
    "binary_success",
    "candidate_success",
    "certificate_of",
    "certify",
    "composed_trade_off",
    "informed_success",
    "leaked_bits",
    "miss_rate",
    "shown_code",
    "shown_geometry",
    "shown_nothing",
    "success_from",
    "trade_off",
]
