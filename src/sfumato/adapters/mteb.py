"""mteb: a protector, a defence or a plain encoder as an mteb model, and tasks from data in memory.

    model = mteb_encoder(protector)
    scores = run_tasks(model, [sts_task("mine", first, second, gold)])

Nothing is downloaded: local tasks hold their data, and results are not cached.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from sfumato.embedders.base import Embedder
from sfumato.errors import InputError, MissingPackageError
from sfumato.evaluation.defence import Defence, QueryMode
from sfumato.metrics.similarity import pair_cosines, unit_rows
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.types import Floats

EXACT = "ndcg_at_10_exact"
"""nDCG@10 before mteb rounds it to 5 digits."""


class MtebEncoder:
    """What mteb asks of an encoder; make one with `mteb_encoder`."""

    def __init__(self, defence: Defence, queries: QueryMode, seed: int | None, meta: Any) -> None:
        self.defence = defence
        self.queries = queries
        self._seeds = None if seed is None else generator(seed)
        self.mteb_model_meta = meta

    def encode(
        self,
        inputs: Any,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        prompt_type: Any = None,
        **options: Any,
    ) -> Floats:
        """Release the texts of all batches; queries as the mode says, everything else as documents."""
        texts = [text for batch in inputs for text in batch["text"]]
        # Two calls must not share their noise: it would cancel out of every comparison.
        seed = None if self._seeds is None else int(self._seeds.integers(2**60))
        asked = getattr(prompt_type, "value", prompt_type) == "query"
        release = partial(self.defence.queries, mode=self.queries) if asked else self.defence.release
        # mteb computes in the type it is given, and float32 is too coarse to rank close cosines.
        return release(texts, seed=seed).astype(np.float64)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Cosine of every row with every other, in float64."""
        import torch

        return torch.from_numpy(unit_rows(embeddings1) @ unit_rows(embeddings2).T)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Cosine of each row with its counterpart, in float64."""
        import torch

        return torch.from_numpy(pair_cosines(np.asarray(embeddings1), np.asarray(embeddings2)))


def mteb_encoder(
    protected: Protector | Defence | Embedder,
    *,
    name: str = "",
    queries: QueryMode = "noisy",
    seed: int | None = None,
) -> MtebEncoder:
    """Make an mteb model that releases what it embeds.

    Args:
        protected: a protector, a defence such as a baseline's, or an encoder to be measured as it is.
        name: how results call it, as "owner/model".
        queries: how queries are treated in retrieval tasks.
        seed: repeats the noise, for experiments; None draws secure noise.
    """
    if isinstance(protected, Protector):
        defence = Defence.from_protector(protected)
    elif isinstance(protected, Defence):
        defence = protected
    else:
        defence = Defence(name="clean", embedder=protected)
    _require()
    from mteb.models.model_meta import ModelMeta

    meta = ModelMeta.create_empty(
        overwrites={"name": name or f"sfumato/{_slug(defence.label)}", "revision": "0"}
    )
    return MtebEncoder(defence, queries, seed, meta)


def sts_task(name: str, first: Sequence[str], second: Sequence[str], gold: Sequence[float]) -> Any:
    """Make an mteb STS task from pairs of texts and their gold scores."""
    if not len(first) == len(second) == len(gold) or not len(gold):
        raise InputError(f"Pairs must have a score each. Found {len(first)}, {len(second)} and {len(gold)}.")
    _require()
    from mteb.abstasks.sts import AbsTaskSTS

    def load_data(self: Any, **options: Any) -> None:
        rows = {"sentence1": list(first), "sentence2": list(second), "score": [float(s) for s in gold]}
        self.dataset, self.data_loaded = {"test": _datasets().Dataset.from_dict(rows)}, True

    ends = {"min_score": float(min(gold)), "max_score": float(max(gold))}
    return _task(AbsTaskSTS, name, "STS", "cosine_spearman", {"load_data": load_data, **ends})


def retrieval_task(
    name: str, queries: Sequence[str], documents: Sequence[str], relevant: Sequence[Mapping[int, float]]
) -> Any:
    """Make an mteb retrieval task from texts and judgements as `evaluation.retrieve` takes them."""
    if len(relevant) != len(queries):
        raise InputError(
            f"There must be judgements for every query. Found {len(relevant)} for {len(queries)}."
        )
    judged = {f"q{row}": _gains(gains) for row, gains in enumerate(relevant) if gains}
    _require()
    from mteb.abstasks.retrieval import AbsTaskRetrieval

    def load_data(self: Any, **options: Any) -> None:
        asked = [{"id": f"q{row}", "text": text} for row, text in enumerate(queries)]
        stored = [{"id": f"d{row}", "text": text, "title": ""} for row, text in enumerate(documents)]
        split = {
            "queries": _datasets().Dataset.from_list(asked),
            "corpus": _datasets().Dataset.from_list(stored),
            "relevant_docs": judged,
            "top_ranked": None,
        }
        self.dataset, self.data_loaded = {"default": {"test": split}}, True

    def exact(self: Any, scores: Mapping[str, Mapping[str, float]], *rest: Any, **more: Any) -> Any:
        return {EXACT: float(np.mean([row["ndcg_cut_10"] for row in scores.values()]))}

    return _task(
        AbsTaskRetrieval,
        name,
        "Retrieval",
        "ndcg_at_10",
        {"load_data": load_data, "task_specific_scores": exact},
    )


def run_tasks(model: Any, tasks: Sequence[Any], **options: Any) -> dict[str, dict[str, float]]:
    """Run tasks and return each one's test scores by its name; `options` go to `mteb.evaluate`."""
    _require()
    import mteb

    _datasets().disable_progress_bars()
    settings = {"cache": None, "co2_tracker": False, "show_progress_bar": False, **options}
    results = mteb.evaluate(model, list(tasks), **settings)
    return {
        result.task_name: {
            key: float(value)
            for key, value in result.scores["test"][0].items()
            if isinstance(value, int | float)
        }
        for result in results.task_results
    }


def _task(base: Any, name: str, kind: str, main: str, parts: dict[str, Any]) -> Any:
    from mteb.abstasks.task_metadata import TaskMetadata

    metadata = TaskMetadata(
        name=name,
        description="Local data.",
        dataset={"path": f"local/{_slug(name)}", "revision": "1"},
        type=kind,
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score=main,
    )
    return type("Local" + kind, (base,), {"metadata": metadata, **parts})()


def _gains(gains: Mapping[int, float]) -> dict[str, int]:
    if any(gain != int(gain) for gain in gains.values()):
        raise InputError(
            "Gains must be whole numbers for mteb, which counts as trec_eval does. Found others."
        )
    return {f"d{row}": int(gain) for row, gain in gains.items()}


def _slug(text: str) -> str:
    return re.sub(r"[^\w.]+", "-", text).strip("-")


def _datasets() -> Any:
    return import_module("datasets")


def _require() -> None:
    if find_spec("mteb") is None:
        raise MissingPackageError("mteb", "mteb", "to run mteb tasks")
