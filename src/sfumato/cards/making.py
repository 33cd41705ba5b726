"""What stands on a card: the certificate, the audit's figures, and what they are of; never a text."""

from __future__ import annotations

import hashlib
import hmac
import platform
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

from sfumato.artifacts import canonical_json
from sfumato.cards.schema import MEASURED, problems
from sfumato.errors import ArtifactError, InputError
from sfumato.version import __version__

FORMAT = 1
KIND = "sfumato-privacy-card"
SALT_BYTES = 32
_FIGURES = ("control", "floor", "floor_is", "prior", "released", "excess", "interval", "absolute",
            "absolute_interval", "attack")  # fmt: skip
_UTILITY = ("metric", "clean", "released", "kept", "interval", "rows")
_SETTINGS = ("suite", "seed", "rows", "attacks", "worst_case", "fail_above", "fail_absolute_above", "texts",
             "learned_from", "attacked", "groups")  # fmt: skip
_RELEASES = ("oracle", "linkage", "presence")


def make_card(
    target: Mapping[str, Any],
    certificate: Mapping[str, Any],
    audit: Mapping[str, Any],
    *,
    audit_digest: str,
    texts: Mapping[str, Any] | None = None,
    made: str | None = None,
) -> dict[str, Any]:
    """Everything on a card but its signature.

    Args:
        target: what it is of, as `open_target` describes it.
        certificate: as `sfumato explain --json` writes it.
        audit: what `sfumato audit --json` wrote.
        audit_digest: SHA-256 of that file.
        texts: from `commit`, where the audited texts were given.
        made: when, in UTC; now, if left out.
    """
    measured, settings = describe_audit(audit)
    if settings["protector"] != target["settings_digest"]:
        raise InputError(
            "The audit must be of this protector. Found one of another, or of an older version: run it again."
        )
    sealed = audit.get("sealed") or {}
    if target["sealed"] is not None and sealed.get("records") != target["sealed"]["records"]:
        raise InputError("The audit must be of this collection as it is now. Found another: run it again.")
    body = {
        "format": FORMAT,
        "kind": KIND,
        "made": made or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "certificate": dict(certificate),
        "measured": measured,
        "target": dict(target),
        "data": {"audit_sha256": audit_digest, "texts": None if texts is None else dict(texts)},
        "settings": settings | {"candidates": certificate["candidates"]},
        "versions": _versions(str(audit["settings"].get("sfumato", ""))),
    }
    if wrong := problems({**body, "signer": None, "signature": None}, unsigned=True):
        raise ArtifactError(f"The audit or the protector holds what no card may: {wrong[0]}.")
    return body


def describe_audit(audit: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The figures of an audit, and its settings: no text, no term, no name of a file."""
    try:
        settings, leakage = audit["settings"], audit["leakage"]
        measured = {
            "verdict": audit["verdict"],
            "truth": audit["truth"],
            "concept": settings["concept"]["name"],
            "cautions": list(audit["cautions"]),
            "leakage": None if leakage is None else {name: leakage[name] for name in _FIGURES},
            "informed": audit["informed"],
            "utility": [{name: each[name] for name in _UTILITY} for each in audit["utilities"]],
            **{name: audit[name] for name in _RELEASES},
        }
        chosen = {name: settings[name] for name in _SETTINGS}
        chosen |= {
            "protector": settings["protector"],
            "truth_labels": settings["truth_labels"],
            "options": _options(settings.get("command")),
        }
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(
            "The audit must be what `sfumato audit --json` of this version writes. Found something else."
        ) from None
    if wrong := problems(measured, MEASURED):
        raise ArtifactError(f"The audit holds what no card may: {wrong[0]}.")
    return measured, chosen


def _options(command: str | None) -> list[str] | None:
    """The names of the options an audit was run with; None where nobody wrote them down."""
    if command is None:
        return None
    return sorted({word for word in shlex.split(command) if word.startswith("--")})


def commit(texts: Sequence[str], salt: bytes) -> dict[str, Any]:
    """How many texts there are, and a digest of them that tells nothing without the salt.

    A plain digest would let whoever knows all but one term try every term.
    """
    made = hmac.digest(salt, canonical_json(list(texts)), "sha256").hex()
    return {"rows": len(texts), "commitment": made}


def file_digest(content: bytes) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(content).hexdigest()


def _versions(audited: str) -> dict[str, str]:
    packages = {name: version(name) for name in ("numpy", "scipy", "cryptography")}
    return {"sfumato": __version__, "audited_with": audited, "python": platform.python_version(), **packages}
