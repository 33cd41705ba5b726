"""Score what evaluate.py found, with intervals, by length and by source, and write it for the results page.

python weights/recipe/score.py --data FOLDER --found FILE.npz [--found FILE.npz] [--json FILE] [--study FILE]
    [--first FILE.npz] [--before STUDY.json]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from entities import KINDS, recalls
from sacrebleu.metrics import BLEU

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.metrics.intervals import mean_interval
from sfumato.metrics.reconstruction import exact_match, score_reconstruction, token_f1
from sfumato_research.studies.base import Cell, Finding, StudyOutcome, StudyTable

LENGTHS = ((1, 8), (9, 12), (13, 18), (19, 25), (26, 99))
STRONG = "beam 8 by 8, two times 12 steps and edits"
BY_LENGTH = ("greedy", "beam 4 by 8, 20 steps", STRONG)
GOALS = {
    "greedy": (30.0, 75.0, 0.0),
    "likeliest of 4": (30.0, 75.0, 0.0),
    "beam 4, 20 steps": (45.0, 84.0, 30.0),
    "beam 4 by 8, 20 steps": (45.0, 84.0, 30.0),
    "beam 4 by 8, 20 steps, edited": (45.0, 84.0, 30.0),
    STRONG: (60.0, 0.0, 50.0),
}
"""BLEU, token F1 and exact matches that were aimed at."""


def summary(references: list[str], texts: list[str], cosines: np.ndarray) -> dict[str, Any]:
    """The figures of one reading, each with its 95 % interval over sentences."""
    scored = score_reconstruction(references, texts)
    each = {
        "token_f1": np.array([100 * token_f1(a, b) for a, b in zip(references, texts, strict=True)]),
        "exact": np.array([100.0 * exact_match(a, b) for a, b in zip(references, texts, strict=True)]),
        "sentence_bleu": np.asarray(scored.sentence_bleu),
        "cosine": np.asarray(cosines, np.float64),
    }
    found: dict[str, Any] = {"bleu": scored.corpus_bleu, "rows": len(texts), "intervals": {}}
    for name, values in each.items():
        found[name] = float(values.mean())
        found["intervals"][name] = mean_interval(values)
    return found


def part(references: list[str], texts: list[str], cosines: np.ndarray, chosen: np.ndarray) -> dict[str, Any]:
    """The figures of some of the rows."""
    at = np.flatnonzero(chosen)
    return summary([references[i] for i in at], [texts[i] for i in at], cosines[at])


def bleu_interval(references: list[str], texts: list[str]) -> tuple[float, float]:
    """Of corpus BLEU, by sacrebleu's own bootstrap."""
    score = BLEU().corpus_score(texts, [references], n_bootstrap=1000)
    return score._mean - score._ci, score._mean + score._ci


def read(options: argparse.Namespace, files: list[Path]) -> dict[str, Any]:
    """Every reading in the files by its name."""
    return {name: result for file in files for name, result in readings(options.data, file).items()}


def readings(data: Path, file: Path, most: int | None = None) -> dict[str, Any]:
    """Every reading in a file by its name; of at most so many texts."""
    pieces = Wordpieces.minilm()
    kept, found = np.load(data / "test.npz"), np.load(file)
    tests = json.loads((data / "test.json").read_text())
    results: dict[str, Any] = {}
    for name in dict.fromkeys(key.partition("|")[0] for key in found):
        first = name.partition(",")[0]
        which = {"other sources": "apart"}.get(first, first if first in tests else "test")
        texts = pieces.decode(found[f"{name}|tokens"][:most].astype(np.int64))
        references, cosines = pieces.decode(kept[which][: len(texts)]), found[f"{name}|cosine"][:most]
        candidates, seconds = found[f"{name}|cost"].tolist()
        result = summary(references, texts, cosines) | {"candidates": candidates, "seconds": seconds}
        result["intervals"]["bleu"] = bleu_interval(references, texts)
        words = np.array([len(reference.split()) for reference in references])
        sources = np.array([source for source, _ in tests[which][: len(texts)]])
        lengths = {f"{low}-{high}": (words >= low) & (words <= high) for low, high in LENGTHS}
        named = {source: sources == source for source in sorted(set(sources))}
        for label, groups in (("by_length", lengths), ("by_source", named)):
            result[label] = {
                group: part(references, texts, cosines, rows) for group, rows in groups.items() if rows.any()
            }
        result["entities"] = recalls([text for _, text in tests[which][: len(texts)]], texts)
        result["each"] = {
            "token_f1": [100 * token_f1(a, b) for a, b in zip(references, texts, strict=True)],
            "exact": [100.0 * exact_match(a, b) for a, b in zip(references, texts, strict=True)],
        }
        results[name] = result
        print(f"{name:34s}", *(f"{key} {result[key]:.1f}" for key in ("bleu", "token_f1", "exact")))
    return results


def entity_table(results: dict[str, Any]) -> StudyTable:
    """Names, numbers and places that were read."""
    names = [name for name in results if not name.startswith("noise") or "greedy" not in name]
    rows = []
    for name in names:
        held = results[name]["entities"]
        cells = [
            Cell.between(held[kind]["recall"], held[kind]["interval"], ".1f") if kind in held else ""
            for kind in KINDS
        ]
        rows.append([name, *cells])
    first = results[names[0]]["entities"]
    counts = ", ".join(
        f"{held['words']} {kind} in {held['sentences']} sentences" for kind, held in first.items()
    )
    note = (
        f"Share of the words of each kind that stand in the text that was read ({counts}). Numbers: words "
        "with a digit. Places: countries, cities that name a time zone, states of the USA. Names: other "
        "words with a capital inside a sentence, where the source is written with capitals."
    )
    return StudyTable(
        "Names, numbers and places that were read", ["search", *(f"{kind} %" for kind in KINDS)], rows, note
    )


COLUMNS = ["search", "vectors", "candidates", "BLEU", "token F1", "exact %", "cosine"]
FIRST = "The same sentences, with the first weights"
SCORED, LABELS = ("bleu", "token_f1", "exact"), ("BLEU", "token F1", "exact %")


def between(result: dict[str, Any], name: str) -> str:
    """A figure with its interval."""
    low, high = result["intervals"][name]
    return f"{result[name]:.1f} [{low:.1f}, {high:.1f}]"


def cell(result: dict[str, Any], name: str, form: str = ".1f") -> Cell:
    return Cell.between(result[name], result["intervals"].get(name), form)


def table_rows(results: dict[str, Any]) -> list[list[Any]]:
    """A line for each reading; noise and other sentences stand last."""
    return [
        [
            name,
            result["rows"],
            Cell(result["candidates"], form=",.0f"),
            *(cell(result, key) for key in SCORED),
            cell(result, "cosine", ".3f"),
        ]
        for name, result in sorted(
            results.items(), key=lambda item: item[0].startswith(("noise", "other", "dev"))
        )
    ]


def first_table(results: dict[str, Any], study: Path) -> dict[str, Any]:
    """What earlier weights read: what was scored now, and the lines of a study that was written then."""
    tables = json.loads(study.read_text())["parts"]["reader"]["tables"]
    kept = next((table for table in tables if table["title"] == FIRST), tables[0])
    made = asdict(StudyTable(FIRST, COLUMNS, table_rows(results)))
    named = [row[0] for row in made["rows"]]
    made["rows"] += [row for row in kept["rows"] if row[0] not in named]
    made["note"] = (
        "Weights after 21 minutes of training on 1.08 million sentences, without the further training of "
        "those that ship. *Likeliest of 4* was read on a CPU. *Tuned*: after 25 s of practice on "
        "such vectors."
    )
    return made


def outcome(results: dict[str, Any]) -> StudyOutcome:
    """The readings as tables and findings of the results page."""
    note = (
        "Corpus BLEU. *Candidates*: texts embedded and compared with a vector, on average. *Beam 4*: the "
        "four closest texts are kept, and each step writes four corrections of each, or eight (*by 8*). "
        "*Edited*: texts one wordpiece away, while one is closer; *edits*: of four texts, with runs moved "
        "as well. *Feedback off*: the corrector sees its text, not the vector of it. "
        "*Likeliest of 4*: four texts are followed while they are written, and the likeliest as a whole "
        "stays. The reader knows the noise ratio unless it says not told."
    )
    lengths = [name for name in BY_LENGTH if name in results]
    split = [
        [group, results[lengths[0]]["by_length"][group]["rows"]]
        + [cell(results[name]["by_length"][group], which) for name in lengths for which in SCORED]
        for group in results[lengths[0]]["by_length"]
    ]
    heads = [f"{which}, {name}" for name in lengths for which in LABELS]
    findings = []
    for name, goal in GOALS.items():
        if name not in results:
            continue
        wanted = [f"{label} {least:.1f}" for label, least in zip(LABELS, goal, strict=True) if least]
        own = [f"{label} {between(results[name], key)}" for label, key in zip(LABELS, SCORED, strict=True)]
        met = all(results[name][key] >= least for key, least in zip(SCORED, goal, strict=True))
        findings.append(
            Finding("reader", name, "goal: at least " + ", ".join(wanted), ", ".join(own), met,
                    "" if met else "text, time or size: what limits it was not taken apart")
        )  # fmt: skip
    tables = [
        StudyTable(
            "Held-back sentences, all-MiniLM-L6-v2, the weights as they ship",
            COLUMNS,
            table_rows(results),
            note,
        ),
        StudyTable("By words in the sentence", ["words", "sentences", *heads], split),
        entity_table(results),
    ]
    return StudyOutcome(tables, findings=findings)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--found", type=Path, required=True, action="append")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--study", type=Path, help="Write the tables of the results page here.")
    parser.add_argument("--first", type=Path, action="append", default=[], help="found with earlier weights")
    parser.add_argument("--before", type=Path, help="The study that was written of those weights.")
    options = parser.parse_args()
    results = read(options, options.found)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if options.study:
        found = {
            "title": "The ready-made reader on sentences it never saw",
            "setting": {"quick": False, "seed": 1, "device": "cuda"},
            "machine": {"device": "NVIDIA H200"},
            "seconds": round(sum(result["seconds"] for result in results.values()), 1),
            **outcome(results).to_dict(),
        }
        if options.before:
            found["tables"].append(first_table(read(options, options.first), options.before))
        result = {"study": "reader", "parts": {"reader": found}}
        options.study.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
