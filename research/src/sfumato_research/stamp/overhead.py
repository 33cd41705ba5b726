"""Section 5.4 of STAMP: what grouping, noise and decoding take, a text and a word."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.mechanisms.base import one_blas_thread
from sfumato.randomness import generator
from sfumato.text import Budgets, Rewriter, WordVectors
from sfumato_research.stamp.rows import CODE, READINGS, pieces, rewriter
from sfumato_research.stamp.sets import Spans, find_sensitive
from sfumato_research.studies.base import Cell, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import rows

# Section 5.4: 195 ms a token for polar, 192 for Laplace, 0.002 s to group a text of 180 tokens.
PRINTED_POLAR, PRINTED_LAPLACE, PRINTED_GROUPING = 195.0, 192.0, 2.0
MADE_UP = (50_000, 300)
"""Words and dimensions of a vocabulary of random vectors: none is like another, which is the worst case."""
WORDS_A_TEXT = 180
_ROUNDS = 3


def _best(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor seconds of the best of some rounds."""
    found = []
    for _ in range(_ROUNDS):
        wall, own = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - wall, time.process_time() - own))
    return min(each[0] for each in found), min(each[1] for each in found)


def overhead(setting: Setting) -> StudyOutcome:
    """Time grouping, polar and Laplace on contexts of SQuAD, and both on a made-up vocabulary."""
    contexts = [row["context"] for row in rows(setting.data, "squad_dev", "contexts")]
    asked = {row["context_id"]: row["question"] for row in rows(setting.data, "squad_dev", "questions")}
    texts = contexts[: setting.pick(60, 10)]
    tasks = list(asked.values())[: len(texts)]
    with one_blas_thread():
        return timed(setting, texts, tasks)


def timed(
    setting: Setting, texts: Sequence[str], tasks: Sequence[str], vocabulary: WordVectors | None = None
) -> StudyOutcome:
    """The same on any texts and words."""
    words = vocabulary or pieces()
    finding = _best(lambda: find_sensitive(texts))
    spans = find_sensitive(texts)
    polar = rewriter(words)
    grouping = _best(lambda: list(polar.groups.group(texts, tasks, spans)))
    table, rates, count = _rewriting(words, polar, texts, tasks, spans)
    for name, (wall, own) in {"find what is sensitive": finding, "group by the task": grouping}.items():
        printed = PRINTED_GROUPING / WORDS_A_TEXT if name.startswith("group") else None
        table.append(_step(name, count, wall, own, printed))
    setting.on_step("overhead, made-up vocabulary")
    table += _made_up(setting)
    rounded: list[Sequence[Cell | str | float | int | None]] = [
        [*row[:3], f"{row[3]:,.0f}", f"{row[4]:,.0f}"] for row in table
    ]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    note = (
        f"{len(texts)} contexts, budgets of row 1, kappa = {CODE}, one thread; the last two rows: random "
        f"vectors, {MADE_UP[0]:,} words of {MADE_UP[1]} dimensions, two threads. Best of {_ROUNDS} rounds. A "
        "core-second is processor time, which leaves out what other programs took; wall time does not. "
        f"Load of the machine: {load:.1f}."
    )
    columns = [
        "step",
        "tokens",
        "ms a token (printed)",
        "tokens a core-second",
        "tokens a second on the wall",
    ]
    ratio = rates["polar"] / rates["laplace"]
    return StudyOutcome(
        [StudyTable("Time of each step", columns, rounded, note)],
        findings=[
            Finding(
                "Section 5.4",
                "polar takes about as long as Laplace",
                f"{PRINTED_POLAR:g} and {PRINTED_LAPLACE:g} ms a token",
                f"{rates['polar']:.2f} and {rates['laplace']:.2f} ms a token",
                bool(0.8 <= ratio <= 1.25),
                "" if 0.8 <= ratio <= 1.25 else "decoding is faster where a word stays near itself",
            )
        ],
    )


def _rewriting(
    words: WordVectors, polar: Rewriter, texts: Sequence[str], tasks: Sequence[str], spans: Sequence[Spans]
) -> tuple[list[list[Any]], dict[str, float], int]:
    """Rows of both mechanisms, milliseconds a token of each, and how many tokens there are."""
    table: list[list[Any]] = []
    rates: dict[str, float] = {}
    count = 0
    for name, machine in {
        "polar": polar,
        "laplace": rewriter(words, mechanism="laplace", decoder=polar.channel.decoder),
    }.items():
        chosen = machine.with_budgets(Budgets.paper(1).scaled(READINGS[CODE]))

        def work(one: Any = chosen) -> list[Any]:
            return list(one.rewrite(texts, tasks=tasks, spans=spans, threads=1))

        count = sum(part.draws for each in work() for part in each.promise.groups)
        wall, own = _best(work)
        rates[name] = own / count * 1000
        printed = {"polar": PRINTED_POLAR, "laplace": PRINTED_LAPLACE}[name]
        table.append(_step(f"rewrite, {name}", count, wall, own, printed))
    return table, rates, count


def _step(name: str, count: int, wall: float, own: float, printed: float | None = None) -> list[Any]:
    """The row of one step that took so long for so many tokens."""
    return [
        name,
        f"{count:,}",
        Cell(own / count * 1000, form=".3f", printed=printed),
        count / own,
        count / wall,
    ]


def _made_up(setting: Setting) -> list[list[Any]]:
    rng = generator(setting.seed)
    size = setting.pick(MADE_UP, (2_000, 64))
    names = [f"word{number}" for number in range(size[0])]
    vocabulary = WordVectors(names, rng.standard_normal(size, np.float32))
    machine = rewriter(vocabulary)
    count = setting.pick(16, 2)
    texts = [" ".join(names[n] for n in rng.integers(0, size[0], WORDS_A_TEXT)) for _ in range(count)]
    spans: list[Spans] = [[] for _ in texts]
    out: list[list[Any]] = []
    for label, budgets in {
        "the paper's budgets, row 1": Budgets.paper(1),
        "epsilon 50 for every word": Budgets.uniform(50.0),
    }.items():
        chosen = machine.with_budgets(budgets)
        chosen.rewrite(texts, spans=spans, threads=2)
        wall, own = _best(lambda one=chosen: one.rewrite(texts, spans=spans, threads=2))  # type: ignore[misc]
        tokens = count * WORDS_A_TEXT
        out.append(_step(f"rewrite, made-up words, {label}", tokens, wall, own))
    return out
