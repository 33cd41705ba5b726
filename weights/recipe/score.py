"""Score what evaluate.py found: BLEU, token F1, exact matches, by length and by source.

python weights/recipe/score.py --data FOLDER --found FILE.npz [--json FILE]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from sfumato.attacks.scores import exact_match, token_f1
from sfumato.attacks.wordpieces import Wordpieces
from sfumato.evaluation.reconstruction import score_reconstruction

LENGTHS = ((1, 8), (9, 12), (13, 18), (19, 25), (26, 99))


def summary(references: list[str], texts: list[str], cosines: np.ndarray) -> dict[str, float]:
    """The figures of one reading."""
    scored = score_reconstruction(references, texts)
    return {
        "bleu": scored.corpus_bleu,
        "sentence_bleu": float(scored.sentence_bleu.mean()),
        "token_f1": 100 * float(np.mean([token_f1(a, b) for a, b in zip(references, texts, strict=True)])),
        "exact": 100 * float(np.mean([exact_match(a, b) for a, b in zip(references, texts, strict=True)])),
        "cosine": float(np.mean(cosines)),
        "rows": len(texts),
    }


def part(
    references: list[str], texts: list[str], cosines: np.ndarray, chosen: np.ndarray
) -> dict[str, float]:
    """The figures of some of the rows."""
    at = np.flatnonzero(chosen)
    return summary([references[i] for i in at], [texts[i] for i in at], cosines[at])


def main() -> None:
    """Score every reading in the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--found", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pieces = Wordpieces.minilm()
    kept, found = np.load(options.data / "corpus.npz"), np.load(options.found)
    tests = json.loads((options.data / "test.json").read_text())
    truth = {name: pieces.decode(kept[name]) for name in ("test", "apart")}
    results = {}
    for name in sorted({key.partition("|")[0] for key in found}):
        which = "apart" if name.startswith("other sources") else "test"
        texts = pieces.decode(found[f"{name}|tokens"].astype(np.int64))
        references, cosines = truth[which][: len(texts)], found[f"{name}|cosine"]
        candidates, seconds = found[f"{name}|cost"].tolist()
        result = summary(references, texts, cosines) | {"candidates": candidates, "seconds": seconds}
        words = np.array([len(reference.split()) for reference in references])
        sources = np.array([source for source, _ in tests[which][: len(texts)]])

        lengths = {f"{low}-{high}": (words >= low) & (words <= high) for low, high in LENGTHS}
        named = {source: sources == source for source in sorted(set(sources))}
        result["by_length"] = {
            label: part(references, texts, cosines, rows) for label, rows in lengths.items()
        }
        result["by_source"] = {label: part(references, texts, cosines, rows) for label, rows in named.items()}
        results[name] = result
        print(
            f"{name:34s} BLEU {result['bleu']:.1f}  F1 {result['token_f1']:.1f}  exact {result['exact']:.1f}"
        )
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
