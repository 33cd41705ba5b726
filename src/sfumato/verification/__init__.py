"""Statistical and bit-level checks that each sampler is what it claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.bits import excluded, identified, identify
    from sfumato.verification.cases import CASES, Case
    from sfumato.verification.pivots import Pivots
    from sfumato.verification.report import CheckRow, Verification
    from sfumato.verification.suite import verify
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "sfumato.bits": "excluded identified identify",
            "cases": "CASES Case",
            "pivots": "Pivots",
            "report": "CheckRow Verification",
            "suite": "verify",
        },
    )

__all__ = [
    "CASES",
    "Case",
    "CheckRow",
    "Pivots",
    "Verification",
    "excluded",
    "identified",
    "identify",
    "verify",
]
