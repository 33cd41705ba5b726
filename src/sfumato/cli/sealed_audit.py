"""`sfumato audit --store` on a sealed collection: no vector to attack, so what it shows is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from sfumato.auditing import AuditSettings
from sfumato.cli.output import console, write_json
from sfumato.cli.progress import progress
from sfumato.errors import InputError
from sfumato.sealing.inspection.snapshot import Snapshot, is_sealed, look_at
from sfumato.stores.opening import open_store
from sfumato.version import __version__

_NO_VECTORS = "a sealed collection holds no vector of a text"
_KEYLESS = (
    "Checked without the key, against a simulator that knows counts and sizes: what watching queries or two "
    "snapshots tell is not measured here."
)


def audit_sealed(
    url: str, settings: AuditSettings, command: str, out: Path | None, json: Path | None
) -> None:
    """Audit a collection if it is a sealed one, and leave with the verdict's exit code; else return."""
    with open_store(url, create=False) as store:
        if not is_sealed(store):
            return
        if out is not None:
            raise InputError(f"{store.label} is sealed: there is no page of figures for it. Use --json FILE.")
        with progress("looking at what the store holds", None):
            found = look_at(store)
    _show(found)
    write_json(json, _facts(found, settings, command))
    raise typer.Exit(0 if found.holds else 1)


def _reason(found: Snapshot) -> str:
    broken = [each.name for each in found.checks if not each.holds]
    if broken:
        return f"It is a sealed collection, and shows more than counts and sizes: {', '.join(broken)}."
    return (
        f"It is a sealed collection: {found.records} records of {len(found.sizes)} sizes, and nothing else "
        "that a simulator given counts and sizes would not make."
    )


def _show(found: Snapshot) -> None:
    def line(text: str) -> None:
        console().print(text, highlight=False, markup=False, soft_wrap=True)

    line(f"{found.label}: sealed, {found.records} records")
    for size, count in sorted(found.sizes.items()):
        line(f"  {count} of {size} bytes")
    for each in found.checks:
        line(f"{'holds' if each.holds else 'FAILS'}  {each.name}: {each.words}")
    line(f"\n{'PASS' if found.holds else 'FAIL'}  {_reason(found)}")
    line(f"Note: {_KEYLESS}")


def _facts(found: Snapshot, settings: AuditSettings, command: str) -> dict[str, Any]:
    """The same keys as every audit's, null where there is nothing to measure, and `sealed`."""
    outcome = "pass" if found.holds else "fail"
    nothing = (
        "also_readable",
        "certificate",
        "informed",
        "leakage",
        "rows",
        "worst_case",
        "oracle",
        "membership",
        "presence",
        "linkage",
        "utility",
        "removal",
        "matched",
    )
    empty = ("concepts", "utilities", "attacks", "baselines", "terms", "examples", "notes")
    return {
        "verdict": outcome,
        "reason": _reason(found),
        "truth": "none",
        "cautions": [_KEYLESS],
        **dict.fromkeys(nothing),
        **{name: [] for name in empty},
        "left_out": [{"name": name, "reason": _NO_VECTORS} for name in ("attacks", "utility", "baselines")],
        "guarantee": {
            "mechanism": "sealed", "epsilon": "inf", "metric": "none", "proof": "conditional", "delta": 0.0,
            "worst_case_l2": "inf", "slack": 0.0, "releases": 0,
            "notes": ["A snapshot can be produced from counts and sizes alone, under AES and HMAC as a PRF."],
        },
        "noise": {"ratio": None, "cosine": None},
        "settings": {
            **settings.to_dict(),
            "target": "sealed", "protector": None, "parameters": None, "neutral": None,
            "neutral_by": None, "embedder": None,
            "dim": 0, "texts": 0, "truth_labels": [], "pool": 0, "learned_from": 0, "attacked": 0,
            "groups": 0, "releases_read": 0, "texts_embedded": 0, "coverage": 0.0, "margin": 0.0,
            "sfumato": __version__, "command": command,
            "concept": {"name": "everything", "source": "sealed", "found_by": "sealed", "terms": 0},
        },
        "sealed": found.to_dict(),
    }  # fmt: skip
