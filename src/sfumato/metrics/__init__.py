"""What was read and what stayed useful: plain functions from what was true and what was found to figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.metrics.excess import Leakage, absolute_leakage, excess_leakage, measure_leakage
    from sfumato.metrics.intervals import Figure, Interval, Resampling, exact_share, mean, share
    from sfumato.metrics.leakage import (
        Hits,
        confidence_figure,
        count_confidence,
        count_leaked,
        count_prior,
        leakage_figure,
        tradeoff_rate,
    )
    from sfumato.metrics.probe import Classification, classify, probe_accuracy
    from sfumato.metrics.reconstruction import Reconstruction, exact_match, score_reconstruction, token_f1
    from sfumato.metrics.retrieval import Retrieval, judgements, neighbours_kept, retrieve
    from sfumato.metrics.roc import Roc, roc
    from sfumato.metrics.similarity import Similarity, pair_cosines, sts
    from sfumato.metrics.utility import Utility, compare_means, compare_retrieval, compare_sts

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "excess": "Leakage absolute_leakage excess_leakage measure_leakage",
        "intervals": "Figure Interval Resampling exact_share mean share",
        "leakage": "Hits confidence_figure count_confidence count_leaked count_prior leakage_figure "
        "tradeoff_rate",
        "probe": "Classification classify probe_accuracy",
        "reconstruction": "Reconstruction exact_match score_reconstruction token_f1",
        "retrieval": "Retrieval judgements neighbours_kept retrieve",
        "roc": "Roc roc",
        "similarity": "Similarity pair_cosines sts",
        "utility": "Utility compare_means compare_retrieval compare_sts",
    },
)

__all__ = [
    "Classification",
    "Figure",
    "Hits",
    "Interval",
    "Leakage",
    "Reconstruction",
    "Resampling",
    "Retrieval",
    "Roc",
    "Similarity",
    "Utility",
    "absolute_leakage",
    "classify",
    "compare_means",
    "compare_retrieval",
    "compare_sts",
    "confidence_figure",
    "count_confidence",
    "count_leaked",
    "count_prior",
    "exact_match",
    "exact_share",
    "excess_leakage",
    "judgements",
    "leakage_figure",
    "mean",
    "measure_leakage",
    "neighbours_kept",
    "pair_cosines",
    "probe_accuracy",
    "retrieve",
    "roc",
    "score_reconstruction",
    "share",
    "sts",
    "token_f1",
    "tradeoff_rate",
]
