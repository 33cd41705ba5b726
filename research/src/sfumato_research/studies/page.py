"""Writes the results of studies into pages: no cell of them is filled by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato_research.papers.lines import COLUMNS, paper_lines
from sfumato_research.studies.running import read_result

_BLOCK = re.compile(
    r"(?P<head><!-- (?P<kind>study|findings|paper) (?P<name>[a-z0-9]+)(?P<words>(?: [a-z0-9.-]+)*) -->\n)"
    r".*?(?P<end><!-- end -->)",
    re.DOTALL,
)
_SAME = {True: "yes", False: "**no**", None: "–"}


def require_marks(page: Path) -> None:
    """Refuse a page in which there is nothing to fill."""
    if not _BLOCK.search(page.read_text(encoding="utf-8")):
        raise InputError(
            f"`{page}` has no place to fill. Write <!-- study NAME --> and <!-- end --> where the results of "
            "a study go."
        )


def fill(page: Path, folder: Path) -> str:
    """The page with results between its marks and `<!-- end -->`, from NAME.json in `folder`.

    `<!-- study NAME [PART]... -->` asks for everything,
    `<!-- findings NAME [PART]... [PICTURE.svg]... -->` for what was found, in short,
    `<!-- paper NAME -->` for a line about each numbered table and figure of the paper.
    """
    there = Path(relpath(folder, page.parent)).as_posix()

    def block(found: re.Match[str]) -> str:
        name, words = found["name"], found["words"].split()
        if found["kind"] == "paper":
            table = "\n".join(_markdown(COLUMNS, paper_lines(name, folder, there, _cell)))
            return f"{found['head']}\n{table}\n{found['end']}"
        every = read_result(folder / f"{name}.json")["parts"]
        pictures = {figure["name"]: figure for part in every.values() for figure in part["figures"]}
        wanted = [word for word in words if not word.endswith(".svg")]
        shown = [word for word in words if word.endswith(".svg")]
        unknown = [word for word in wanted if word not in every] + [
            word for word in shown if word not in pictures
        ]
        if unknown:
            raise InputError(f"{name}.json has no part {', '.join(unknown)}. Run that study.")
        parts = {each: every[each] for each in wanted or every}
        if found["kind"] == "study":
            text = whole(parts, there)
        else:
            text = _short(name, every, parts, [pictures[each] for each in shown], there)
        return f"{found['head']}\n{text}\n{found['end']}"

    return _BLOCK.sub(block, page.read_text(encoding="utf-8"))


def has_marks(page: Path) -> bool:
    """Whether there is anything to fill."""
    return _BLOCK.search(page.read_text(encoding="utf-8")) is not None


def whole(parts: Mapping[str, Any], folder: str) -> str:
    """The findings of some parts in one table, then each part with its tables and pictures."""
    lines: list[str] = []
    findings = _findings(parts)
    if findings:
        lines += _markdown(
            ["", "claim", "printed", "ours", "same direction", "if not, why"],
            [[*_finding(each), each["cause"]] for each in findings],
        )
    for part in parts.values():
        how = "quick run" if part["setting"]["quick"] else "full run"
        lines += [f"## {part['title']}", "", f"A {how}, seed {part['setting']['seed']}, {_took(part)}.", ""]
        for table in part["tables"]:
            lines += [f"*{table['title']}*", ""]
            lines += _markdown(table["columns"], [[_cell(cell) for cell in row] for row in table["rows"]])
            lines += [table["note"], ""] if table["note"] else []
        for figure in part["figures"]:
            lines += [*_picture(figure, folder), *([figure["note"], ""] if figure["note"] else [])]
    return "\n".join(lines)


def _short(
    name: str,
    every: Mapping[str, Any],
    parts: Mapping[str, Any],
    pictures: Sequence[Mapping[str, Any]],
    folder: str,
) -> str:
    """A tally of all findings, those of some parts, pictures, and where the rest is."""
    verdicts = [each["same"] for each in _findings(every)]
    yes, no, unsaid = (verdicts.count(verdict) for verdict in (True, False, None))
    shown = _findings(parts)
    rest = "" if len(shown) == len(verdicts) else f"{len(shown)} of them are below. "
    lines = [
        f"{len(verdicts)} findings: {yes} in the claimed direction, {no} against it, "
        f"{unsaid} without a verdict. {rest}[Reasons and every table]({_beside(folder, f'{name}.md')}).",
        "",
    ]
    if shown:
        lines += _markdown(["", "claim", "printed", "ours", "same direction"], map(_finding, shown))
    for figure in pictures:
        lines += _picture(figure, folder)
    return "\n".join(lines)


def _findings(parts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for part in parts.values() for each in part["findings"]]


def _finding(found: Mapping[str, Any]) -> list[str]:
    return [found["table"], found["claim"], found["printed"], found["ours"], _SAME[found["same"]]]


def _picture(figure: Mapping[str, Any], folder: str) -> list[str]:
    return [f"![{figure['title']}]({_beside(folder, figure['name'])})", ""]


def _beside(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _took(part: Mapping[str, Any]) -> str:
    if part.get("took"):
        return str(part["took"])
    where = "a GPU" if part["setting"]["device"] != "cpu" else _cores(part["machine"])
    seconds = part["seconds"]
    return f"{seconds / 60:.1f} minutes on {where}" if seconds >= 90 else f"{seconds:.0f} s on {where}"


def _cores(machine: dict[str, Any]) -> str:
    has, used = machine["cores"], machine.get("threads", machine["cores"])
    return f"{has} cores" if used >= has else f"{used} of {has} cores"


def _markdown(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    head = list(columns)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(plain(cell) for cell in row) + " |" for row in rows]
    return [*lines, ""]


def plain(text: str) -> str:
    """A text that breaks no table."""
    return text.replace("|", "\\|").replace("\n", " ")


def _cell(cell: Any) -> str:
    if cell is None:
        return "–"
    if not isinstance(cell, dict):
        return cell if isinstance(cell, str) else f"{cell:,}" if isinstance(cell, int) else f"{cell:g}"
    if cell["value"] is None:
        return "–"
    text = number(cell["value"], cell["form"])
    text = f"**{text}**" if cell.get("strong") else text
    if cell["low"] is not None and cell["high"] is not None:
        text += f" [{number(cell['low'], cell['form'])}, {number(cell['high'], cell['form'])}]"
    return f"{text} ({number(cell['printed'], cell['form'])})" if cell["printed"] is not None else text


def number(value: float, form: str) -> str:
    """A share loses the nought before its point."""
    text = format(value, form)
    return re.sub(r"^([-+]?)0\.(?=\d)", r"\1.", text) if form.endswith("f") and abs(value) < 1 else text
