"""Draws a table of shares as a heat map, in SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_LEFT, _TOP, _HIGH = 110, 34, 20


def heat_map(
    values: Sequence[Sequence[float]], *, rows: Sequence[str], columns: Sequence[str], title: str
) -> str:
    """Draw shares from 0 (white) to 1 (dark).

    Args:
        values: one list a row.
        rows: their names.
        columns: the names of the columns, written upright below.
        title: stands above, and is what a screen reader says.
    """
    wide = max(8.0, min(28.0, 620 / max(len(columns), 1)))
    width, height = _LEFT + wide * len(columns) + 16, _TOP + _HIGH * len(rows) + 46
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
        f'<text x="10" y="20" font-weight="600">{escape(title)}</text>',
    ]
    for number, (name, line) in enumerate(zip(rows, values, strict=True)):
        down = _TOP + number * _HIGH
        parts.append(f'<text x="{_LEFT - 8}" y="{down + 14}" text-anchor="end">{escape(name)}</text>')
        for place, value in enumerate(line):
            shade = min(max(value, 0.0), 1.0)
            parts.append(
                f'<rect x="{_LEFT + place * wide:.1f}" y="{down}" width="{wide:.1f}" height="{_HIGH}" '
                f'fill="#1f6f8b" fill-opacity="{shade:.2f}" stroke="#ddd" stroke-width="0.5">'
                f"<title>{escape(name)}, {escape(columns[place])}: {value:.2f}</title></rect>"
            )
    below = _TOP + _HIGH * len(rows) + 6
    for place, name in enumerate(columns):
        across = _LEFT + (place + 0.5) * wide + 3
        parts.append(
            f'<text x="{across:.1f}" y="{below}" font-size="9" text-anchor="end" '
            f'transform="rotate(-90 {across:.1f} {below})">{escape(name)}</text>'
        )
    return "".join([*parts, "</svg>\n"])
