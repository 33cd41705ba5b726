"""The curve of a certificate: how often an attacker is right about a term, for how often he cries wolf.

Plain characters for a terminal or a log file, or SVG without script, font or request.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from sfumato.certificates.tradeoff import TradeOff
from sfumato.certificates.words import NAMES, over_coin
from sfumato.types import Floats

_ROWS, _COLUMNS = 13, 51
_MARKS = {"median": "m", "p95": "9", "worst": "w"}
_COLOURS = {"median": "#1f77b4", "p95": "#b8860b", "worst": "#b22222"}
_DASHES = {"median": "", "p95": "7 3", "worst": "2 3"}
_SIDE, _LEFT, _TOP = 320, 56, 34


def caught(curve: TradeOff, alarms: Floats) -> Floats:
    """The largest share of releases of the second term that a test catches, at each share of false alarms."""
    return np.asarray(1 - curve.beta(alarms))


def distinct(curves: Mapping[str, TradeOff]) -> dict[str, TradeOff]:
    """One curve where all pairs are the same one."""
    if len({curve.worst_total_variation for curve in curves.values()}) > 1:
        return dict(curves)
    return {"worst": curves["worst"]}


def _named(name: str, curves: Mapping[str, TradeOff]) -> str:
    return NAMES[name] if len(curves) > 1 else "two terms"


def plain_curve(curves: Mapping[str, TradeOff]) -> list[str]:
    """Lines of plain characters."""
    canvas = [[" "] * _COLUMNS for _ in range(_ROWS)]
    alarms = np.linspace(0, 1, _COLUMNS)
    shown = distinct(curves)
    drawn = {"": alarms, **{name: caught(curve, alarms) for name, curve in reversed(shown.items())}}
    for name, shares in drawn.items():
        for column, share in enumerate(shares):
            canvas[round((1 - float(share)) * (_ROWS - 1))][column] = _MARKS.get(name, ".")
    lines = ["of two terms he says it was the second: rightly (up) and wrongly (across)"]
    for row, cells in enumerate(canvas):
        label = {0: "100%", (_ROWS - 1) // 2: " 50%", _ROWS - 1: "  0%"}.get(row, "    ")
        lines.append(f"{label} |{''.join(cells).rstrip()}")
    lines.append("     +" + "-" * _COLUMNS)
    lines.append("      0%" + " " * (_COLUMNS // 2 - 4) + "50%" + " " * (_COLUMNS // 2 - 4) + "100%")
    key = ", ".join(f"{_MARKS[name]} {_named(name, shown)}" for name in shown)
    return [*lines, f"      {key}, . a coin"]


def svg_curve(curves: Mapping[str, TradeOff], title: str) -> str:
    """The same as one SVG file."""
    curves = distinct(curves)
    alarms = np.r_[np.linspace(0, 0.1, 51), np.linspace(0.1, 1, 91)[1:]]
    width, height = _LEFT + _SIDE + 16, _TOP + _SIDE + 60 + 16 * len(curves)
    bottom = _TOP + _SIDE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="11" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="18" font-size="12">{escape(title)}</text>',
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#888"/>',
        f'<line x1="{_LEFT}" y1="{bottom}" x2="{_LEFT + _SIDE}" y2="{_TOP}" stroke="#bbb"/>',
    ]
    for share in (0.0, 0.5, 1.0):
        x, y = _LEFT + share * _SIDE, bottom - share * _SIDE
        parts.append(f'<text x="{x:.0f}" y="{bottom + 14}" text-anchor="middle">{share:.0%}</text>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{share:.0%}</text>')
    middle = _LEFT + _SIDE / 2
    parts.append(
        f'<text x="{middle:.0f}" y="{bottom + 30}" text-anchor="middle">'
        "says it was the second term, and is wrong</text>"
    )
    parts.append(
        f'<text transform="translate(14 {_TOP + _SIDE / 2:.0f}) rotate(-90)" text-anchor="middle">'
        "says so, and is right</text>"
    )
    for number, (name, curve) in enumerate(curves.items()):
        places = _places(alarms, caught(curve, alarms))
        pen = f'stroke="{_COLOURS[name]}" stroke-width="2" stroke-dasharray="{_DASHES[name]}"'
        parts.append(f'<polyline fill="none" {pen} points="{places}"/>')
        y = bottom + 48 + 16 * number
        parts.append(f'<line x1="{_LEFT}" y1="{y - 4}" x2="{_LEFT + 28}" y2="{y - 4}" {pen}/>')
        said = f"{_named(name, curves)}: total variation at most {over_coin(curve.worst_total_variation)}"
        parts.append(f'<text x="{_LEFT + 36}" y="{y}">{escape(said)}</text>')
    near = [curve for curve in curves.values() if np.isfinite(curve.mu) and curve.mu > 0]
    for curve in near:
        places = _places(alarms, 1 - curve.gaussian(alarms))
        parts.append(f'<polyline class="asymptotic" fill="none" stroke="#000" points="{places}"/>')
    if near:
        said = f"thin, black: asymptotic (no bound), mu {', '.join(f'{curve.mu:.3g}' for curve in near)}"
        parts.append(f'<text x="{_LEFT}" y="{bottom + 48 + 16 * len(curves)}">{escape(said)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _places(across: Floats, up: Floats) -> str:
    """Points of a line in the picture."""
    return " ".join(
        f"{_LEFT + x * _SIDE:.1f},{_TOP + _SIDE - y * _SIDE:.1f}"
        for x, y in zip(across.tolist(), up.tolist(), strict=True)
    )
