"""A line chart as inline SVG: no script, no font, no request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#3b5b92", "#b5533c", "#4f8a5b", "#8a6d3b", "#7a4f8a", "#3b8a8a", "#555555")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 380, 64, 170, 20, 52


@dataclass(frozen=True, slots=True)
class Series:
    """One labelled line through points in [0, 1] x [0, 1]."""

    label: str
    points: Sequence[tuple[float, float]]


def _place(x: float, y: float) -> tuple[float, float]:
    across = _LEFT + x * (_WIDTH - _LEFT - _RIGHT)
    down = _TOP + (1 - y) * (_HEIGHT - _TOP - _BOTTOM)
    return across, down


def line_chart(series: Sequence[Series], x_label: str, y_label: str, title: str) -> str:
    """Draw the series on axes from 0 to 1, each with its own colour, dash and label."""
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}" '
        'xmlns="http://www.w3.org/2000/svg" font-family="inherit" font-size="13">'
    ]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        (x0, y0), (x1, y1) = _place(0, tick), _place(1, tick)
        parts.append(f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{x0 - 8:.1f}" y="{y0 + 4:.1f}" text-anchor="end" fill="#555">{tick:.0%}</text>'
        )
        x, y = _place(tick, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle" fill="#555">{tick:.0%}</text>')
    middle_x, bottom = _place(0.5, 0)
    parts.append(
        f'<text x="{middle_x:.1f}" y="{bottom + 42:.1f}" text-anchor="middle">{escape(x_label)}</text>'
    )
    left, middle_y = _place(0, 0.5)
    parts.append(
        f'<text transform="translate({left - 48:.1f} {middle_y:.1f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>"
    )
    for index, line in enumerate(series):
        colour, dash = COLOURS[index % len(COLOURS)], ("", "6 3", "2 3")[index % 3]
        placed = [_place(x, y) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        pen = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{path}" fill="none" {pen}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in placed]
        row = _TOP + 14 + 22 * index
        parts.append(
            f'<line x1="{_WIDTH - _RIGHT + 14}" y1="{row - 4}" x2="{_WIDTH - _RIGHT + 38}" y2="{row - 4}" '
            f"{pen}/>"
            f'<text x="{_WIDTH - _RIGHT + 44}" y="{row}">{escape(line.label)}</text>'
        )
    return "".join([*parts, "</svg>"])
