"""The leaderboard as a study: a part is a concept, and rows run again take the place of the old ones."""

from __future__ import annotations

from functools import partial

from sfumato.embedders.loader import EMBEDDERS
from sfumato_research.attackers.study import NAMES
from sfumato_research.frontier.cases import CASES
from sfumato_research.frontier.public import NEEDS
from sfumato_research.leaderboard.cells import BoardCells
from sfumato_research.leaderboard.ground import BoardGround
from sfumato_research.leaderboard.rows import BOARD, BoardRow, as_table, merged, rows_of
from sfumato_research.studies.base import Setting, Study, StudyOutcome, StudyPart

PLAIN = ("wordllama", "minilm-int8", "minilm")
"""Encoders of a run without a choice, as far as they are installed."""
NOTE = (
    "figure: what the attack gets, with its 95 % interval; clean: the same attack on clean vectors; prior: a "
    "constant answer. Of use (finds the same neighbours) more is better, of everything else less."
)


def board_outcome(setting: Setting, name: str) -> StudyOutcome:
    """Measure the chosen rows of one concept."""
    chosen = setting.choice.encoders or [each for each in PLAIN if EMBEDDERS.installed(each)]
    tables = [
        BoardCells(BoardGround(setting, name, encoder), choice=setting.choice)
        for encoder in dict.fromkeys(chosen)
    ]
    for cells in tables:  # before anything is measured: a name that is wrong is refused here
        _ = cells.wanted(), cells.ground.embedder
    rows: list[BoardRow] = []
    for cells in tables:
        cells.measure()
        rows += rows_of(cells)
    return StudyOutcome([as_table(f"{NAMES[name]} in the news", rows, NOTE)])


STUDY = Study(
    BOARD,
    "Leaderboard: encoders x defences x attacks, a row a command",
    "ours",
    [
        StudyPart(name, f"{title} in the news", partial(board_outcome, name=name), (*CASES[name][1], *NEEDS))
        for name, title in NAMES.items()
    ],
    by_cell=True,
    merge=merged,
)
