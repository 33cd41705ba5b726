"""The frontier study: three concepts with gold labels, two encoders, five cuts (research/protocol.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import numpy as np

from sfumato.metrics.leakage import words
from sfumato.metrics.reconstruction import bag_f1, score_reconstruction
from sfumato_research.frontier.cases import CASES
from sfumato_research.frontier.figures import Cuts
from sfumato_research.frontier.measure import CUTS, measured
from sfumato_research.frontier.nested import nested, share
from sfumato_research.frontier.public import NEEDS as PUBLIC
from sfumato_research.frontier.tables import cell, goals, other_table, picture, term_table, use_table
from sfumato_research.frontier.use import NEEDS
from sfumato_research.frontier.wider import widened
from sfumato_research.frontier.writing import written
from sfumato_research.studies.base import Cell, Entry, Setting, Study, StudyOutcome, StudyPart, StudyTable

_MODELS = {"minilm": "all-MiniLM-L6-v2", "wordllama": "WordLlama"}
_STOP = frozenset(
    "a an the of in on at to for and or but is are was were be been by with from as it its that this which "
    "who he she they his her their has have had not no s will would said after before over into than".split()
)


def _cell(setting: Setting, name: str, model: str) -> StudyOutcome:
    cuts = Cuts([measured(name, model, cut, setting) for cut in setting.pick(CUTS[model], (0,))])
    title = f"{name}, {_MODELS[model]}"
    tables = [term_table(title, cuts), other_table(title, cuts), use_table(title, cuts)]
    drawn = picture(title, f"frontier-{name}-{model}.svg", cuts)
    return StudyOutcome(tables, [drawn], goals(title, cuts))


def _wider(setting: Setting) -> StudyOutcome:
    """What more text gives the attacker."""
    rows: list[list[Entry]] = []
    for name in setting.pick(("place", "person"), ("place",)):
        for model in setting.pick(_MODELS, {"wordllama": ""}):
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
    for name in ("place",) if setting.device == "cpu" else ("place", "person"):
        model = setting.pick("minilm", "wordllama")
        texts = written(name, model, setting)
        for label in texts:
            if label not in ("truth", "rows"):
                rows.append([name, label, *_scores(texts["truth"], texts[label], texts["rows"])])
    columns = ["concept", "released", "BLEU", "token F1", "content F1", "exact", "labelled things written"]
    note = (
        "600 attacked sentences of one cut. A small writer trained on a CPU, from the learning side and "
        "8,000 public sentences: six passes, the last two on that very release. Read every row beside the "
        "clean one: the ready-made reader reads clean vectors far better. Labelled things: every place, "
        "person, organisation and other name that people labelled, whole and in order."
    )
    return StudyOutcome([StudyTable("The whole text", columns, rows, note)])


def _scores(truth: list[str], guesses: list[str], labelled: list[str]) -> list[Cell]:
    found = score_reconstruction(truth, guesses)
    content = [
        bag_f1([w for w in words(t) if w not in _STOP], [w for w in words(g) if w not in _STOP])
        for t, g in zip(truth, guesses, strict=True)
    ]
    hits = []
    for row, guess in zip(labelled, guesses, strict=True):
        things, text = json.loads(row), f" {' '.join(words(guess))} "
        hits.append([sum(f" {' '.join(words(each))} " in text for each in things), len(things)])
    one = np.ones(len(truth))
    columns = (found.sentence_bleu, found.token_f1, content, found.exact)
    figures = [cell(nested([np.stack([np.asarray(each, float), one], 1)], None, share)) for each in columns]
    return [*figures, cell(nested([np.array(hits, float)], None, share))]


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
