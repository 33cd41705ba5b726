"""The page on which suggested spans are ticked, and the confirmed terms saved as a file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from markupsafe import Markup

from sfumato.report.page import render
from sfumato.suggesting.search import Suggestion
from sfumato.suggesting.spans import as_terms

_AROUND = 60
"""Characters of a note that are shown on each side of a span."""


def suggestion_page(
    texts: Sequence[str], found: Sequence[Suggestion], like: Sequence[str], describe: str, *, name: str
) -> str:
    """Return one self-contained page; `name` is that of the file that it saves."""
    rows = [{"each": each, **_shown(texts[each.row], each.start, each.end)} for each in found]
    script = render("suggest.js")
    # The browser runs this script and no other, whatever a note holds.
    digest = "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values = {"rows": rows, "like": list(like), "given": as_terms(like), "describe": describe, "name": name}
    return render("suggest.html.j2", script=Markup(script), digest=digest, **values)


def _shown(text: str, start: int, end: int) -> dict[str, str]:
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    cut_before, cut_after = "…" if start > _AROUND else "", "…" if end + _AROUND < len(text) else ""
    return {"before": cut_before + before, "here": text[start:end], "after": after + cut_after}
