"""Put longer texts and other encoders on the results page, as parts of their own beside what score.py wrote.

python weights/recipe/score_more.py --study docs/results/reader.json --data FOLDER
    [--long FILE --shipped FILE] [--others FOLDER] [--note TEXT]

By research/protocol-readers.md. A row of the thousand sentences that the file of the shipped weights lacks is
taken from the study itself; there the difference is of two runs, its interval that of independent samples.
Readers of other encoders that have no file in the folder keep the rows they have.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np
from entities import KINDS
from score import SCORED, between, cell, readings

from sfumato.metrics.intervals import mean_interval
from sfumato_research.studies.base import Cell, Finding, StudyOutcome, StudyTable

ONE, STEPS = "likeliest of 4", "beam 4 by 8, 20 steps"
CUTS = (32, 64, 128)
AS_IT_SHIPS = "minilm, as it ships"
LOWER, LOWEST = -2.0, -4.0
"""Points of exact matches that longer texts may cost at 32 wordpieces: the figure, and its interval."""
SCORES = ["texts", "candidates", "BLEU", "token F1", "exact %", "cosine"]


def scores(result: dict[str, Any]) -> list[Any]:
    """The figures of one reading, as columns of a table."""
    return [
        result["rows"],
        Cell(result["candidates"], form=",.0f"),
        *(cell(result, key) for key in SCORED),
        cell(result, "cosine", ".3f"),
    ]


def paired(one: dict[str, Any], other: dict[str, Any], key: str) -> tuple[float, tuple[float, float]]:
    """How much more the first has, on the same texts, with the interval over them."""
    count = min(len(one["each"][key]), len(other["each"][key]))
    each = np.array(one["each"][key][:count]) - np.array(other["each"][key][:count])
    return float(each.mean()), mean_interval(each)


def shipped_rows(study: dict[str, Any]) -> dict[str, list[Any]]:
    """What the study holds of the shipped weights on the thousand sentences, by search."""
    tables = study["parts"].get("reader", {}).get("tables", [])
    return {row[0]: row[1:] for row in tables[0]["rows"]} if tables else {}


def unpaired(one: dict[str, Any], row: list[Any]) -> tuple[float, tuple[float, float]]:
    """How many more exact matches the first has than a row of a study, as independent samples."""
    other, (low, high) = row[SCORES.index("exact %")], one["intervals"]["exact"]
    half = hypot((high - low) / 2, (other["high"] - other["low"]) / 2)
    value = one["exact"] - other["value"]
    return value, (value - half, value + half)


def told(difference: tuple[float, tuple[float, float]]) -> str:
    value, (low, high) = difference
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"


def replaces(difference: tuple[float, tuple[float, float]]) -> bool:
    """Whether the long weights take the place of the shipped ones: the rule of the protocol."""
    value, (low, _) = difference
    return value >= LOWER and low > LOWEST


def document_tables(both: dict[str, dict[str, Any]], note: str) -> list[StudyTable]:
    """Documents by length, weights and search; then names, numbers and places; then by source."""
    rows, named = [], []
    for cut in CUTS:
        for weights, results in both.items():
            for name, result in results.items():
                first, _, search = name.partition(", ")
                if first != f"documents {cut}":
                    continue
                rows.append([cut, weights, search, *scores(result)])
                held = result["entities"]
                found = [
                    Cell.between(held[kind]["recall"], held[kind]["interval"], ".1f") if kind in held else ""
                    for kind in KINDS
                ]
                named.append([cut, weights, search, *found])
    by = next((search for search in (STEPS, ONE) if f"documents {CUTS[-1]}, {search}" in both["long"]), ONE)
    wanted = {cut: both["long"].get(f"documents {cut}, {by}") for cut in CUTS}
    present = [cut for cut in CUTS if wanted[cut]]
    sources = [
        [source, wanted[present[0]]["by_source"][source]["rows"]]
        + [cell(wanted[cut]["by_source"][source], key) for cut in present for key in ("bleu", "token_f1")]
        for source in (wanted[present[0]]["by_source"] if present else ())
    ]
    return [
        StudyTable(
            "Documents of sources never trained on, by wordpieces",
            ["wordpieces", "weights", "search", *SCORES],
            rows,
            "The same documents, cut at 32, 64 and 128 wordpieces. *Long*: the shipped weights trained on "
            f"with documents. *Shipped* writes 32 wordpieces at most: at 64 and 128 it is the control.{note}",
        ),
        StudyTable(
            "Names, numbers and places of documents that were read",
            ["wordpieces", "weights", "search", *(f"{kind} %" for kind in KINDS)],
            named,
        ),
        StudyTable(
            f"By source, long weights, {by}",
            [
                "source",
                "documents",
                *(f"{label}, {cut}" for cut in present for label in ("BLEU", "token F1")),
            ],
            sources,
        ),
    ]


def long_outcome(both: dict[str, dict[str, Any]], known: dict[str, list[Any]], note: str) -> StudyOutcome:
    """Long and shipped weights on sentences and on documents, and what the protocol says of it."""
    rows, findings = [], []
    for search in (STEPS, ONE):
        if search in both["long"]:
            rows.append(["long", search, *scores(both["long"][search])])
            if search in both["shipped"]:
                rows.append(["shipped", search, *scores(both["shipped"][search])])
            elif search in known:
                rows.append(["shipped", search, *known[search]])
    if STEPS in both["long"] and (STEPS in both["shipped"] or STEPS in known):
        pairs = STEPS in both["shipped"]
        long = both["long"][STEPS]
        lost = paired(long, both["shipped"][STEPS], "exact") if pairs else unpaired(long, known[STEPS])
        findings.append(
            Finding(
                "long",
                f"at 32 wordpieces the long weights read as well ({STEPS})",
                f"rule: exact at most {-LOWER:.0f} points lower, interval above {LOWEST:.0f}",
                f"difference of exact matches {told(lost)}{'' if pairs else ' (two runs, not paired)'}",
                replaces(lost),
                "" if replaces(lost) else "size, time or the mix of lengths: not taken apart",
            )
        )
    for cut in CUTS[1:]:
        for search in (ONE, STEPS):
            name = f"documents {cut}, {search}"
            if all(name in results for results in both.values()):
                more = paired(both["long"][name], both["shipped"][name], "token_f1")
                findings.append(
                    Finding(
                        "long",
                        f"{cut} wordpieces, {search}: the long weights read more than the shipped ones",
                        "rule: difference above 0",
                        f"token F1 {between(both['long'][name], 'token_f1')}, difference {told(more)}",
                        more[1][0] > 0,
                        "" if more[1][0] > 0 else "the interval reaches 0",
                    )
                )
    first = StudyTable(
        "The thousand sentences of at most 32 wordpieces", ["weights", "search", *SCORES], rows
    )
    return StudyOutcome([first, *document_tables(both, note)], findings=findings)


def trained(folder: Path) -> dict[str, tuple[float, int]]:
    """Seconds that each reader learned, and texts it learned from, by its log."""
    log = folder / "log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return {line["encoder"]: (line["spent"], line["pairs"]) for line in lines if line.get("over")}


_LEARNED = re.compile(r"(\S+) (\d+) s, ([\d,]+) texts")


@dataclass(frozen=True, slots=True)
class ReadBefore:
    """What the study holds of readers that have no file now: rows, verdicts, how long they learned."""

    rows: list[list[Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    learned: dict[str, tuple[float, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, study: dict[str, Any], found: Collection[str]) -> ReadBefore:
        """Of every encoder that is not among those found."""
        part = study["parts"].get("encoders")
        if part is None:
            return cls()
        (table,) = part["tables"]
        names = {row[0] for row in table["rows"]} - set(found)
        findings = [each for each in part["findings"] if each["claim"].split()[2] in names]
        learned = {
            name: (float(spent), int(pairs.replace(",", "")))
            for name, spent, pairs in _LEARNED.findall(table["note"].replace("(", ""))
            if name in names
        }
        rows = [row for row in table["rows"] if row[0] in names]
        return cls(rows, [Finding(**each) for each in findings], learned)


def others_outcome(
    found: dict[str, dict[str, Any]],
    shipped: dict[str, Any] | None,
    learned: dict[str, tuple[float, int]],
    before: ReadBefore,
) -> StudyOutcome:
    """A reader of each encoder beside the constant text and another row's, and whether it reads."""
    rows, findings, learned = list(before.rows), list(before.findings), before.learned | learned
    if shipped is not None:
        rows += [[AS_IT_SHIPS, name, *scores(shipped[name])] for name in (ONE, STEPS) if name in shipped]
    for encoder, results in found.items():
        rows += [[encoder, name, *scores(result)] for name, result in results.items()]
        more = [paired(results[ONE], results[name], "token_f1") for name in ("constant text", "another text")]
        same = all(interval[0] > 0 for _, interval in more)
        findings.append(
            Finding(
                "encoders",
                f"vectors of {encoder} are read",
                "rule: token F1 above the constant text's and another row's",
                f"token F1 {between(results[ONE], 'token_f1')}, {told(more[0])} and {told(more[1])}",
                same,
                "" if same else "so little training does not read it",
            )
        )
    said = "; ".join(f"{name} {spent:.0f} s, {pairs:,} texts" for name, (spent, pairs) in learned.items())
    table = StudyTable(
        "Readers of other encoders",
        ["encoder", "search", *SCORES],
        rows,
        "Held-back sentences of at most 32 wordpieces, read by the shipped weights behind a linear map, "
        f"trained further{f' ({said})' if said else ''}. *Constant text*: the best single guess. "
        "*Another text*: that of another row.",
    )
    return StudyOutcome([table], findings=findings)


def part_of(
    title: str, outcome: StudyOutcome, results: list[dict[str, Any]], device: str, seed: int = 0
) -> dict[str, Any]:
    """A part of the study, ready for JSON."""
    on_gpu = {"device": "NVIDIA H200"}
    return {
        "title": title,
        "setting": {"quick": False, "seed": seed, "device": device},
        "machine": {"cores": os.cpu_count(), "threads": 1} if device == "cpu" else on_gpu,
        "seconds": round(sum(each["seconds"] for some in results for each in some.values()), 1),
        **outcome.to_dict(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--study", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="a folder with test.npz and test.json")
    parser.add_argument("--long", type=Path)
    parser.add_argument("--shipped", type=Path)
    parser.add_argument("--others", type=Path, help="a folder with one file an encoder")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="where it was read")
    parser.add_argument("--note", default="", help="what else is said of the documents that were read")
    options = parser.parse_args()
    study = json.loads(options.study.read_text())
    if options.long:
        both = {
            "long": readings(options.data, options.long),
            "shipped": readings(options.data, options.shipped),
        }
        outcome = long_outcome(both, shipped_rows(study), options.note and f" {options.note}")
        study["parts"]["long"] = part_of(
            "Texts of 64 and 128 wordpieces", outcome, [both["long"]], options.device
        )
    if options.others:
        found = {file.stem: readings(options.data, file) for file in sorted(options.others.glob("*.npz"))}
        beside = readings(options.data, options.shipped, 500) if options.shipped else None
        before = ReadBefore.of(study, {*found, *([AS_IT_SHIPS] if beside else [])})
        outcome = others_outcome(found, beside, trained(options.others), before)
        part = part_of("Readers of other encoders", outcome, list(found.values()), options.device)
        study["parts"]["encoders"] = part | ({"took": "in several runs"} if before.rows else {})
    options.study.write_text(json.dumps(study, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
