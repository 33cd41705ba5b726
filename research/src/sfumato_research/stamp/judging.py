"""STAMP's judge: a chat model answers from private text, asked through a server with the paper's words."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.mechanisms.base import one_blas_thread
from sfumato.text import Budgets
from sfumato.text.budgets import PAPER_ROWS
from sfumato.text.chat import Chat
from sfumato.types import Floats
from sfumato_research.stamp.rows import (
    CODE,
    POLAR,
    PUBLISHED,
    READINGS,
    THRESHOLD,
    UNIFORM,
    group_sizes,
    machines,
    mean_cell,
    pieces,
    quiet_source,
    rewritten,
)
from sfumato_research.stamp.sets import JUDGE, AnswerScorer, Texts
from sfumato_research.studies.base import Cell, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import encoder
from sfumato_research.text.judge import Judge, Recording
from sfumato_research.text.serving import ChatModel, serving

RECORD = "SFUMATO_JUDGE_RECORD"
"""A folder in this variable keeps what was asked and answered."""
LOCAL = "smollm2"
ROWS = (1, 3, 5)
CLEAN, NOTHING = "not private", "no text at all"
SCHEMES = {POLAR: "STAMP, polar", UNIFORM: "uniform, polar", PUBLISHED: "Laplace, published code"}
Scores = Mapping[str, Floats]
_TIMEOUT = 600.0


@contextmanager
def server(setting: Setting) -> Iterator[tuple[Chat, dict[str, Any]]]:
    """The model to ask, and what is known of it: the server that is named, or a local model on loopback."""
    named = os.environ.get(JUDGE)
    if named:
        chat = Chat.parse(named, temperature=0.0)
        yield chat, {"server": chat.name}
        return
    model = ChatModel(LOCAL, setting.device)
    with serving(model) as address:
        about = {
            "server": "sfumato_research.text.serving on loopback",
            "model": LOCAL,
            "weights_sha256": model.digest,
        }
        yield Chat(LOCAL, base_url=address, temperature=0.0, timeout=_TIMEOUT), about


def judge(setting: Setting, name: str, texts: Texts) -> StudyOutcome:
    """Ask the judge about SQuAD or about fictional passages."""
    made = private(setting, texts)
    # Fictional passages are ours and are kept word for word; SQuAD's texts are not.
    recording = Recording(words=name == "fantasy")
    with server(setting) as (chat, about), one_blas_thread():
        recording.about = {**about, "set": name, "when": time.strftime("%Y-%m-%d", time.gmtime())}
        asked = asked_about(setting, name, texts, made, Judge(chat, recording))
    _save(name, recording)
    tables = [_table(name, texts, metric, found, about) for metric, found in asked.items()]
    return StudyOutcome(tables, findings=[_finding(name, texts, asked["answer cosine"])])


def _save(name: str, recording: Recording) -> None:
    place = os.environ.get(RECORD)
    if place:
        recording.save(Path(place) / f"stamp-judge-{name}.json.gz")


def private(setting: Setting, texts: Texts) -> dict[str, list[str]]:
    """The texts as they are, none, and private ones at some rows of the paper's budgets."""
    words = pieces()
    made_by = machines(words, THRESHOLD, setting.device)
    _, tokens = group_sizes(made_by[POLAR], texts)
    source = quiet_source(setting.seed)
    made = {CLEAN: list(texts.texts), NOTHING: [""] * len(texts.texts)}
    for row in setting.pick(ROWS, ROWS[1:2]):
        for scheme in SCHEMES:
            budgets = Budgets(*PAPER_ROWS[row - 1]).scaled(1.0 if scheme == PUBLISHED else READINGS[CODE])
            if scheme == UNIFORM:
                budgets = Budgets.uniform(budgets.mean(tokens))
            made[f"{row}|{scheme}"] = rewritten(made_by[scheme], budgets, texts, source)[0]
    return made


def asked_about(
    setting: Setting, name: str, texts: Texts, made: Mapping[str, Sequence[str]], asked: Judge
) -> dict[str, Scores]:
    """Scores of the judge's answers, by metric and by what made the text."""
    scorer = AnswerScorer.of(texts.examples, encoder(setting))
    out: dict[str, dict[str, Floats]] = {}
    for key, contexts in made.items():
        setting.on_step(f"judge, {name}, {key}")
        said = [
            asked.answer(context, one.question) for context, one in zip(contexts, texts.examples, strict=True)
        ]
        for metric, values in scorer.scores(said).items():
            out.setdefault(metric, {})[key] = values
    return dict(out)


def _table(name: str, texts: Texts, metric: str, found: Scores, about: Mapping[str, Any]) -> StudyTable:
    clean, nothing = (mean_cell(found[key], texts.groups) for key in (CLEAN, NOTHING))
    above = mean_cell(found[CLEAN] - found[NOTHING], texts.groups, form="+.3f")
    rows: list[list[Cell | str | None]] = [
        [CLEAN, clean, None, None, above],
        [NOTHING, nothing, None, None, None],
    ]
    for row in dict.fromkeys(key.partition("|")[0] for key in found if "|" in key):
        values = [found[f"{row}|{scheme}"] for scheme in SCHEMES]
        apart = mean_cell(values[0] - found[NOTHING], texts.groups, form="+.3f")
        budgets = "{" + ", ".join(f"{value:g}" for value in PAPER_ROWS[int(row) - 1]) + "}"
        rows.append([budgets, *(mean_cell(each, texts.groups) for each in values), apart])
    note = (
        f"{len(texts.texts)} questions, kappa = {CODE}, MiniLM's pieces. Asked: "
        f"{about.get('model') or about['server']}, with the paper's prompt, temperature 0, five tokens. The "
        "last column is what the first has more than the answers to no text at all, question by question."
    )
    columns = ["budgets", *SCHEMES.values(), "more than no text"]
    return StudyTable(f"The judge, {name}: {metric}", columns, rows, note)


def _finding(name: str, texts: Texts, found: Scores) -> Finding:
    above = mean_cell(found[CLEAN] - found[NOTHING], texts.groups, form="+.3f")
    works = above.low is not None and above.low > 0
    keys = [key for key in found if key.endswith(f"|{POLAR}")]
    pairs = {
        scheme: mean_cell(
            np.mean([found[key] - found[key.replace(f"|{POLAR}", f"|{scheme}")] for key in keys], axis=0),
            texts.groups,
            form="+.3f",
        )
        for scheme in (PUBLISHED, UNIFORM)
    }
    laplace = pairs[PUBLISHED]
    same = None
    if works and laplace.low is not None and laplace.high is not None:
        same = True if laplace.low > 0 else False if laplace.high < 0 else None
    return Finding(
        f"Table 1, {name}, the judge",
        "polar beats the published Laplace, by a chat model with the paper's prompt",
        "5 of 5 rows on SQuAD",
        f"{_said(laplace)}; less uniform {_said(pairs[UNIFORM])}; clean less no text {_said(above)}",
        same,
        "" if same else "a judge of 135 million weights reads too little to tell" if works else _BLIND,
    )


_BLIND = "the judge reads clean text no better than none, so that nothing follows from its answers"


def _said(cell: Cell) -> str:
    return f"{cell.value:+.3f} [{cell.low:+.3f}, {cell.high:+.3f}]"
