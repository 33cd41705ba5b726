"""Search kept against postings and bytes a query: a curve for each case, filing and number of tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import monotonic

import numpy as np

from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.sealing.cells.filing import Filed
from sfumato.sealing.cells.measuring import DEPTH, answered, gains_of, lower_ends, steps_up
from sfumato.sealing.cells.reaching import exact, reached
from sfumato.sealing.client.searching import TEXTS_A_ROUND
from sfumato.sealing.crypto.envelope import OVERHEAD
from sfumato.sealing.crypto.packing import packed_size
from sfumato.sealing.crypto.padding import size_class
from sfumato.sealing.records import travelling
from sfumato.types import Rows, Vectors
from sfumato_research.sealed import on_device
from sfumato_research.sealed.cases import SearchCase

TABLES = (1, 2, 3)
MOST_PROBES = 512
HITS = 10


@dataclass(frozen=True, slots=True)
class SearchPoint:
    """What one number of probes keeps of exact search, and what it costs."""

    probes: int
    postings: float
    most_postings: int
    bytes: float
    """Postings, counter and texts of a query, as the store holds them."""
    ndcg: float
    ndcg_low: float
    recall: float
    recall_low: float


@dataclass(frozen=True, slots=True)
class SearchCurve:
    """One curve."""

    case: str
    rows: int
    queries: int
    filing: str
    """By which vectors rows are filed: their own, or their sentences' too."""
    learning: str
    """`product` as it stands, or `all cells` where each row was compared with all of them."""
    tables: int
    cells: int
    postings_a_row: float
    stored_a_row: float
    """Bytes of all records of a row, as the store holds them."""
    seconds: float
    points: tuple[SearchPoint, ...]

    def to_dict(self) -> dict[str, object]:
        """Ready for JSON."""
        return asdict(self)

    def fewest(self, share: float, figure: str = "ndcg") -> SearchPoint | None:
        """The point from which on at least that share of a figure is kept."""
        good: SearchPoint | None = None
        for point in reversed(self.points):
            if getattr(point, figure) < share:
                break
            good = point
        return good

    def within(self, most: float) -> SearchPoint | None:
        """The last point that costs no more bytes a query."""
        return max(
            (each for each in self.points if each.bytes <= most), key=lambda each: each.bytes, default=None
        )


def read_curve(found: dict[str, object]) -> SearchCurve:
    """A curve as `to_dict` wrote it."""
    points = tuple(SearchPoint(**each) for each in found["points"])  # type: ignore[attr-defined]
    return SearchCurve(**{**found, "points": points})  # type: ignore[arg-type]


def text_bytes(texts: Sequence[str]) -> Vectors:
    """`[n]` bytes of each row's text record, as the store holds it; ids as short as the row's number."""
    plain = (
        len(json.dumps([str(row), text, {}], ensure_ascii=False).encode("utf-8", "surrogatepass"))
        for row, text in enumerate(texts)
    )
    return np.array([travelling(OVERHEAD + size_class(size)) for size in plain], np.float32)


def measured_curves(
    case: SearchCase,
    vectors: Vectors,
    asked: Vectors,
    filed: Filed,
    *,
    filing: str,
    device: str | None = None,
    tables: Sequence[int] = TABLES,
    step: int = 1,
    seed: int = 0,
) -> list[SearchCurve]:
    """A curve for each number of tables.

    Args:
        case: texts and judgements.
        vectors: `[n, d]` of the texts.
        asked: `[q, d]` of the queries.
        filed: what rows are filed by.
        filing: how that is called.
        device: None for the product's own code; else rows are compared with all cells there.
        tables: how many there are to be; the first ones of the most.
        step: the product learns on every vector, or on one in so many.
        seed: draws the first centroids.
    """
    start, rng = monotonic(), generator(seed)
    if device is None:
        codebook = Codebook.learn(filed.vectors[::step], tables=max(tables), rng=rng)
        places = filed.places(codebook)
    else:
        codebook = on_device.learned(filed.vectors, max(tables), rng, device)
        places = on_device.places(filed, codebook, device)
    seconds = monotonic() - start
    sizes, width = text_bytes(case.texts), _posting_bytes(codebook.dim)
    stored, queries = unit(vectors), unit(asked)
    ranked = exact(queries, stored, HITS * DEPTH)
    hits = sizes[ranked[:, :HITS]].sum(axis=1).mean()
    fixed = float(hits + (TEXTS_A_ROUND - HITS) * sizes.mean()) + travelling(OVERHEAD + size_class(8))
    learning = "all cells" if device is not None else "product" if step == 1 else f"1 row in {step}"
    made = []
    for count in tables:
        part = Codebook(codebook.centroids[:count])
        kept = [{each for each in row if each[0] < count} for row in places]
        routed = part.route(queries, min(MOST_PROBES, max(part.cells)))
        found_at, fetched = reached(ranked, kept, routed, part.cells)
        points = _points(ranked, found_at, fetched, case.judged, width, fixed)
        a_row = float(np.mean([len(each) for each in kept]))
        made.append(
            SearchCurve(
                case.name, len(vectors), len(asked), filing, learning, count, codebook.cells[0], a_row,
                a_row * width + float(sizes.mean()), seconds, points,
            )
        )  # fmt: skip
    return made


def _points(
    ranked: Rows, found_at: Rows, fetched: Rows, judged: Sequence[dict[int, float]], width: int, fixed: float
) -> tuple[SearchPoint, ...]:
    """What each number of probes keeps, by what `fewest` judges with."""
    steps = steps_up(1, fetched.shape[1])
    ndcg = _kept(ranked, found_at, judged, "ndcg", steps)
    recall = _kept(ranked[:, :HITS], found_at[:, :HITS], None, "recall", steps)
    postings = [fetched[:, probes - 1] for probes in steps]
    return tuple(
        SearchPoint(
            probes, float(each.mean()), int(each.max()), float(each.mean()) * width + fixed, *one, *other
        )
        for probes, each, one, other in zip(steps, postings, ndcg, recall, strict=True)
    )


def _kept(
    ranked: Rows, found_at: Rows, judged: Sequence[dict[int, float]] | None, kind: str, steps: Sequence[int]
) -> list[tuple[float, float]]:
    """The share of exact search for each number of probes, and its lower end."""
    gains, ideal = gains_of(ranked, judged, HITS, kind)
    used = ideal > 0
    values = np.stack([answered(gains, found_at <= probes, HITS, kind)[used] for probes in steps], axis=1)
    clean = answered(gains, np.ones_like(found_at, np.bool_), HITS, kind)[used] / ideal[used]
    values /= ideal[used, None]
    shares = values.sum(axis=0) / clean.sum()
    return list(zip(shares.tolist(), lower_ends(values, clean), strict=True))


def _posting_bytes(dim: int) -> int:
    return travelling(OVERHEAD + packed_size(dim, "int8"))
