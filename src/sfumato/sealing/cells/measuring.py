"""How many cells a query must ask for: the fewest that keep what a user wants of exact search, measured.

What is found in the cells asked for is ranked again with exact vectors, so a row of the exact first ten is in
the answer if and only if one of its cells was asked for. One pass over the queries gives the whole curve.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, ParameterError
from sfumato.evaluation.calibrate import Keep
from sfumato.metrics.intervals import Resampling, percentile_interval, resampled_sums
from sfumato.metrics.retrieval import Judgements
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.sealing.cells.filing import Filed, Place
from sfumato.sealing.cells.reaching import exact, reached, set_apart
from sfumato.types import Floats, Rows, Vectors

MOST_PROBES = 256
QUERIES = 1000
"""Queries that are measured with, where none are given."""

DEPTH = 10
"""Judged rows are followed down to so many times k: they move up where others are missed."""
_Z = 1.96


@dataclass(frozen=True, slots=True)
class Probed:
    """What one number of probes keeps, and what it costs."""

    probes: int
    kept: float
    """Share of exact search."""
    low: float
    """Lower end of its interval."""
    candidates: float
    """Records fetched for a query, on average; a row found in two cells counts twice."""
    most: int
    """Records fetched for the query that needed most."""


@dataclass(frozen=True, slots=True)
class Oversampling:
    """The fewest probes that keep what was asked, and the whole curve."""

    metric: str
    target: float
    holds: bool
    """Whether the lower end of the interval reaches the target; else `chosen` is the best there is."""
    chosen: Probed
    record_bytes: int
    queries: int
    curve: tuple[Probed, ...]

    @property
    def probes(self) -> int:
        """Cells to ask for in each table."""
        return self.chosen.probes

    @property
    def candidates(self) -> float:
        """Records a query."""
        return self.chosen.candidates

    @property
    def bytes(self) -> int:
        """Bytes of records a query."""
        return round(self.chosen.candidates * self.record_bytes)

    @property
    def says(self) -> str:
        """One line for a person."""
        one = self.chosen
        told = f"{one.probes} probes fetch {one.candidates:.0f} records a query and"
        if one.probes == one.candidates == one.most:
            told = f"{one.probes} candidates a query"
        line = f"{told} keep {one.kept:.4f} of {self.metric} (at least {one.low:.4f}, {self.queries} queries)"
        if self.holds:
            return line + "."
        enough = queries_needed(self.target)
        why = f"ask with at least {enough} queries, or for less" if self.queries < enough else "ask for less"
        return f"{line}: {self.target} is not shown; {why}."

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "metric": self.metric, "target": self.target, "holds": self.holds, **asdict(self.chosen),
            "bytes": self.bytes, "queries": self.queries, "curve": [asdict(each) for each in self.curve],
        }  # fmt: skip


def queries_needed(target: float) -> int:
    """How many queries, all answered perfectly, show that `target` is kept (Wilson's lower end)."""
    return int(np.ceil(_Z * _Z * target / (1 - target))) if target < 1 else 1 << 62


def drawn(rows: Filed, count: int = QUERIES, rng: np.random.Generator | None = None) -> tuple[Rows, Rows]:
    """Numbers of vectors, one each of some rows, and the rows: a sentence's, or its own where it has none.

    Sentences come from the half that is nearest to the row's own vector: people ask what a text is about.
    """
    chosen = generator() if rng is None else rng
    picked = np.asarray(chosen.choice(rows.count, min(count, rows.count), replace=False), np.intp)
    order = np.argsort(rows.rows, kind="stable")
    lows, highs = np.searchsorted(rows.rows[order], [picked, picked + 1])
    numbers = np.empty(len(picked), np.intp)
    for at, (low, high) in enumerate(zip(lows, highs, strict=True)):
        own, sentences = order[low], order[low + 1 : high]  # a row's own vector is the first of its
        near = np.argsort(-(rows.vectors[sentences] @ rows.vectors[own]), kind="stable")
        half = sentences[near[: (len(near) + 1) // 2]]
        numbers[at] = chosen.choice(half) if len(half) else own
    return numbers, picked


def own_queries(
    rows: Filed, count: int = QUERIES, rng: np.random.Generator | None = None
) -> tuple[Vectors, Rows]:
    """Queries from the collection itself: a sentence of a row, or its own vector; and their rows."""
    numbers, picked = drawn(rows, count, rng)
    return rows.vectors[numbers], picked


def fewest(
    vectors: Any,
    places: Sequence[Set[Place]],
    codebook: Codebook,
    queries: Any,
    keep: str = "recall@10=0.99",
    *,
    own: Rows | None = None,
    relevant: Judgements | None = None,
    apart: Sequence[Set[Place] | None] | None = None,
    record_bytes: int = 512,
    most_probes: int = MOST_PROBES,
) -> Oversampling:
    """The fewest probes a table that keep a share of exact search, with the lower end of the interval.

    Args:
        vectors: `[n, d]` the rows' own vectors, by which candidates are ranked.
        places: the cells each row is filed under.
        codebook: the cells themselves.
        queries: `[q, d]` vectors of queries.
        keep: such as recall@10=0.99 or ndcg@10=0.995.
        own: for each query the row it was taken from, which is not counted as found; -1 for none.
        relevant: gains by row of each query; the first k of exact search if None.
        apart: for each query the places of its relevant rows, where they are not those of `places`.
        record_bytes: what one record costs.
        most_probes: where the search ends.
    """
    wish = Wish.parse(keep)
    stored, asked = unit(vectors), unit(queries, dim=codebook.dim)
    _check(stored, places, asked, own=own, relevant=relevant, apart=apart)
    most_probes = min(whole_number(most_probes, "most_probes", 1, 1 << 20), max(codebook.cells))
    ranked = exact(asked, stored, wish.depth(relevant), own)
    routed = codebook.route(asked, most_probes)
    found_at, fetched = reached(ranked, places, routed, codebook.cells)
    set_apart(found_at, wish.gains(ranked, relevant)[0] > 0, routed, apart or [])
    steps = steps_up(1, most_probes)
    return wish.fewest(
        ranked, relevant, found_at, steps, fetched[:, [probes - 1 for probes in steps]],
        every=max(codebook.cells), record_bytes=record_bytes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be kept of exact search: a metric, how far down it looks, and a share of it."""

    kind: str
    k: int
    target: float

    @classmethod
    def parse(cls, keep: str) -> Wish:
        """Read such as recall@10=0.99."""
        wish = Keep.parse(keep)
        if wish.metric == "cosine":
            raise ParameterError("`keep` must ask for recall or ndcg of a search. Found cosine.")
        kind, _, k = wish.metric.partition("@")
        return cls(kind, int(k), wish.target)

    def depth(self, relevant: Judgements | None) -> int:
        """How far down exact search is followed."""
        return self.k * (1 if relevant is None else DEPTH)

    def gains(self, ranked: Rows, relevant: Judgements | None) -> tuple[Floats, Floats]:
        """`[q, r]` what each ranked row is worth, and `[q]` what a perfect answer is."""
        return gains_of(ranked, relevant, self.k, self.kind)

    def fewest(
        self,
        ranked: Rows,
        relevant: Judgements | None,
        found_at: Rows,
        steps: Sequence[int],
        fetched: Rows,
        *,
        every: int,
        record_bytes: int,
    ) -> Oversampling:
        """The first of some steps that keeps it.

        Args:
            ranked: `[q, r]` the rows that exact search finds, in their order.
            relevant: gains by row of each query; the first k of exact search if None.
            found_at: `[q, r]` the step from which each of them is among the candidates.
            steps: rising numbers of probes, or of candidates.
            fetched: `[q, steps]` the records that each step fetches.
            every: the step at which nothing can be missed.
            record_bytes: what one record costs.
        """
        gains, ideal = self.gains(ranked, relevant)
        values = np.stack([answered(gains, found_at <= step, self.k, self.kind) for step in steps], axis=1)
        clean = answered(gains, np.ones_like(found_at, np.bool_), self.k, self.kind)
        used = ideal > 0
        if not clean[used].any():
            raise InputError("Exact search must find something for a query. Found nothing for any.")
        values, clean = values[used] / ideal[used, None], clean[used] / ideal[used]
        lows = lower_ends(values, clean)
        curve = tuple(
            Probed(
                step,
                float(value.sum() / clean.sum()),
                1.0 if step >= every else low,
                float(fetched[:, at].mean()),
                int(fetched[:, at].max()),
            )
            for at, (step, value, low) in enumerate(zip(steps, values.T, lows, strict=True))
        )
        good = [each for each in curve if each.low >= self.target]
        chosen, metric = good[0] if good else curve[-1], f"{self.kind}@{self.k}"
        return Oversampling(metric, self.target, bool(good), chosen, record_bytes, len(values), curve)


def _check(stored: Vectors, places: Sequence[Any], asked: Vectors, **each: Any) -> None:
    counts = {"places": (places, len(stored)), **{name: (given, len(asked)) for name, given in each.items()}}
    for name, (given, wanted) in counts.items():
        if given is not None and len(given) != wanted:
            raise InputError(f"`{name}` must have {wanted} entries. Found {len(given)}.")
    own = each["own"]
    if not len(asked) or len(stored) < 1 + (own is not None):
        raise InputError(f"A measurement needs rows and queries. Found {len(stored)} and {len(asked)}.")
    if not all(places):
        raise InputError(
            f"Every row must be filed under a cell. Found none for row {[*map(bool, places)].index(False)}."
        )


def gains_of(ranked: Rows, relevant: Judgements | None, k: int, kind: str) -> tuple[Floats, Floats]:
    """`[q, r]` what each ranked row is worth, and `[q]` what a perfect answer is."""
    discounts = 1 / np.log2(np.arange(2, k + 2))
    if relevant is None:
        gains = np.ones(ranked.shape)
        ideal = discounts[: ranked.shape[1]].sum() if kind == "ndcg" else float(ranked.shape[1])
        return gains, np.full(len(ranked), ideal)
    judged = [{row: gain for row, gain in each.items() if gain > 0} for each in relevant]
    gains = np.array(
        [[each.get(row, 0.0) for row in rows] for each, rows in zip(judged, ranked.tolist(), strict=True)]
    ).reshape(ranked.shape)
    if kind == "recall":
        return (gains > 0).astype(np.float64), np.array([float(len(each)) for each in judged])
    best = [sorted(each.values(), reverse=True)[:k] for each in judged]
    return gains, np.array([float(np.dot(each, discounts[: len(each)])) for each in best])


def answered(gains: Floats, present: NDArray[np.bool_], k: int, kind: str) -> Floats:
    """`[q]` what the first k of those that are present are worth."""
    rank = np.cumsum(present, axis=1)
    shown = present & (rank <= k)
    worth = gains if kind == "recall" else gains / np.log2(rank + 1.0, where=shown, out=np.ones(gains.shape))
    return np.asarray(np.where(shown, worth, 0.0).sum(axis=1), np.float64)


def lower_ends(values: Floats, clean: Floats) -> list[float]:
    """Lower ends by a bootstrap over queries, never above what so many perfect answers would show."""
    sums = resampled_sums(np.column_stack([values, clean]), Resampling())
    most = len(values) / (len(values) + _Z * _Z)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [percentile_interval(column / sums[:, -1]) for column in sums[:, :-1].T]
    return [0.0 if end is None else min(end[0], most) for end in ends]


def steps_up(first: int, most: int) -> list[int]:
    """All small numbers from the first on, then steps of about a tenth, up to `most`."""
    out = [min(first, most)]
    while out[-1] < most:
        out.append(min(most, max(out[-1] + 1, round(1.1 * out[-1]))))
    return out
