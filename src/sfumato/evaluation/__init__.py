"""Is it useful, is it private: plain functions from vectors to figures."""

from sfumato.evaluation.neighbours import neighbours_kept
from sfumato.evaluation.noise import NoiseFigures, measure_noise
from sfumato.evaluation.probe import probe_accuracy

__all__ = ["NoiseFigures", "measure_noise", "neighbours_kept", "probe_accuracy"]
