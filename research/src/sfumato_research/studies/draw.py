"""Draws curves as SVG, readable on paper and on a screen, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 34, 56
COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#8e6c8a", "#b08900", "#3d5a80", "#7f5539", "#666666")
_DASHES = ("", "7 4", "2 3", "9 3 2 3")


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of points, each perhaps with an interval."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    joined: bool = True


def curves(
    lines: Sequence[Curve],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_log: bool = False,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
) -> str:
    """Draw some curves over one another.

    Args:
        lines: the curves.
        title: stands above, and is what a screen reader says.
        x_label: what runs to the right.
        y_label: what runs upwards.
        x_log: whether the horizontal axis is logarithmic.
        x_range: lowest and highest value shown; what the data need, if left out.
        y_range: the same upwards; points beyond are drawn at the edge.
    """
    xs = [math.log10(v) if x_log else v for line in lines for v in line.x]
    ys = [v for line in lines for part in (line.y, line.low or (), line.high or ()) for v in part]
    x_ticks = _ticks(*(x_range or (min(xs), max(xs))))
    y_ticks = _ticks(*(y_range or (min(ys), max(ys))))
    x_span, y_span = (x_ticks[0], x_ticks[-1]), (y_ticks[0], y_ticks[-1])

    def across(value: float) -> float:
        place = math.log10(value) if x_log else value
        return _LEFT + (place - x_span[0]) / (x_span[1] - x_span[0]) * (WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        share = (min(max(value, y_span[0]), y_span[1]) - y_span[0]) / (y_span[1] - y_span[0])
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    shown = [10**tick if x_log else tick for tick in x_ticks]
    parts = _frame(
        title, x_label, y_label, {tick: across(tick) for tick in shown}, {t: up(t) for t in y_ticks}
    )
    for number, line in enumerate(lines):
        parts += _curve(number, line, [across(v) for v in line.x], [up(v) for v in line.y])
        if line.low is not None and line.high is not None:
            for x, low, high in zip(line.x, line.low, line.high, strict=True):
                parts.append(
                    f'<line x1="{across(x):.1f}" x2="{across(x):.1f}" y1="{up(low):.1f}" y2="{up(high):.1f}" '
                    f'stroke="{_colour(number)}" stroke-opacity="0.6"/>'
                )
    return "".join([*parts, "</svg>\n"])


def _frame(
    title: str, x_label: str, y_label: str, across: dict[float, float], up: dict[float, float]
) -> list[str]:
    """The title, both axes and their ticks: which value stands where."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20" font-weight="600">{escape(title)}</text>',
    ]
    for tick, place in up.items():
        parts.append(
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{place:.1f}" y2="{place:.1f}" '
            f'stroke="#ddd"/><text x="{_LEFT - 8}" y="{place + 4:.1f}" text-anchor="end">{tick:g}</text>'
        )
    for tick, place in across.items():
        parts.append(
            f'<text x="{place:.1f}" y="{HEIGHT - _BOTTOM + 20}" text-anchor="middle">{tick:.3g}</text>'
        )
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    return [
        *parts,
        f'<text x="{middle:.0f}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text x="16" y="{HEIGHT / 2:.0f}" text-anchor="middle" '
        f'transform="rotate(-90 16 {HEIGHT / 2:.0f})">{escape(y_label)}</text>',
    ]


def _curve(number: int, line: Curve, xs: list[float], ys: list[float]) -> list[str]:
    colour = _colour(number)
    height = _TOP + 14 + 22 * number
    dash = f' stroke-dasharray="{_DASHES[number // len(COLOURS) % len(_DASHES)]}"'
    parts = [
        f'<circle cx="{WIDTH - _RIGHT + 18}" cy="{height}" r="4" {_paint(number)}/>'
        f'<text x="{WIDTH - _RIGHT + 28}" y="{height + 4}">{escape(line.label)}</text>'
    ]
    if line.joined:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 if number == 0 else 3.5}" {_paint(number)}>'
        f"<title>{escape(line.label)}</title></circle>"
        for x, y in zip(xs, ys, strict=True)
    ]
    return parts


def _paint(number: int) -> str:
    """Filled, or hollow where the colours begin again."""
    filled = number < len(COLOURS)
    return (
        f'fill="{_colour(number)}"' if filled else f'fill="#fff" stroke="{_colour(number)}" stroke-width="2"'
    )


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _ticks(low: float, high: float) -> list[float]:
    """Round places that cover a range, five to ten of them."""
    if high <= low:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 5
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]
