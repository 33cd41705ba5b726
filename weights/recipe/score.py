"""Score what evaluate.py found, with intervals, by length and by source, and write it for the results page.

python weights/recipe/score.py --data FOLDER --found FILE.npz [--found FILE.npz] [--json FILE] [--study FILE]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.metrics.intervals import mean_interval
from sfumato.metrics.reconstruction import exact_match, score_reconstruction, token_f1
from sfumato_research.studies.base import Cell, Finding, Outcome, Table

LENGTHS = ((1, 8), (9, 12), (13, 18), (19, 25), (26, 99))
BY_LENGTH = ("greedy", "beam 4 by 8, 20 steps", "beam 4 by 8, 20 steps, edited")
GOALS = {
    "greedy": (30.0, 75.0, 0.0),
    "likeliest of 4": (30.0, 75.0, 0.0),
    "beam 4, 20 steps": (45.0, 84.0, 30.0),
    "beam 4 by 8, 20 steps": (45.0, 84.0, 30.0),
    "beam 4 by 8, 20 steps, edited": (45.0, 84.0, 30.0),
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


def read(options: argparse.Namespace) -> dict[str, Any]:
    """Every reading in the files by its name."""
    pieces = Wordpieces.minilm()
    kept = np.load(options.data / "corpus.npz")
    tests = json.loads((options.data / "test.json").read_text())
    truth = {name: pieces.decode(kept[name]) for name in ("test", "apart")}
    results: dict[str, Any] = {}
    for file in options.found:
        found = np.load(file)
        for name in dict.fromkeys(key.partition("|")[0] for key in found):
            which = "apart" if name.startswith("other sources") else "test"
            texts = pieces.decode(found[f"{name}|tokens"].astype(np.int64))
            references, cosines = truth[which][: len(texts)], found[f"{name}|cosine"]
            candidates, seconds = found[f"{name}|cost"].tolist()
            result = summary(references, texts, cosines) | {"candidates": candidates, "seconds": seconds}
            result["intervals"]["bleu"] = bleu_interval(references, texts)
            words = np.array([len(reference.split()) for reference in references])
            sources = np.array([source for source, _ in tests[which][: len(texts)]])
            lengths = {f"{low}-{high}": (words >= low) & (words <= high) for low, high in LENGTHS}
            named = {source: sources == source for source in sorted(set(sources))}
            for label, groups in (("by_length", lengths), ("by_source", named)):
                result[label] = {
                    group: part(references, texts, cosines, rows)
                    for group, rows in groups.items()
                    if rows.any()
                }
            results[name] = result
            print(f"{name:34s}", *(f"{key} {result[key]:.1f}" for key in ("bleu", "token_f1", "exact")))
    return results


def outcome(results: dict[str, Any]) -> Outcome:
    """The readings as tables and findings of the results page."""

    def cell(result: dict[str, Any], name: str, form: str = ".1f") -> Cell:
        return Cell.between(result[name], result["intervals"].get(name), form)

    rows = [
        [
            name,
            result["rows"],
            Cell(result["candidates"], form=",.0f"),
            *(cell(result, key) for key in ("bleu", "token_f1", "exact")),
            cell(result, "cosine", ".3f"),
        ]
        for name, result in sorted(results.items(), key=lambda item: item[0].startswith(("noise", "other")))
    ]
    columns = ["search", "vectors", "candidates", "BLEU", "token F1", "exact %", "cosine"]
    note = (
        "Corpus BLEU. *Candidates*: texts embedded and compared with a vector, on average. *Beam 4*: the "
        "four closest texts are kept, and each step writes four corrections of each, or eight (*by 8*). "
        "*Edited*: texts one wordpiece away, while one is closer. *Likeliest of 4*: four texts are followed "
        "while they are written, and the likeliest as a whole stays; read on a CPU. The reader knows the "
        "noise ratio unless it says not told."
    )
    lengths = [name for name in BY_LENGTH if name in results]
    split = [
        [group, results[lengths[0]]["by_length"][group]["rows"]]
        + [
            cell(results[name]["by_length"][group], which)
            for name in lengths
            for which in ("token_f1", "exact")
        ]
        for group in results[lengths[0]]["by_length"]
    ]
    heads = [f"{which}, {name}" for name in lengths for which in ("token F1", "exact %")]
    findings = []
    for name, goal in GOALS.items():
        own = [results[name][key] for key in ("bleu", "token_f1", "exact")]
        met = all(value >= wanted for value, wanted in zip(own, goal, strict=True))
        text = "BLEU {:.1f}, token F1 {:.1f}, exact {:.1f} %"
        findings.append(
            Finding("reader", name, "goal: at least " + text.format(*goal), text.format(*own), met,
                    "" if met else "distinct text: it learned its training sentences by heart")
        )  # fmt: skip
    tables = [
        Table("Held-back sentences, all-MiniLM-L6-v2, the weights as they ship", columns, rows, note),
        Table("By words in the sentence", ["words", "sentences", *heads], split),
    ]
    return Outcome(tables, findings=findings)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--found", type=Path, required=True, action="append")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--study", type=Path, help="Write the tables of the results page here.")
    options = parser.parse_args()
    results = read(options)
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
        result = {"study": "reader", "parts": {"reader": found}}
        options.study.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
