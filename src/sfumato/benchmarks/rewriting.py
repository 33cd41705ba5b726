"""Speed and memory of private text: words a second through grouping, noise, decoding and writing.

Runs in a fresh interpreter, so that the peak of its memory is its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sfumato
from sfumato.benchmarks.interleave import Spread, plain, spread
from sfumato.numbers import whole_number
from sfumato.randomness import generator

WORDS, DIM = 50_000, 300
WORDS_A_TEXT = 180
"""The paper's average (section 5.4)."""
PAPER_WORDS_A_SECOND = 1 / 0.195
"""195 ms a token, printed in section 5.4."""
_MIB = 1024 if sys.platform != "darwin" else 1 << 20

Budget = tuple[float, float, float, float]
CASES: dict[str, Budget] = {
    "paper's budgets, row 1": (150.0, 50.0, 450.0, 350.0),
    "every word at epsilon 50": (50.0, 50.0, 50.0, 50.0),
}
"""The second is the slowest there is: so much noise that no word can be left out of the search."""


@dataclass(frozen=True, slots=True)
class RewriteSpeed:
    """One setting of the text rewriter; figures are medians over rounds."""

    case: str
    words: int
    """Size of the vocabulary."""
    dim: int
    threads: int
    per_second: Spread
    """Words rewritten a second on the wall."""
    per_processor_second: Spread
    """Words rewritten in one second of processor time: free of what other programs took away."""
    peak_mib: float
    """Peak memory of the whole process, interpreter and vocabulary included."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain(self)


def rewrite_speeds(
    rounds: int = 3,
    *,
    words: int = WORDS,
    dim: int = DIM,
    texts: int = 32,
    threads: int = 2,
    on_round: Callable[[], object] | None = None,
) -> tuple[RewriteSpeed, ...]:
    """Rewrite made-up texts over a made-up vocabulary, in a fresh interpreter for each case.

    Args:
        rounds: rounds that count; one more warms up.
        words: size of the vocabulary.
        dim: dimension of its vectors.
        texts: how many texts of WORDS_A_TEXT words a round rewrites.
        threads: how many threads.
        on_round: called after each case.
    """
    settings = {
        "rounds": whole_number(rounds, "rounds", 1, 1000),
        "words": whole_number(words, "words", 8, 10**7),
        "dim": whole_number(dim, "dim", 2, 8192),
        "texts": whole_number(texts, "texts", 1, 10**6),
        "threads": whole_number(threads, "threads", 1, 512),
    }
    found = []
    for case, budgets in CASES.items():
        laps = _child({**settings, "budgets": budgets})
        found.append(
            RewriteSpeed(
                case,
                words,
                dim,
                threads,
                spread(laps["per_second"]),
                spread(laps["per_processor_second"]),
                laps["peak_mib"],
            )
        )
        if on_round is not None:
            on_round()
    return tuple(found)


def _child(settings: dict[str, Any]) -> dict[str, Any]:
    home = str(Path(sfumato.__file__).parents[1])
    paths = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    code = "import sys; from sfumato.benchmarks.rewriting import run; run(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(settings)],
        env={**os.environ, "PYTHONPATH": paths},
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    laps: dict[str, Any] = json.loads(done.stdout)
    return laps


def run(settings: str) -> None:
    """Measure in this process and write the laps to standard output."""
    from sfumato.text import Budgets, Rewriter, WordVectors

    given = json.loads(settings)
    rng = generator(0)
    names = [f"word{number}" for number in range(given["words"])]
    vectors = rng.standard_normal((given["words"], given["dim"]), np.float32)
    rewriter = Rewriter(WordVectors(names, vectors), Budgets(*given["budgets"]))
    del vectors
    texts = [
        " ".join(names[number] for number in rng.integers(0, len(names), WORDS_A_TEXT))
        for _ in range(given["texts"])
    ]
    tasks = [text[: text.index(" ")] for text in texts]
    total = len(texts) * WORDS_A_TEXT
    wall, own = [], []
    for _ in range(given["rounds"] + 1):
        started, used = time.perf_counter(), time.process_time()
        rewriter.rewrite(texts, tasks=tasks, threads=given["threads"])
        wall.append(total / max(time.perf_counter() - started, 1e-9))
        own.append(total / max(time.process_time() - used, 1e-9))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB
    sys.stdout.write(
        json.dumps({"per_second": wall[1:], "per_processor_second": own[1:], "peak_mib": peak}) + "\n"
    )
