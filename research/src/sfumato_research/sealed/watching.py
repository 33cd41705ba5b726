"""What others learn: who watches queries, who knows or inserts texts, and what tags, codes and noise tell.

An operator's log is what the multimap asks for: the postings of the cells nearest to each query, together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.attacks.known_texts.structure import bipartite
from sfumato.mechanisms import MECHANISMS
from sfumato.metrics.intervals import Resampling, mean_interval
from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.types import Floats, Rows, Vectors
from sfumato_research.sealed.attacked import Attacked
from sfumato_research.sealed.corpus import QUICK_SHARE, SENTENCES
from sfumato_research.sealed.graphs import PublicGraph, voted
from sfumato_research.sealed.readings import BEST
from sfumato_research.sealed.views import PROBES
from sfumato_research.studies.base import Cell, Entry, Setting, StudyTable
from sfumato_research.studies.data import rows

COLUMNS = ("the attacker has", "source named", "true text in the best 1 %", "true text first")
_STAGES = {64: 8, 128: 16}


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What an attack said of each row."""

    sources: Rows
    ranks: Floats

    def row(self, name: str, truth: Rows, asked: Rows | None = None) -> list[Entry]:
        """A row of the table, over the rows that were asked about."""
        at = np.arange(len(truth)) if asked is None else asked
        figures = (self.sources[at] == truth[at], self.ranks[at] <= BEST, self.ranks[at] == 0)
        return [name, *(_cell(np.asarray(each, np.float64)) for each in figures)]


def _cell(values: Floats) -> Cell:
    return Cell.between(float(values.mean()), mean_interval(values, Resampling()))


# Who watches queries


def query_texts(setting: Setting, count: int, part: int) -> list[str]:
    """Sentences that are neither sealed nor public; the parts have none in common."""
    every = [row["text"] for row in rows(setting.data, "sentences", "sentences")]
    order = generator(11).permutation(len(every))[2 * SENTENCES // setting.pick(1, QUICK_SHARE) :]
    return [every[row] for row in order[part * count : (part + 1) * count]]


def request_log(vectors: Vectors, queries: Vectors, seed: int) -> Any:
    """`[rows, queries]` sparse: the postings that each query asks for, by the row they are of."""
    from scipy.sparse import csr_array

    book = Codebook.learn(vectors, rng=generator(seed))
    own = book.assign(vectors)[:, 0]
    asked = book.route(queries, PROBES)[:, 0]
    cells = max(book.cells) + PROBES
    held = csr_array((np.ones(len(own)), (np.arange(len(own)), own)), shape=(len(own), cells))
    each = np.repeat(np.arange(len(asked)), PROBES)
    routed = csr_array((np.ones(asked.size), (asked.ravel(), each)), shape=(cells, len(asked)))
    return (held @ routed).tocsr()


def watched(
    shared: Attacked,
    queries: tuple[Vectors, Vectors],
    known: Rows | None = None,
    inserted: Vectors | None = None,
) -> tuple[Told, Rows]:
    """An operator after these queries, and the rows that any of them asked for.

    Args:
        shared: rows and the attacker's public corpus.
        queries: those that are asked, and others that the attacker plays through with his own corpus.
        known: rows whose texts he knows.
        inserted: vectors of rows that he put there himself.
    """
    own = shared.vectors if inserted is None else np.concatenate([shared.vectors, inserted])
    log = request_log(own, queries[0], 1)
    public = PublicGraph(
        request_log(shared.public_vectors, queries[1], 2), shared.public.sources, shared.public_vectors
    )
    mine = known if inserted is None else np.arange(len(shared.vectors), len(own))
    found = public.attack(log, own, mine)
    count = len(shared.vectors)
    sources = shared.public.sources
    if mine is not None and found.nearness.shape[1] > len(sources):
        theirs = shared.corpus.sources[mine] if inserted is None else _inserted_sources(shared, len(inserted))
        sources = np.concatenate([sources, theirs])
    asked = np.asarray(log.sum(1)).ravel()[:count] > 0
    if known is not None:
        asked[known] = False
    return Told(voted(found.nearness[:count], sources), found.ranks[:count]), np.flatnonzero(asked)


def _inserted_sources(shared: Attacked, count: int) -> Rows:
    return shared.public.sources[_inserted(shared, count)]


def _inserted(shared: Attacked, count: int) -> Rows:
    return generator(21).choice(len(shared.public), count, replace=False)


def known_rows(shared: Attacked, count: int) -> Rows:
    """Rows whose texts the attacker knows."""
    return np.sort(generator(20).choice(len(shared.corpus), count, replace=False))


def operator_table(shared: Attacked, embed: Any, setting: Setting) -> StudyTable:
    """Operators after more and more queries, with more and more known texts, and with rows of their own."""
    truth, made = shared.corpus.sources, list[list[Entry]]()
    many = setting.pick((1000, 10_000), (100, 300))
    asked = [unit(embed(query_texts(setting, many[-1], part))) for part in (0, 1)]
    for count in many:
        setting.on_step(f"operator, {count:,} queries")
        found, rows_asked = watched(shared, (asked[0][:count], asked[1][:count]))
        made.append([*found.row(f"{count:,} queries", truth, rows_asked), len(rows_asked)])
    for pairs in setting.pick((10, 100, 1000, 4000), (10, 120)):
        setting.on_step(f"operator, {pairs:,} pairs")
        found, rows_asked = watched(shared, (asked[0], asked[1]), known_rows(shared, pairs))
        made.append(
            [*found.row(f"{many[-1]:,} queries, {pairs:,} pairs", truth, rows_asked), len(rows_asked)]
        )
    count = setting.pick(1000, 120)
    setting.on_step("chosen")
    inserted = shared.public_vectors[_inserted(shared, count)]
    found, rows_asked = watched(shared, (asked[0], asked[1]), inserted=inserted)
    made.append(
        [*found.row(f"{many[-1]:,} queries, {count:,} rows inserted", truth, rows_asked), len(rows_asked)]
    )
    note = (
        "`multimap`, one table, 8 probes, queries like the rows. The graph is that of postings and "
        "the queries that ask for them; figures over rows that any query asked for and that are not "
        "known, whose number is the last column."
    )
    return StudyTable("Who watches: `operator`, `pairs`, `chosen`", [*COLUMNS, "rows asked for"], made, note)


# Tags, codes and noise


def tags_rows(shared: Attacked, setting: Setting) -> list[list[Entry]]:
    """Shared tags in a snapshot, alone and with known texts."""
    truth, graph = shared.corpus.sources, bipartite(shared.tags)
    made = [Told(*shared.tags_attacked).row("shared tags, 3 tables", truth)]
    for pairs in setting.pick((10, 100, 1000, 4000), (10, 120)):
        setting.on_step(f"tags, {pairs:,} pairs")
        known = known_rows(shared, pairs)
        found = shared.graph.attack(graph, shared.vectors, known)
        sources = shared.public.sources
        if found.nearness.shape[1] > len(sources):
            sources = np.concatenate([sources, truth[known]])
        others = np.setdiff1d(np.arange(len(truth)), known)
        made.append(
            Told(voted(found.nearness, sources), found.ranks).row(
                f"shared tags, {pairs:,} pairs", truth, others
            )
        )
    return made


def by_vectors(shared: Attacked, released: Vectors, public: Vectors) -> Told:
    """The nearest public releases and the nearest text, by cosine."""
    rows_of, theirs = unit(released), unit(public)
    candidates = rows_of @ unit(shared.vectors).T
    true = np.take_along_axis(candidates, np.arange(len(rows_of))[:, None], axis=1)
    return Told(voted(rows_of @ theirs.T, shared.public.sources), (candidates > true).mean(axis=1))


def residual_codes(shared: Attacked, bits: int) -> tuple[Vectors, Vectors]:
    """Both corpora as a public codebook of stages of 8 bits writes them."""
    from sklearn.cluster import MiniBatchKMeans

    left = [shared.vectors.copy(), shared.public_vectors.copy()]
    for stage in range(_STAGES[bits]):
        size = min(256, len(left[1]) // 4)
        model = MiniBatchKMeans(size, n_init=1, max_iter=30, batch_size=2048, random_state=stage).fit(left[1])
        left = [each - model.cluster_centers_[model.predict(each)].astype(np.float32) for each in left]
    return shared.vectors - left[0], shared.public_vectors - left[1]


def other_rows(shared: Attacked, setting: Setting) -> list[list[Entry]]:
    """Codes, noise, and vectors in the clear."""
    truth, made = shared.corpus.sources, list[list[Entry]]()
    for bits in _STAGES:
        setting.on_step(f"codes, {bits} bits")
        made.append(by_vectors(shared, *residual_codes(shared, bits)).row(f"codes, {bits} bits", truth))
    for ratio in (1.4, 2.0):
        laplace = MECHANISMS.get("laplace").from_noise_ratio(ratio, dim=shared.vectors.shape[1])
        released = [
            np.asarray(laplace.privatize(each), np.float32)
            for each in (shared.vectors, shared.public_vectors)
        ]
        made.append(
            by_vectors(shared, released[0], shared.public_vectors).row(f"Laplace noise, ratio {ratio}", truth)
        )
    made.append(by_vectors(shared, shared.vectors, shared.public_vectors).row("plain vectors", truth))
    guess = np.full(len(truth), np.bincount(shared.public.sources).argmax())
    made.append(Told(guess, (np.arange(len(truth)) + 0.5) / len(truth)).row("nothing", truth))
    return made


def handles_table(shared: Attacked, setting: Setting) -> StudyTable:
    """What else a store might hold."""
    made = [*tags_rows(shared, setting), *other_rows(shared, setting)]
    note = (
        "A snapshot of each; the attacker has a public corpus of the same mix. Tags: 16 rows a tag. "
        "Codes: residual codes of a public codebook. The most like text among all rows' own; the "
        "last row guesses the most frequent source."
    )
    return StudyTable("Other handles: `tags`, `codes`, `noise`", COLUMNS, made, note)
