"""Speed of every mechanism beside its floor: as many plain, insecure float64 normals from numpy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.benchmarks.imports import ImportTimes, import_times
from sfumato.benchmarks.interleave import CPU, WALL, Contender, Spread, interleave, plain
from sfumato.mechanisms import MECHANISMS, Mechanism
from sfumato.numbers import whole_number
from sfumato.randomness import RowKeys, generator
from sfumato.sensitivity.mask import Mask
from sfumato.sensitivity.shapes import Dense, Factored

FLOOR = (
    "numpy PCG64 standard_normal: as many float64 normals into an array that is already there, on one thread"
)
NOISE_RATIO = 1.0
DEFAULT_NUMBERS = 1 << 21
"""Rows are chosen so that one array holds about this many numbers: 32 blocks, some ten milliseconds a lap."""
RANK = 64
LARGEST_DIM = 8192
MOST_ROWS = 10_000_000

OnStep = Callable[[int, int, str], object]
"""Called with steps done, steps in all, and what is being timed."""
Settings = Callable[[int, np.random.Generator], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast one mechanism is in one dimension."""

    case: str
    mechanism: str
    dim: int
    rows: int
    microseconds: float
    """Per vector, the median round."""
    best_microseconds: float
    floor: Spread
    """Times the floor."""
    laplace: Spread
    """Times Laplace."""
    doubled: Spread
    """How many times faster with twice the threads, on the wall."""
    sticky_microseconds: float
    """Per vector with one key a row."""
    sticky: Spread
    """Sticky over fresh."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain(self)


@dataclass(frozen=True, slots=True)
class Floor:
    """What numpy alone needs in one dimension, and what this machine gives to twice the threads."""

    dim: int
    microseconds: float
    """Per vector, the median round."""
    doubled: Spread
    """How many times faster numpy alone is with twice the threads: the most that a mechanism can hope for."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain(self)


@dataclass(frozen=True, slots=True)
class BenchReport:
    """Every figure of one run, with what it takes to run it again."""

    floors: tuple[Floor, ...]
    speeds: tuple[Speed, ...]
    imports: ImportTimes
    rounds: int
    threads: int
    clock: str
    """"cpu" (processor time of one core) or "wall"; thread figures are always on the wall."""
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        settings = {
            "rounds": self.rounds,
            "threads": self.threads,
            "clock": self.clock,
            "seed": self.seed,
            "noise_ratio": NOISE_RATIO,
            "floor": FLOOR,
            "numpy": np.__version__,
        }
        return {
            "settings": settings,
            "floors": [floor.to_dict() for floor in self.floors],
            "speeds": [speed.to_dict() for speed in self.speeds],
            "imports": self.imports.to_dict(),
        }


def _mask(dim: int, rng: np.random.Generator) -> Mask:
    return Mask(rng.random(dim), source="synthetic")


def _dense(dim: int, rng: np.random.Generator) -> Dense:
    factor = rng.standard_normal((dim, dim)) / np.sqrt(dim)
    return Dense((factor @ factor.T + 0.1 * np.eye(dim)) / 1.1)


def _factored(dim: int, rng: np.random.Generator) -> Factored:
    factors = rng.standard_normal((dim, min(RANK, dim))) / np.sqrt(dim)
    return Factored(np.full(dim, 0.5), factors)


_PLAIN: dict[str, Settings] = {"": lambda dim, rng: {}}
_VARIANTS: dict[str, dict[str, Settings]] = {
    "mahalanobis": {
        "mask": lambda dim, rng: {"shape": _mask(dim, rng)},
        "dense": lambda dim, rng: {"shape": _dense(dim, rng)},
        f"rank {RANK}": lambda dim, rng: {"shape": _factored(dim, rng)},
    },
    "polar": {
        "normalised": lambda dim, rng: {},
        "with radius": lambda dim, rng: {"radius_epsilon": 10.0},
    },
    "suppression": {"": lambda dim, rng: {"mask": _mask(dim, rng)}},
}
"""Ways to set a mechanism up; one that is not listed gives an example of its own."""


def cases(names: Iterable[str] | None, dim: int, rng: np.random.Generator) -> dict[str, Mechanism]:
    """Every variant of the named mechanisms, or of all of them, at noise ratio 1; Laplace is always there."""
    chosen = MECHANISMS.names() if names is None else tuple(MECHANISMS.entry(name).name for name in names)
    made: dict[str, Mechanism] = {}
    for name in dict.fromkeys(("laplace", *chosen)):
        kind = MECHANISMS.get(name)
        for label, settings in _VARIANTS.get(name, _PLAIN).items():
            case = f"{name}, {label}" if label else name
            given = settings(dim, rng)
            made[case] = kind.from_noise_ratio(NOISE_RATIO, dim=dim, **given) if given else kind.example(dim)
    return made


def unit_vectors(rows: int, dim: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Random directions in float32, the form in which encoders hand vectors over."""
    vectors = rng.standard_normal((rows, dim))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def _plain_normals(shape: tuple[int, int], threads: int) -> Contender:
    """The floor: fill an array with normals, cut among `threads` ordinary generators."""
    parts = [
        (generator(number), part) for number, part in enumerate(np.array_split(np.empty(shape), threads))
    ]

    def fill(one: tuple[np.random.Generator, NDArray[np.float64]]) -> None:
        one[0].standard_normal(out=one[1])

    def run() -> None:
        if threads == 1:
            fill(parts[0])
            return
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, parts))

    return run


def _one_dim(
    made: dict[str, Mechanism],
    vectors: NDArray[np.float32],
    rounds: int,
    threads: int,
    rng: np.random.Generator,
    on_round: Callable[[], object],
) -> tuple[Floor, list[Speed]]:
    rows, dim = vectors.shape
    keys = RowKeys(np.frombuffer(rng.bytes(32 * rows), np.uint8).reshape(rows, 32))

    def group(word: str, **options: Any) -> dict[str, Contender]:
        calls = {case: functools.partial(made[case].privatize, vectors, **options) for case in made}
        return {f"{word} {case}": call for case, call in calls.items()}

    # Groups stay together: whoever runs right after its own twin would find warm caches and look faster.
    fresh, sticky = group("fresh", threads=threads), group("sticky", rng=keys, threads=threads)
    once, twice = group("once", threads=threads), group("twice", threads=2 * threads)
    alone = {**fresh, "floor": _plain_normals((rows, dim), 1), **sticky}
    pairs = {
        **once,
        "once": _plain_normals((rows, dim), threads),
        **twice,
        "twice": _plain_normals((rows, dim), 2 * threads),
    }
    clock = CPU if threads == 1 else WALL
    single = interleave(alone, rounds, baseline="floor", clock=clock, on_round=on_round)
    double = interleave(pairs, rounds, on_round=on_round)

    def microseconds(seconds: float) -> float:
        return float(seconds / rows * 1e6)

    def speed(case: str) -> Speed:
        mine, keyed = single[f"fresh {case}"], single[f"sticky {case}"]
        return Speed(
            case=case,
            mechanism=made[case].name,
            dim=dim,
            rows=rows,
            microseconds=microseconds(mine.median),
            best_microseconds=microseconds(mine.best),
            floor=mine.ratio,
            laplace=mine.over(single["fresh laplace"]),
            doubled=double[f"once {case}"].over(double[f"twice {case}"]),
            sticky_microseconds=microseconds(keyed.median),
            sticky=keyed.over(mine),
        )

    numpy_alone = Floor(dim, microseconds(single["floor"].median), double["once"].over(double["twice"]))
    return numpy_alone, [speed(case) for case in made]


def bench(
    dims: Sequence[int] = (384, 768, 1536),
    rows: int | None = None,
    rounds: int = 7,
    names: Iterable[str] | None = None,
    threads: int = 1,
    on_step: OnStep | None = None,
    *,
    seed: int = 0,
) -> BenchReport:
    """Time every mechanism against its floor and against Laplace, fresh and sticky, on one core and two.

    Args:
        dims: dimensions to time.
        rows: vectors a lap; None keeps the whole run at about a minute.
        rounds: rounds that count.
        names: mechanisms by their registered names; None means all. Laplace is always timed.
        threads: threads of the main figures; the second figure uses twice as many.
        on_step: hears of progress.
        seed: of the vectors and shapes; the noise itself is always secure.
    """
    dims = [whole_number(dim, "dims", 2, LARGEST_DIM) for dim in dims]
    rounds = whole_number(rounds, "rounds", 1, 1000)
    threads = whole_number(threads, "threads", 1, 512)
    rows = None if rows is None else whole_number(rows, "rows", 1, MOST_ROWS)
    names = None if names is None else [MECHANISMS.entry(name).name for name in names]
    total = (2 * len(dims) + 1) * (rounds + 1)
    done = 0

    def step(label: str) -> None:
        nonlocal done
        done += 1
        if on_step is not None:
            on_step(done, total, label)

    rng = generator(seed)
    floors: list[Floor] = []
    speeds: list[Speed] = []
    for dim in dims:
        vectors = unit_vectors(rows or max(1, DEFAULT_NUMBERS // dim), dim, rng)
        on_round = functools.partial(step, f"{dim} dimensions")
        floor, found = _one_dim(cases(names, dim, rng), vectors, rounds, threads, rng, on_round)
        floors.append(floor)
        speeds += found
    imports = import_times(rounds, on_round=lambda: step("imports"))
    clock = "cpu" if threads == 1 else "wall"
    return BenchReport(tuple(floors), tuple(speeds), imports, rounds, threads, clock, seed)
