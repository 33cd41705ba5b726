"""What becomes of an audit: page, JSON, SARIF, a comparison with an earlier one, and the exit code."""

from __future__ import annotations

import json as plain
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.auditing import Audit
from sfumato.auditing.compare import compare
from sfumato.cli.output import STANDARD_OUTPUT, as_json, console, write_json, write_result
from sfumato.errors import ArtifactError
from sfumato.report import audit_page
from sfumato.report.sarif import sarif_log

_GREW = 1
Results = list[tuple[Path, Callable[[], str]]]


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
    change = None if earlier is None else compare(earlier, figures)
    if change is not None:
        said = f"{'GREW' if change.grew else 'no growth'}  {change.words()}"
        console().print(said, highlight=False, markup=False)
    results: Results = [] if page is None else [(page, lambda: audit_page(found))]
    if json is not None and str(json) != STANDARD_OUTPUT:
        results.append((json, lambda: as_json(figures)))
    else:
        write_json(json, figures)
    if sarif is not None:
        grown = change.words() if change is not None and change.grew else None
        results.append((sarif, lambda: plain.dumps(sarif_log(figures, source, grown), indent=2)))
    _write(results)
    return found.exit_code or (_GREW if change is not None and change.grew else 0)


def _write(results: Results) -> None:
    """Write every file that can be written; the first that cannot is the error."""
    failed: ArtifactError | None = None
    for place, made in results:
        try:
            write_result(place, made().encode())
            if place.suffix == ".html":
                console().print(f"Report: {place}", highlight=False)
        except ArtifactError as error:
            failed = failed or error
    if failed is not None:
        raise failed
