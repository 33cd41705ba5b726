"""Coherence repair of private passages by a chat model (STAMP, section 4): what is taken, what it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.mechanisms.base import one_blas_thread
from sfumato.text.repair import Repair
from sfumato_research.stamp.judging import private, server
from sfumato_research.stamp.rows import POLAR, mean_cell
from sfumato_research.stamp.sets import Texts, fantasy
from sfumato_research.studies.base import Cell, Setting, StudyOutcome, StudyTable


def repair(setting: Setting) -> StudyOutcome:
    """Let the server that judges mend fictional passages."""
    texts = fantasy(setting)
    made = private(setting, texts)
    with server(setting) as (chat, _), one_blas_thread():
        return StudyOutcome([repaired(setting, texts, made, Repair(chat))])


def repaired(setting: Setting, texts: Texts, made: Mapping[str, Sequence[str]], mender: Repair) -> StudyTable:
    """Coherence repair of the private passages: which answers keep the rules, and what they change."""
    rows: list[list[Cell | str | int | None]] = []
    # One question of each passage, so that an interval rests on as many passages as texts.
    first = np.unique(texts.groups, return_index=True)[1][: setting.pick(24, 2)].tolist()
    for key in [key for key in made if key.endswith(f"|{POLAR}")]:
        setting.on_step(f"repair, {key}")
        done = {row: mender.repair(made[key][row], row=row) for row in first}
        after = [done[row].text if row in done else text for row, text in enumerate(made[key])]
        scores = texts.score({"before": made[key], "after": after})[texts.metric]
        taken = sum(each.accepted for each in done.values())
        apart = mean_cell((scores["after"] - scores["before"])[first], texts.groups[first], form="+.3f")
        rows.append([key.partition("|")[0], len(done), taken, apart])
    note = (
        "One private text of each fictional passage, sent to the same server with the paper's instructions. "
        "A repair that loses a placeholder, adds a number or a name or changes the length too much is not "
        "taken, and the text stays as it was. Change of our own reader's answer cosine, question by question."
    )
    return StudyTable(
        "Coherence repair", ["row of budgets", "sent", "taken", "change in answer cosine"], rows, note
    )
