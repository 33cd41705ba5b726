"""An audit as SARIF 2.1.0 (OASIS), the format in which code hosts show what a check found.

One result a concept that failed, could not be judged, or was measured without a limit: figures, never a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from sfumato.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RULES = {
    "SFU001": (
        "LeakageAboveLimit",
        "Released vectors give away a sensitive term more often than the limit allows.",
    ),
    "SFU002": (
        "AuditRefused",
        "Nothing could be judged: no attack works here, or vectors and texts do not belong together.",
    ),
    "SFU003": ("LeakageMeasured", "Leakage was measured; no limit was given."),
    "SFU004": ("LeakageGrew", "Leakage grew since an earlier audit by more than chance explains."),
}
_BY_VERDICT = {"fail": ("SFU001", "error"), "refused": ("SFU002", "warning"), "measured": ("SFU003", "note")}


def sarif_log(audit: Mapping[str, Any], source: str, grown: str | None = None) -> dict[str, Any]:
    """The log of one audit.

    Args:
        audit: what `sfumato audit --json` writes.
        source: the file that was audited; only its name is given on.
        grown: why a comparison with an earlier audit failed; None where it did not, or there was none.
    """
    results = [
        _result(*_BY_VERDICT[each["verdict"]], f"{each['name']}: {each['reason']}", source, each)
        for each in audit["concepts"] or [_whole(audit)]
        if each["verdict"] in _BY_VERDICT
    ]
    if grown is not None:
        results.append(_result("SFU004", "error", grown, source, _whole(audit)))
    driver = {
        "name": "sfumato",
        "semanticVersion": __version__,
        "rules": [_rule(name, *words) for name, words in RULES.items()],
    }
    run = {"tool": {"driver": driver}, "results": results, "properties": {"verdict": audit["verdict"]}}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _whole(audit: Mapping[str, Any]) -> dict[str, Any]:
    """The audit as if it were its only concept."""
    name = audit["settings"]["concept"]["name"]
    return {"name": name} | {key: audit[key] for key in ("verdict", "reason", "leakage")}


def _rule(name: str, title: str, words: str) -> dict[str, Any]:
    return {"id": name, "name": title, "shortDescription": {"text": words}}


def _result(rule: str, level: str, words: str, source: str, each: Mapping[str, Any]) -> dict[str, Any]:
    place = {"physicalLocation": {"artifactLocation": {"uri": PurePath(source).name}}}
    leakage = each["leakage"] or {}
    figures = {
        name: leakage[name] for name in ("attack", "released", "excess", "absolute") if name in leakage
    }
    return {
        "ruleId": rule,
        "ruleIndex": list(RULES).index(rule),
        "level": level,
        "message": {"text": words},
        "locations": [place],
        "partialFingerprints": {"sfumato/v1": f"{rule}/{each['name']}"},
        "properties": figures,
    }
