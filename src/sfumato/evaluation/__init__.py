"""Defences and baselines in one form; what they are measured by stands in `metrics` and is named here too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.evaluation.baselines import BASELINES, Baseline, Sample, fit_baselines
    from sfumato.evaluation.defence import Defence
    from sfumato.evaluation.leaked import Undo, fit_undo
    from sfumato.evaluation.noise import NoiseFigures, measure_noise
    from sfumato.metrics.excess import Leakage, excess_leakage, measure_leakage
    from sfumato.metrics.intervals import Resampling
    from sfumato.metrics.leakage import Hits, count_confidence, count_leaked, count_prior, tradeoff_rate
    from sfumato.metrics.probe import Classification, classify, probe_accuracy
    from sfumato.metrics.reconstruction import Reconstruction, score_reconstruction
    from sfumato.metrics.retrieval import Retrieval, judgements, neighbours_kept, retrieve
    from sfumato.metrics.similarity import Similarity, sts
    from sfumato.metrics.utility import Utility, compare_means, compare_retrieval, compare_sts

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "baselines": "BASELINES Baseline Sample fit_baselines",
        "defence": "Defence",
        "leaked": "Undo fit_undo",
        "noise": "NoiseFigures measure_noise",
        "sfumato.metrics.excess": "Leakage excess_leakage measure_leakage",
        "sfumato.metrics.intervals": "Resampling",
        "sfumato.metrics.leakage": "Hits count_confidence count_leaked count_prior tradeoff_rate",
        "sfumato.metrics.probe": "Classification classify probe_accuracy",
        "sfumato.metrics.reconstruction": "Reconstruction score_reconstruction",
        "sfumato.metrics.retrieval": "Retrieval judgements neighbours_kept retrieve",
        "sfumato.metrics.similarity": "Similarity sts",
        "sfumato.metrics.utility": "Utility compare_means compare_retrieval compare_sts",
    },
)

__all__ = [
    "BASELINES",
    "Baseline",
    "Classification",
    "Defence",
    "Hits",
    "Leakage",
    "NoiseFigures",
    "Reconstruction",
    "Resampling",
    "Retrieval",
    "Sample",
    "Similarity",
    "Undo",
    "Utility",
    "classify",
    "compare_means",
    "compare_retrieval",
    "compare_sts",
    "count_confidence",
    "count_leaked",
    "count_prior",
    "excess_leakage",
    "fit_baselines",
    "fit_undo",
    "judgements",
    "measure_leakage",
    "measure_noise",
    "neighbours_kept",
    "probe_accuracy",
    "retrieve",
    "score_reconstruction",
    "sts",
    "tradeoff_rate",
]
