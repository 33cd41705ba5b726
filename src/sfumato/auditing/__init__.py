"""Audits: how much do these vectors leak, what are they still good for, and is that within the limit?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.auditing.result import Audit
    from sfumato.auditing.run import audit
    from sfumato.auditing.settings import AuditSettings
    from sfumato.auditing.verdict import EXIT_CODES, Verdict
    from sfumato.trials.suite import SUITES, Suite
    from sfumato.trials.utility import ScoredPairs, Searches

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "result": "Audit",
        "run": "audit",
        "settings": "AuditSettings",
        "verdict": "EXIT_CODES Verdict",
        "sfumato.trials.suite": "SUITES Suite",
        "sfumato.trials.utility": "ScoredPairs Searches",
    },
)

__all__ = [
    "EXIT_CODES",
    "SUITES",
    "Audit",
    "AuditSettings",
    "ScoredPairs",
    "Searches",
    "Suite",
    "Verdict",
    "audit",
]
