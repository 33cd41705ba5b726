"""How well do encoders' cosines follow people's judgement, and how long does a text take? As Markdown.

FILE is the STS Benchmark as a table with tabs: split, subset, score, sentence1, sentence2; its test part is
used. All encoders take turns on the same texts, in processor time of one thread.

    python benchmarks/similarity.py stsb.tsv.gz minilm wordllama use-lite:FOLDER
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("SFUMATO_THREADS", "1")

import argparse  # noqa: E402
import csv  # noqa: E402
import gzip  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

from sfumato.benchmarks.interleave import CPU, interleave  # noqa: E402
from sfumato.embedders import load_embedder  # noqa: E402
from sfumato.metrics.similarity import sts  # noqa: E402
from sfumato.metrics.utility import compare_sts  # noqa: E402


def pairs(file: Path, most: int) -> tuple[list[str], list[str], list[float]]:
    """Both sentences and the score of `most` pairs, spread over the test part."""
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        rows = [row for row in reader if row["split"] == "test"]
    chosen = [rows[place] for place in np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int)]
    return (
        [row["sentence1"] for row in chosen],
        [row["sentence2"] for row in chosen],
        [float(row["score"]) for row in chosen],
    )


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    first, second, gold = pairs(asked.file, asked.pairs)
    made = {each: load_embedder(each) for each in asked.encoders}
    found = {each: sts(encoder.embed(first), encoder.embed(second), gold) for each, encoder in made.items()}
    texts = first[:300]
    long = [" ".join(first[start : start + 40]) for start in range(0, min(len(first) - 40, 160), 8)]
    short_times, long_times = (
        interleave(
            {each: lambda encoder=encoder, some=some: encoder.embed(some) for each, encoder in made.items()},  # type: ignore[misc]
            asked.rounds,
            clock=CPU,
        )
        for some in (texts, long)
    )
    print(
        f"{len(gold)} pairs; times over the first's, for {len(texts)} sentences of {_words(texts):.0f} words"
    )
    print(f"and {len(long)} texts of {_words(long):.0f} words (medians)\n")
    print("| encoder | Spearman | over the first one's | sentences | long texts | ms a sentence |")
    print("|---|---|---|---|---|---|")
    base = found[asked.encoders[0]]
    for each, similarity in found.items():
        shared = compare_sts(base, similarity, "spearman")
        low, high = shared.interval or (np.nan, np.nan)
        print(
            f"| {made[each].name.partition(':')[0]} | {similarity.spearman:.3f} "
            f"| {shared.kept:.3f} ({low:.3f} to {high:.3f}) "
            f"| {short_times[each].ratio.median:.3f} | {long_times[each].ratio.median:.3f} "
            f"| {np.median(short_times[each].laps) / len(texts) * 1000:.2f} |"
        )


def _words(texts: list[str]) -> float:
    return float(np.median([len(text.split()) for text in texts]))


if __name__ == "__main__":
    main()
