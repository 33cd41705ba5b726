"""Attacks on one snapshot of a store: each gives a figure a row or pair, whose mean is what it reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.sealing.cells.codebook import unit
from sfumato.types import Floats, Rows, Vectors
from sfumato_research.sealed.attacked import Attacked
from sfumato_research.sealed.graphs import trained
from sfumato_research.sealed.views import StoreView

BEST = 0.01
_NEAR = 15


@dataclass(frozen=True, slots=True)
class StoreReading:
    """One attack: what it is, its figure on a store's records, and the same where it ought to work."""

    name: str
    figure: str
    on_records: Callable[[StoreView, Attacked], Floats]
    on_control: Callable[[Attacked], Floats]
    control: str


# What records share


def graph_source(view: StoreView, shared: Attacked) -> Floats:
    """Whether the graph's attack names the source of each row."""
    return _named(shared.attacked(view)[0], shared)


def graph_text(view: StoreView, shared: Attacked) -> Floats:
    """Whether the true text is in the best 1 % of all for each row."""
    return (shared.attacked(view)[1] <= BEST).astype(np.float64)


def _named(sources: Rows, shared: Attacked) -> Floats:
    return np.asarray((sources == shared.corpus.sources).astype(np.float64))


def tags_source(shared: Attacked) -> Floats:
    """The same on shared tags."""
    return _named(shared.tags_attacked[0], shared)


def tags_text(shared: Attacked) -> Floats:
    """The same on shared tags."""
    return (shared.tags_attacked[1] <= BEST).astype(np.float64)


# Cells


def cell_sizes(view: StoreView, shared: Attacked) -> Floats:
    """Records grouped by the beginning of their ids; groups and public cells matched by their sizes."""
    wide = view.id_bytes()[:, :4].astype(np.int64) @ (256 ** np.arange(4)[::-1])
    groups = wide * shared.cells >> 32
    own = shared.codebook.assign(shared.public_vectors)[:, 0]
    theirs = np.argsort(-np.bincount(own, minlength=shared.cells), kind="stable")
    sizes = np.bincount(groups, minlength=shared.cells)
    matched = np.empty(shared.cells, np.intp)
    matched[np.argsort(-sizes, kind="stable")] = theirs[: shared.cells]
    named = _cell_sources(shared, own)[matched[groups[view.text_places]]]
    return np.asarray((named == shared.corpus.sources).astype(np.float64))


def known_cells(shared: Attacked) -> Floats:
    """Rows filed by a codebook that the attacker has: the most frequent public source of each cell."""
    named = _cell_sources(shared, shared.codebook.assign(shared.public_vectors)[:, 0])
    cells = shared.codebook.assign(shared.vectors)[:, 0]
    return np.asarray((named[cells] == shared.corpus.sources).astype(np.float64))


def _cell_sources(shared: Attacked, own: Rows) -> Rows:
    counts = np.zeros((shared.cells, len(shared.public.names)))
    np.add.at(counts, (own, shared.public.sources), 1)
    return np.asarray(counts.argmax(axis=1))


# Order


def order_source(view: StoreView, shared: Attacked) -> Floats:
    """The source of a row by that of known ones that stand near it in the store."""
    return _by_place(view.text_places, shared)


def written_source(shared: Attacked) -> Floats:
    """The same where rows stand as they came."""
    return _by_place(np.arange(len(shared.corpus)), shared)


def _by_place(places: Rows, shared: Attacked) -> Floats:
    known, asked = np.flatnonzero(shared.known), np.flatnonzero(~shared.known)
    at = np.sort(places[known])
    whose = known[np.argsort(places[known])]
    middle = np.searchsorted(at, places[asked])
    near = np.clip(middle[:, None] + np.arange(-_NEAR // 2, _NEAR // 2 + 1), 0, len(at) - 1)
    votes = np.zeros((len(asked), len(shared.corpus.names)))
    for column in near.T:
        votes[np.arange(len(asked)), shared.corpus.sources[whose[column]]] += 1
    return np.asarray((votes.argmax(axis=1) == shared.corpus.sources[asked]).astype(np.float64))


def order_time(view: StoreView, shared: Attacked) -> Floats:
    """Rank correlation of a row's place in the store with the time it came."""
    return _correlation(view.text_places, np.arange(len(shared.corpus)))


def written_time(shared: Attacked) -> Floats:
    """The same where rows stand as they came."""
    order = np.arange(len(shared.corpus))
    return _correlation(order, order)


# Numbers of postings


def postings_length(view: StoreView, shared: Attacked) -> Floats:
    """Rank correlation of a text's length with the postings between its record and the next text."""
    texts = np.sort(view.text_places)
    gaps = np.diff(np.append(texts, len(view))) - 1
    counts = gaps[np.searchsorted(texts, view.text_places)]
    return _correlation(counts, _lengths(shared))


def marked_length(shared: Attacked) -> Floats:
    """The same where postings say whose they are: one, and one for each sentence of a long text."""
    from sfumato.sealing.cells.filing import units

    return _correlation(np.array([1 + len(units(text)) for text in shared.corpus.texts]), _lengths(shared))


def _lengths(shared: Attacked) -> Rows:
    return np.array([len(text) for text in shared.corpus.texts])


def _correlation(one: Rows, other: Rows) -> Floats:
    """Figures whose mean is Spearman's correlation."""
    from scipy.stats import rankdata

    ranks = [rankdata(each) for each in (one, other)]
    scaled = [(each - each.mean()) / max(float(each.std()), 1e-12) for each in ranks]
    return np.asarray(scaled[0] * scaled[1])


# Pairs


def _pair_reading(pairs: Callable[[Attacked], Rows]) -> Callable[[StoreView, Attacked], Floats]:
    def attack(view: StoreView, shared: Attacked) -> Floats:
        """Placement of each pair's likeness among strangers', whose mean is the AUC."""
        at = view.text_places
        heads = np.concatenate([view.bytes_at(1, 129), view.id_bytes()], axis=1)[at]
        sizes = view.sizes()[at]
        length = np.log(sizes)

        def alike(chosen: Rows) -> Floats:
            one, other = chosen.T
            same = (heads[one] == heads[other]).mean(axis=1)
            return np.asarray(same - np.abs(length[one] - length[other]))

        return _placements(alike(pairs(shared)), alike(shared.strangers(5000)))

    return attack


def _pair_control(pairs: Callable[[Attacked], Rows]) -> Callable[[Attacked], Floats]:
    def attack(shared: Attacked) -> Floats:
        """The same by cosines of plain vectors."""
        rows = unit(shared.vectors)

        def alike(chosen: Rows) -> Floats:
            return np.asarray(np.vecdot(rows[chosen[:, 0]], rows[chosen[:, 1]]))

        return _placements(alike(pairs(shared)), alike(shared.strangers(5000)))

    return attack


def _placements(yes: Floats, no: Floats) -> Floats:
    held = np.sort(no)
    low, high = np.searchsorted(held, yes, "left"), np.searchsorted(held, yes, "right")
    return np.asarray((low + high) / 2 / len(held))


# One record


def _features(view: StoreView) -> Floats:
    at = view.text_places
    histogram = np.stack(
        [np.bincount(np.frombuffer(view.contents[row], np.uint8) >> 4, minlength=16) for row in at]
    )
    sizes = view.sizes()[at][:, None]
    head = view.bytes_at(1, 97)[at]
    place = np.arange(len(view))[at][:, None] / len(view)
    return np.concatenate([sizes, histogram / sizes, head, view.id_bytes()[at], place], axis=1).astype(
        np.float64
    )


def _label_reading(labels: Callable[[Attacked], Rows]) -> Callable[[StoreView, Attacked], Floats]:
    def attack(view: StoreView, shared: Attacked) -> Floats:
        """Whether a classifier of bytes and size names the label of each row that is not known."""
        return _classified(_features(view), labels(shared), shared)

    return attack


def _label_control(labels: Callable[[Attacked], Rows]) -> Callable[[Attacked], Floats]:
    def attack(shared: Attacked) -> Floats:
        """The same on plain vectors."""
        return _classified(shared.vectors, labels(shared), shared)

    return attack


def _classified(features: Floats | Vectors, labels: Rows, shared: Attacked) -> Floats:
    used = labels >= 0
    model = trained(features[used & shared.known], labels[used & shared.known])
    asked = used & ~shared.known
    return np.asarray(model.predict(features[asked]) == labels[asked], np.float64)


def _sources(shared: Attacked) -> Rows:
    return shared.corpus.sources


def _topics(shared: Attacked) -> Rows:
    return shared.corpus.topics


def _twins(shared: Attacked) -> Rows:
    return shared.corpus.twins


def _people(shared: Attacked) -> Rows:
    return shared.corpus.same_person()


TAGS, VECTORS = "shared tags", "plain vectors"
READINGS = (
    StoreReading("graph of what records share", "source named", graph_source, tags_source, TAGS),
    StoreReading("graph of what records share", "true text in the best 1 %", graph_text, tags_text, TAGS),
    StoreReading("cell sizes", "source named", cell_sizes, known_cells, "known codebook"),
    StoreReading("order in the store", "source named", order_source, written_source, "rows as they came"),
    StoreReading(
        "order in the store", "correlation with time", order_time, written_time, "rows as they came"
    ),
    StoreReading(
        "number of postings", "correlation with length", postings_length, marked_length, "postings marked"
    ),
    StoreReading("near-duplicates", "AUC", _pair_reading(_twins), _pair_control(_twins), VECTORS),
    StoreReading("texts of one person", "AUC", _pair_reading(_people), _pair_control(_people), VECTORS),
    StoreReading(
        "bytes and size of a record",
        "source named",
        _label_reading(_sources),
        _label_control(_sources),
        VECTORS,
    ),
    StoreReading(
        "bytes and size of a record", "topic named", _label_reading(_topics), _label_control(_topics), VECTORS
    ),
)
