"""The leaderboard as pages: in short as Markdown, and every row as one HTML file that sorts itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path

from sfumato.errors import InputError
from sfumato_research.attackers.attackers import QUESTIONS
from sfumato_research.attackers.knowing import KEPT
from sfumato_research.leaderboard.cells import USE
from sfumato_research.leaderboard.elsewhere import RUNS, attackers_rows, frontier_rows
from sfumato_research.leaderboard.rows import BOARD, BoardRow, from_part
from sfumato_research.studies.base import Cell
from sfumato_research.studies.page import number, plain
from sfumato_research.studies.running import read_result

_MARK = re.compile(r"(<!-- leaderboard -->\n).*?(<!-- end -->)", re.DOTALL)
_TEMPLATE = Path(__file__).with_name("board.html")
_HEAD = (
    "concept", "encoder", "defence", "attack", "question", "figure", "clean", "floor", "prior", "counts",
    "texts", "date", "study", "run it again",
)  # fmt: skip


def board_rows(folder: Path) -> list[BoardRow]:
    """Every row that the results in a folder hold, ours first."""
    found: list[BoardRow] = []
    own = folder / f"{BOARD}.json"
    if own.exists():
        found += [row for part in read_result(own)["parts"].values() for row in from_part(part)]
    for name in (*RUNS, "frontier"):
        rows = partial(attackers_rows, study=name) if name in RUNS else frontier_rows
        path = folder / f"{name}.json"
        if path.exists():
            found += rows(read_result(path)["parts"])
    if not found:
        raise InputError(f"{folder} must hold {BOARD}.json, attackers.json or frontier.json. Found none.")
    return found


def board_page(folder: Path) -> str:
    """The whole page."""
    rows = board_rows(folder)
    cell = '<th scope="col" aria-sort="none"><button type="button">{}</button></th>'
    head = "".join(cell.format(escape(name)) for name in _HEAD)
    latest = max(row.date for row in rows)
    text = _TEMPLATE.read_text(encoding="utf-8")
    for mark, made in (
        ("HEAD", head),
        ("BODY", "\n".join(map(_row, rows))),
        ("COUNT", f"{len(rows):,}"),
        ("LATEST", escape(latest)),
    ):
        text = text.replace(f"@@{mark}@@", made)
    return text


def has_board(page: Path) -> bool:
    """Whether a page asks for the table in short."""
    return _MARK.search(page.read_text(encoding="utf-8")) is not None


def fill_board(text: str, page: Path, folder: Path) -> str:
    """The page with the strongest attack of every encoder, defence and question."""
    return _MARK.sub(lambda found: f"{found[1]}\n{in_short(board_rows(folder))}\n{found[2]}", text)


def in_short(rows: Sequence[BoardRow]) -> str:
    """A table a study and concept: of each encoder and defence, what the strongest attack gets."""
    lines: list[str] = []
    tables: dict[tuple[str, str], list[BoardRow]] = {}
    for row in rows:
        tables.setdefault((row.study, row.concept), []).append(row)
    for (study, concept), own in tables.items():
        asked = [each for each in QUESTIONS.values() if any(row.question == each for row in own)]
        lines += [f"## {concept.capitalize()}, {_STUDIES[study]}", ""]
        head = ["encoder", "defence", *asked, "date", "run it again"]
        lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for key in dict.fromkeys((row.encoder, row.defence) for row in own):
            mine = [row for row in own if (row.encoder, row.defence) == key]
            best = [_best([row for row in mine if row.question == each]) for each in asked]
            cells = [*map(plain, key), *best, max(row.date for row in mine), f"`{_for_all(mine)}`"]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


_STUDIES = {
    BOARD: "the leaderboard's own rows",
    **{name: f"from the [{title}](results/{name}.md)" for name, title in RUNS.items()},
    "frontier": "from the [frontier study](results/frontier.md)",
}


def strongest(rows: Sequence[BoardRow]) -> BoardRow | None:
    """The row of the highest figure among attacks that count; use has one row."""
    able = [row for row in rows if row.counts in ("yes", "") and row.figure.value is not None]
    return max(able, key=lambda row: row.figure.value or 0.0, default=None)


def _best(rows: Sequence[BoardRow]) -> str:
    row = strongest(rows)
    if row is None:
        return "–"
    by = "" if row.attack == USE else f" ({row.attack})"
    return f"{_figure(row.figure)}{by}"


def _for_all(rows: Sequence[BoardRow]) -> str:
    """The command of a row without its attack: it runs them all."""
    shortest = sorted({re.sub(r" --attack \S+| --device \S+", "", row.command) for row in rows}, key=len)
    return shortest[0]


def _row(row: BoardRow) -> str:
    cells = [f"<td>{escape(each)}" for each in (row.concept, row.encoder, row.defence, row.attack)]
    use = ' class="use"' if row.question == QUESTIONS[KEPT] else ""
    cells.append(f"<td{use}>{escape(row.question)}")
    cells += [_shown(each) for each in (row.figure, row.clean, row.floor, row.prior)]
    cells.append(f"<td{' class=no' if row.counts == 'no' else ''}>{row.counts or '–'}")
    cells.append(f"<td data-v={row.texts}>{row.texts:,}" if row.texts else "<td>–")
    cells += [f"<td>{escape(row.date)}<td>{escape(row.study)}<td><code>{escape(row.command)}</code>"]
    return "<tr>" + "".join(cells)


def _shown(cell: Cell) -> str:
    if cell.value is None:
        return "<td>–"
    ends = "" if cell.low is None or cell.high is None else f" <small>{_ends(cell)}</small>"
    return f"<td data-v={cell.value:g}>{number(cell.value, cell.form)}{ends}"


def _figure(cell: Cell) -> str:
    if cell.value is None:
        return "–"
    ends = "" if cell.low is None or cell.high is None else f" {_ends(cell)}"
    return f"{number(cell.value, cell.form)}{ends}"


def _ends(cell: Cell) -> str:
    assert cell.low is not None and cell.high is not None
    return f"[{number(cell.low, cell.form)}, {number(cell.high, cell.form)}]"
