"""The frontier study: concepts with gold labels on every encoder (research/protocol.md, -families.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from sfumato.metrics.leakage import words
from sfumato.metrics.reconstruction import bag_f1, score_reconstruction
from sfumato.types import Floats
from sfumato_research.families.cells import CUTS, cuts_there, measured
from sfumato_research.frontier.cases import CASES
from sfumato_research.frontier.defences import REMOVED
from sfumato_research.frontier.figures import Cuts
from sfumato_research.frontier.nested import nested, share
from sfumato_research.frontier.public import NEEDS as PUBLIC
from sfumato_research.frontier.tables import cell, goals, other_table, picture, term_table, use_table
from sfumato_research.frontier.use import NEEDS
from sfumato_research.frontier.wider import widened
from sfumato_research.frontier.writing import WRITTEN, Texts, written
from sfumato_research.studies.base import Cell, Entry, Setting, Study, StudyOutcome, StudyPart, StudyTable
from sfumato_research.studies.encoders import ENCODERS

_MODELS = {each.name: each.title for each in ENCODERS}
_OLDER = ("minilm", "wordllama")
"""Encoders of the parts that were run once, before there were others."""
_STOP = frozenset(
    "a an the of in on at to for and or but is are was were be been by with from as it its that this which "
    "who he she they his her their has have had not no s will would said after before over into than".split()
)


def _cell(setting: Setting, name: str, model: str) -> StudyOutcome:
    numbers = cuts_there(name, model, setting) or range(setting.pick(CUTS, 1))
    cuts = Cuts([measured(name, model, cut, setting) for cut in numbers])
    title = f"{name}, {_MODELS[model]}"
    tables = [term_table(title, cuts), other_table(title, cuts), use_table(title, cuts)]
    drawn = picture(title, f"frontier-{name}-{model}.svg", cuts)
    return StudyOutcome(tables, [drawn], goals(title, cuts))


def _wider(setting: Setting) -> StudyOutcome:
    """What more text gives the attacker."""
    rows: list[list[Entry]] = []
    for name in setting.pick(("place", "person"), ("place",)):
        for model in setting.pick(_OLDER, ("wordllama",)):
            cuts = [widened(name, model, cut, setting) for cut in range(setting.pick(2, 1))]
            more = int(np.mean([cut["public"] for cut in cuts]))
            for label in dict.fromkeys(key.split("|")[0] for key in cuts[0] if "|" in key):
                found = []
                for key in ("own", "wider"):
                    tables = [np.stack([cut[f"{label}|{key}"][0], cut["terms.total"]], 1) for cut in cuts]
                    found.append(cell(nested(tables, [cut["groups"] for cut in cuts], share)))
                rows.append([name, _MODELS[model], label, *found, more])
    columns = [
        "concept",
        "encoder",
        "released",
        "named, labelled text",
        "named, public text too",
        "sentences",
    ]
    note = (
        "One seed, two cuts. The public sentences name at least one of the terms, found by dictionary; ours "
        "looks at them with its lists."
    )
    return StudyOutcome([StudyTable("Ten times the text to learn from", columns, rows, note)])


def _whole_text(setting: Setting) -> StudyOutcome:
    """How much of a text is written again by a writer that was trained on that release."""
    rows: list[list[Entry]] = []
    for name in setting.pick(("place", "person"), ("place",)):
        texts = written(name, setting.pick("minilm", "wordllama"), setting)
        content = {label: _content(texts["truth"], guesses) for label, guesses in texts.items()}
        for label in texts:
            if label in ("truth", "rows"):
                continue
            more = _mean(content[label] - content[REMOVED])
            rows.append([name, label, *_scores(texts, label), _mean(content[label]), more])
    columns = [
        "concept",
        "released",
        "BLEU",
        "token F1",
        "exact",
        "labelled things written",
        "content F1",
        "content F1 more than removal's",
    ]
    note = (
        f"{WRITTEN} attacked sentences of one cut, MiniLM. A writer of six layers learned from the learning "
        "side and 40,000 public sentences: six passes, the last two on that very release. Read every row "
        "beside the clean one: the ready-made reader, trained far longer, reads clean vectors far better. "
        "Labelled things: every place, person, organisation and other name that people labelled, whole, "
        "in order."
    )
    return StudyOutcome([StudyTable("The whole text", columns, rows, note)])


def _scores(texts: Texts, label: str) -> list[Cell]:
    found = score_reconstruction(texts["truth"], texts[label])
    hits = []
    for row, guess in zip(texts["rows"], texts[label], strict=True):
        things, text = json.loads(row), f" {' '.join(words(guess))} "
        hits.append([sum(f" {' '.join(words(each))} " in text for each in things), len(things)])
    figures = [_mean(each) for each in (found.sentence_bleu, found.token_f1, found.exact)]
    return [*figures, cell(nested([np.array(hits, float)], None, share))]


def _content(truth: list[str], guesses: list[str]) -> Floats:
    """`[n]` token F1 without the most common words."""
    bare = [[[w for w in words(each) if w not in _STOP] for each in texts] for texts in (truth, guesses)]
    return np.array([bag_f1(one, other) for one, other in zip(*bare, strict=True)])


def _mean(figures: Sequence[float] | Floats) -> Cell:
    column = np.asarray(figures, float)
    return cell(nested([np.stack([column, np.ones(len(column))], 1)], None, share))


def _parts() -> list[StudyPart]:
    made = []
    for name, (_, needs) in CASES.items():
        for model, title in _MODELS.items():
            run: Callable[[Setting], StudyOutcome] = partial(_cell, name=name, model=model)
            made.append(StudyPart(f"{name}-{model}", f"{name}, {title}", run, (*needs, *NEEDS)))
    return made


STUDY = Study(
    "frontier",
    "The honest frontier: gold labels, our own detector, fair attacks",
    "ours",
    [
        *_parts(),
        StudyPart("wider", "Ten times the text", _wider, ("conll2003", *PUBLIC)),
        StudyPart("text", "The whole text", _whole_text, ("conll2003", *PUBLIC)),
    ],
)
