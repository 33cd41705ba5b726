"""Writes the results of studies into a page: no cell of it is filled by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato.studies.running import read_result

_BLOCK = re.compile(r"(<!-- study ([a-z0-9]+)((?: [a-z0-9-]+)*) -->\n).*?(<!-- end -->)", re.DOTALL)
_SAME = {True: "yes", False: "**no**", None: "–"}


def fill(page: str, folder: Path) -> str:
    """Put results between `<!-- study NAME [PART]... -->` and `<!-- end -->`, from NAME.json in `folder`."""

    def block(found: re.Match[str]) -> str:
        result = read_result(folder / f"{found[2]}.json")
        wanted = found[3].split()
        unknown = [name for name in wanted if name not in result["parts"]]
        if unknown:
            raise InputError(f"{found[2]}.json has no part {', '.join(unknown)}. Run that study.")
        parts = {name: result["parts"][name] for name in wanted or result["parts"]}
        return f"{found[1]}\n{render(parts, folder.name)}\n{found[4]}"

    return _BLOCK.sub(block, page)


def render(parts: Mapping[str, Any], folder: str) -> str:
    """Markdown of some parts: the findings of all in one table, then each part folded away."""
    lines: list[str] = []
    findings = [each for part in parts.values() for each in part["findings"]]
    if findings:
        lines += _markdown(
            ["", "claim", "printed", "ours", "same direction", "if not, why"],
            [
                [f["table"], f["claim"], f["printed"], f["ours"], _SAME[f["same"]], f["cause"]]
                for f in findings
            ],
        )
    for part in parts.values():
        how = "quick run" if part["setting"]["quick"] else "full run"
        summary = f"{part['title']} ({how}, seed {part['setting']['seed']}, {_took(part)})"
        lines += [f"<details><summary>{summary}</summary>", ""]
        for table in part["tables"]:
            lines += [f"*{table['title']}*", ""]
            lines += _markdown(table["columns"], [[_cell(cell) for cell in row] for row in table["rows"]])
            lines += [table["note"], ""] if table["note"] else []
        for figure in part["figures"]:
            lines += [f"![{figure['title']}]({folder}/{figure['name']})", ""]
            lines += [figure["note"], ""] if figure["note"] else []
        lines += ["</details>", ""]
    return "\n".join(lines)


def _took(part: Mapping[str, Any]) -> str:
    where = "a GPU" if part["setting"]["device"] != "cpu" else _cores(part["machine"])
    seconds = part["seconds"]
    return f"{seconds / 60:.1f} minutes on {where}" if seconds >= 90 else f"{seconds:.0f} s on {where}"


def _cores(machine: dict[str, Any]) -> str:
    has, used = machine["cores"], machine.get("threads", machine["cores"])
    return f"{has} cores" if used >= has else f"{used} of {has} cores"


def _markdown(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    head = list(columns)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(_plain(cell) for cell in row) + " |" for row in rows]
    return [*lines, ""]


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _cell(cell: Any) -> str:
    if cell is None:
        return "–"
    if not isinstance(cell, dict):
        return cell if isinstance(cell, str) else f"{cell:,}" if isinstance(cell, int) else f"{cell:g}"
    if cell["value"] is None:
        return "–"
    text = _number(cell["value"], cell["form"])
    if cell["low"] is not None and cell["high"] is not None:
        text += f" [{_number(cell['low'], cell['form'])}, {_number(cell['high'], cell['form'])}]"
    return f"{text} ({_number(cell['printed'], cell['form'])})" if cell["printed"] is not None else text


def _number(value: float, form: str) -> str:
    """A share loses the nought before its point."""
    text = format(value, form)
    return re.sub(r"^([-+]?)0\.(?=\d)", r"\1.", text) if form.endswith("f") and abs(value) < 1 else text
