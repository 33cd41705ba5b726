"""The study of neutral texts: two concepts with gold labels, two encoders (research/protocol-neutral.md)."""

from __future__ import annotations

from functools import partial

from sfumato_research.neutral.measure import CUTS, measured
from sfumato_research.neutral.tables import judged, table
from sfumato_research.studies.base import Setting, Study, StudyOutcome, StudyPart

_MODELS = {"minilm": "all-MiniLM-L6-v2", "wordllama": "WordLlama"}
_NEEDS = ("conll2003", "sts12", "sts13", "sts14", "stsb")


def _cell(setting: Setting, name: str, model: str) -> StudyOutcome:
    cuts = [measured(name, model, cut, setting) for cut in range(setting.pick(CUTS, 1))]
    title = f"{name}, {_MODELS[model]}"
    return StudyOutcome([table(title, cuts)], findings=judged(title, cuts))


STUDY = Study(
    "neutral",
    "Neutral texts: copies, one token, one word, or nothing",
    "ours",
    [
        StudyPart(f"{name}-{model}", f"{name}, {title}", partial(_cell, name=name, model=model), _NEEDS)
        for name in ("place", "person")
        for model, title in _MODELS.items()
    ],
)
