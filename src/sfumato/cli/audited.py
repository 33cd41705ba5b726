"""What becomes of an audit: page, JSON, SARIF, a comparison with an earlier one, and the exit code."""

from __future__ import annotations

import json as plain
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.auditing import Audit
from sfumato.auditing.compare import compare
from sfumato.cli.output import console, write_json
from sfumato.files import write_atomic
from sfumato.report import audit_page
from sfumato.report.sarif import sarif_log

_GREW = 1


def hand_over(
    found: Audit,
    source: str,
    earlier: Mapping[str, Any] | None,
    *,
    sarif: Path | None,
    page: Path | None,
    json: Path | None,
) -> int:
    """Write what was asked for and return the exit code: the verdict's, or 1 if leakage grew."""
    figures = found.to_dict()
    if page is not None:
        write_atomic(page, audit_page(found).encode())
        console().print(f"Report: {page}", highlight=False)
    write_json(json, figures)
    change = None if earlier is None else compare(earlier, figures)
    if change is not None:
        said = f"{'GREW' if change.grew else 'no growth'}  {change.words()}"
        console().print(said, highlight=False, markup=False)
    if sarif is not None:
        grown = change.words() if change is not None and change.grew else None
        write_atomic(sarif, plain.dumps(sarif_log(figures, source, grown), indent=2).encode())
    return found.exit_code or (_GREW if change is not None and change.grew else 0)
