"""What a release will take: time, machines, storage and noise, from rates measured on the spot.

Each stage is timed for a moment on one core of this machine, at the dimension asked for. The stages of one
row run one after the other on a core, so their times add. GPUs that encode, and a store with a known limit,
work beside the cores: they bound the job when they alone take longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.blocks import thread_count
from sfumato.errors import InputError
from sfumato.mechanisms import MECHANISMS
from sfumato.mechanisms.base import LARGEST_DIM
from sfumato.numbers import finite_number, whole_number
from sfumato.scale import rates

STORES = {"disk": None, "s3": 1.0, "gcs": 1.0, "azure": 1.0, "nfs": 0.3}
"""GB/s in each direction assumed of a store, for all workers together; None for a disk, which is measured."""

_TEXT_BYTES = 6 * rates.WORDS


@dataclass(frozen=True, slots=True)
class Workload:
    """What is to be released, and on what."""

    vectors: int
    dim: int
    mechanism: str = "laplace"
    sticky: bool = False
    encode: str | None = None
    cores: int | None = None
    gpus: int | None = None
    encode_rate: float | None = None
    """Texts a second of one GPU, where this machine has none to measure."""
    store: str = "disk"
    bandwidth: float | None = None
    """GB/s of the store in each direction, for all workers together."""


@dataclass(frozen=True, slots=True)
class CostStage:
    """One step of the work."""

    name: str
    rate: float
    """Vectors a second, of one core, one GPU or the whole store."""
    seconds: float
    """For all vectors on all cores, GPUs or the store."""
    shared: bool
    """Whether the stage waits for something all workers share."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The answer."""

    question: Workload
    stages: tuple[CostStage, ...]
    seconds: float
    bound: str
    """The stage that takes longest."""
    cores: int
    core_hours: float
    noise_core_hours: float
    gpu_hours: float
    input_bytes: int
    output_bytes: int
    random_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        figures = {name: getattr(self, name) for name in self.__slots__ if name not in ("question", "stages")}
        asked = {name: getattr(self.question, name) for name in Workload.__slots__}
        stages = [{name: getattr(stage, name) for name in CostStage.__slots__} for stage in self.stages]
        return {"asked": asked, **figures, "stages": stages, "extrapolated": True}


def plan(question: Workload) -> CostEstimate:
    """Measure for a few seconds, and say what the whole will take."""
    q = _checked(question)
    cores = q.cores or thread_count(None)
    mechanism = MECHANISMS.get(q.mechanism).example(q.dim)
    sizes = (_TEXT_BYTES if q.encode else 4 * q.dim, 4 * mechanism.output_dim(q.dim))
    on_gpu = q.encode is not None and q.gpus is not None
    measured = rates.vectors(mechanism, q.dim, sticky=q.sticky)
    if q.encode is not None:
        del measured["read"]  # texts are a tenth of their vectors
        if not on_gpu:
            measured["encode"] = rates.encoding(q.encode, q.dim)
    stages = [CostStage(name, rate, q.vectors / (rate * cores), False) for name, rate in measured.items()]
    busy = sum(stage.seconds for stage in stages)
    waits = [*_gpu_waits(q), *_store_waits(q, sizes)]
    bound = max(stages, key=lambda stage: stage.seconds)
    slowest = max(waits, key=lambda wait: wait.seconds, default=None)
    if slowest is not None and slowest.seconds > busy:
        bound = slowest
    return CostEstimate(
        question=q,
        stages=(*stages, *waits),
        seconds=max(busy, bound.seconds),
        bound=bound.name,
        cores=cores,
        core_hours=busy * cores / 3600,
        noise_core_hours=next(stage.seconds for stage in stages if stage.name == "noise") * cores / 3600,
        gpu_hours=sum(wait.seconds for wait in _gpu_waits(q)) * (q.gpus or 0) / 3600,
        input_bytes=q.vectors * sizes[0],
        output_bytes=q.vectors * sizes[1],
        random_bytes=round(q.vectors * 8 * rates.words_a_row(mechanism, q.dim)),
    )


def _gpu_waits(q: Workload) -> list[CostStage]:
    if q.encode is None or q.gpus is None or q.encode_rate is None:
        return []
    return [CostStage("encode", q.encode_rate, q.vectors / (q.encode_rate * q.gpus), True)]


def _store_waits(q: Workload, sizes: tuple[int, int]) -> list[CostStage]:
    bandwidth = q.bandwidth if q.bandwidth is not None else STORES[q.store]
    if bandwidth is None:
        return []
    found = [
        (name, bandwidth * 1e9 / size)
        for name, size in zip(("store read", "store write"), sizes, strict=True)
    ]
    return [CostStage(name, rate, q.vectors / rate, True) for name, rate in found]


def _checked(q: Workload) -> Workload:
    whole_number(q.vectors, "vectors", 1, 10**15)
    whole_number(q.dim, "dim", 1, LARGEST_DIM)
    if q.cores is not None:
        whole_number(q.cores, "cores", 1, 10**6)
    if q.gpus is not None:
        whole_number(q.gpus, "gpus", 1, 10**5)
    for name, value in (("encode_rate", q.encode_rate), ("bandwidth", q.bandwidth)):
        if value is not None:
            finite_number(value, name, 1e-6, 1e12)
    if q.gpus is not None and q.encode is not None and q.encode_rate is None:
        raise InputError(
            "What a GPU encodes is not measured here. Say it with --encode-rate, or plan with --cores."
        )
    if q.store not in STORES:
        raise InputError(f"`store` must be one of {', '.join(STORES)}. Found {q.store!r}.")
    return q
