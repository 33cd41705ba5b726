"""Audits: how much do these vectors leak, what are they still good for, and is that within the limit?"""

from sfumato.auditing.result import Audit
from sfumato.auditing.run import audit
from sfumato.auditing.settings import AuditSettings
from sfumato.auditing.verdict import EXIT_CODES, Verdict
from sfumato.trials.suite import SUITES, Suite
from sfumato.trials.utility import ScoredPairs, Searches

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
