"""What one term put for another costs under the default protector, where its detector misses it."""

from __future__ import annotations

from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms.base import one_blas_thread
from sfumato_research.studies.base import Cell, Entry, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.corpora import CORPORA

MODELS = {"minilm": "all-MiniLM-L6-v2", "wordllama": "WordLlama"}


def losses(setting: Setting) -> StudyOutcome:
    """Learn the default protector for each concept and encoder, and read off its losses."""
    rows: list[list[Entry]] = []
    for model in setting.pick(tuple(MODELS), ("wordllama",)):
        for name in setting.pick(tuple(CORPORA), ("location",)):
            setting.on_step(f"{name}, {MODELS[model]}: losses")
            rows.append(_row(name, model, setting))
    columns = ["texts", "encoder", "epsilon", "noise ratio", "median", "95 %", "worst", "worst in l2"]
    note = (
        "Privacy loss in nats when one term is put for another in a text, as where the detector misses it or "
        "a vector comes without its text; between texts that differ in found terms alone it is 0. *Epsilon*: "
        "per unit of Mahalanobis distance. *Worst in l2*: per unit of Euclidean distance, in the direction "
        "with the least noise."
    )
    return StudyOutcome([StudyTable("What one swapped term costs", columns, rows, note)])


def _row(name: str, model: str, setting: Setting) -> list[Entry]:
    corpus = CORPORA[name][0](setting.data)
    settings = LearnSettings(source="public", limit=setting.pick(2000, 200), seed=setting.seed)
    with one_blas_thread():
        protector = learn(corpus.texts, corpus.concept, embedder=model, settings=settings)
    lost, promise = protector.learned.loss_over_substitutions or {}, protector.guarantee
    return [
        corpus.name,
        MODELS[model],
        Cell(promise.epsilon, form=".1f"),
        Cell(protector.mechanism.noise_ratio(protector.encoder.dim), form=".2f"),
        *(Cell(lost[which], form=".0f") for which in ("median", "p95", "max")),
        Cell(promise.worst_case_l2, form=",.0f"),
    ]
