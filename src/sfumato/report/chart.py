"""The picture of privacy against utility as inline SVG: no script, no font, no request.

Colours are CSS variables of the page, so that the picture follows a light or a dark screen and prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sfumato.metrics.intervals import Interval

COLOURS = 8
"""How many colours the page has; series beyond that share them, with another dash."""
_DASHES = ("", "7 3", "2 3", "9 3 2 3")

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 620, 430, 78, 14, 14, 52
_LOW_X, _HIGH_X, _LOW_Y, _HIGH_Y = 0.0, 1.08, -0.2, 1.08


@dataclass(frozen=True, slots=True)
class Point:
    """One release: what it keeps and what it leaks, each with an interval where there is one."""

    kept: float
    excess: float
    kept_interval: Interval | None = None
    excess_interval: Interval | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Settings of one defence, the weakest first."""

    label: str
    points: Sequence[Point]


def _x(value: float) -> float:
    share = (min(max(value, _LOW_X), _HIGH_X) - _LOW_X) / (_HIGH_X - _LOW_X)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(value: float) -> float:
    share = (min(max(value, _LOW_Y), _HIGH_Y) - _LOW_Y) / (_HIGH_Y - _LOW_Y)
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'


def pen(number: int) -> str:
    """Colour and dash of a series, as SVG attributes; the same for its legend."""
    dash = _DASHES[number // COLOURS % len(_DASHES)]
    return f'stroke="var(--s{number % COLOURS})" stroke-width="2" stroke-dasharray="{dash}"'


def _axes(x_label: str, y_label: str) -> list[str]:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_line(_x(_LOW_X), _y(tick), _x(_HIGH_X), _y(tick), 'class="grid"'))
        parts.append(_line(_x(tick), _y(_LOW_Y), _x(tick), _y(_HIGH_Y), 'class="grid"'))
        parts.append(_text(_x(_LOW_X) - 8, _y(tick) + 5, f"{tick:.0%}", 'class="tick" text-anchor="end"'))
        parts.append(_text(_x(tick), _y(_LOW_Y) + 19, f"{tick:.0%}", 'class="tick" text-anchor="middle"'))
    middle = f'text-anchor="middle" transform="rotate(-90 18 {_y(0.5):.1f})"'
    return [
        *parts,
        _text(_x(0.5), _HEIGHT - 7, x_label, 'text-anchor="middle"'),
        _text(18, _y(0.5), y_label, middle),
    ]


def _goal(kept: float, excess: float) -> str:
    left, top, right, bottom = _x(kept), _y(excess), _x(_HIGH_X), _y(_LOW_Y)
    return (
        f'<rect class="goal" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}"/>'
    )


def _bars(point: Point, style: str) -> list[str]:
    x, y = _x(point.kept), _y(point.excess)
    parts = []
    if point.excess_interval is not None:
        low, high = (_y(end) for end in point.excess_interval)
        parts.append(_line(x, low, x, high, style))
    if point.kept_interval is not None:
        low, high = (_x(end) for end in point.kept_interval)
        parts.append(_line(low, y, high, y, style))
    return parts


def _series(number: int, series: Series) -> list[str]:
    colour = f"var(--s{number % COLOURS})"
    path = " ".join(f"{_x(point.kept):.1f},{_y(point.excess):.1f}" for point in series.points)
    parts = [f'<polyline points="{path}" fill="none" opacity=".55" {pen(number)}/>']
    for point in series.points:
        parts += _bars(point, f'stroke="{colour}" stroke-width="1.3" opacity=".8"')
        parts.append(
            f'<circle cx="{_x(point.kept):.1f}" cy="{_y(point.excess):.1f}" r="4.5" fill="{colour}">'
            f"<title>{escape(point.label or series.label)}</title></circle>"
        )
    return parts


def _highlight(point: Point) -> list[str]:
    x, y = _x(point.kept), _y(point.excess)
    size = 10.0
    corners = f"{x:.1f},{y - size:.1f} {x + size:.1f},{y:.1f} {x:.1f},{y + size:.1f} {x - size:.1f},{y:.1f}"
    side = "end" if x > _WIDTH / 2 else "start"
    return [
        *_bars(point, 'class="ours-bar"'),
        f'<polygon class="ours" points="{corners}"><title>{escape(point.label)}</title></polygon>',
        _text(
            x - 15 if side == "end" else x + 15,
            y - 13,
            point.label,
            f'class="ours-label" text-anchor="{side}"',
        ),
    ]


def tradeoff(
    ours: Point | None, others: Sequence[Series], *, title: str, x_label: str, y_label: str, goal: Interval
) -> str:
    """Draw what is audited among other defences.

    Args:
        ours: what is audited; None where it has no place, because the attack does not work.
        others: the baselines.
        title: what a screen reader says.
        x_label: what is kept.
        y_label: what leaks.
        goal: what should be kept at least and leak at most; that corner is shaded.
    """
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}" '
        'xmlns="http://www.w3.org/2000/svg" font-family="inherit" font-size="15">',
        _goal(*goal),
        *_axes(x_label, y_label),
    ]
    for number, series in enumerate(others):
        parts += _series(number, series)
    if ours is not None:
        parts += _highlight(ours)
    return "".join([*parts, "</svg>"])


def bar(control: float | None, floor: float | None, released: float | None) -> str:
    """Draw one term: a broad bar for clean vectors, a narrow one for the release, a mark for the floor."""
    parts = [
        '<svg viewBox="0 0 200 16" preserveAspectRatio="none" xmlns="http://www.w3.org/2000/svg" '
        'aria-hidden="true">'
    ]
    if control is not None:
        parts.append(f'<rect class="bar-clean" y="2" width="{200 * control:.1f}" height="12"/>')
    if released is not None:
        parts.append(f'<rect class="bar-released" y="5" width="{200 * released:.1f}" height="6"/>')
    if floor is not None:
        parts.append(f'<rect class="bar-floor" x="{max(0.0, 200 * floor - 1):.1f}" width="2" height="16"/>')
    return "".join([*parts, "</svg>"])
