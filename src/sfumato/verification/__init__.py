"""Statistical and bit-level checks that each sampler is what it claims."""

from sfumato.verification.bits import excluded, identified, identify
from sfumato.verification.cases import CASES, Case
from sfumato.verification.pivots import Pivots, pivots
from sfumato.verification.report import CheckRow, Verification
from sfumato.verification.suite import verify

__all__ = [
    "CASES",
    "Case",
    "Pivots",
    "CheckRow",
    "Verification",
    "excluded",
    "identified",
    "identify",
    "pivots",
    "verify",
]
