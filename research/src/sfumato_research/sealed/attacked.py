"""What the attacks on a store share: the rows, their vectors, and what the attacker has of his own."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.known_texts.structure import bipartite
from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import Codebook
from sfumato.types import Floats, Rows, Vectors
from sfumato_research.sealed.corpus import SealedCorpus
from sfumato_research.sealed.graphs import PublicGraph
from sfumato_research.sealed.views import StoreView

TAG_TABLES, ROWS_A_TAG = 3, 16


@dataclass(eq=False)
class Attacked:
    """What attacks share: the rows, their vectors, and what the attacker has of his own."""

    corpus: SealedCorpus
    vectors: Vectors
    public: SealedCorpus
    public_vectors: Vectors
    _seen: dict[int, tuple[StoreView, Rows, Floats]] = field(default_factory=dict)

    @cached_property
    def cells(self) -> int:
        """Of one table of shared tags."""
        return max(2, len(self.corpus) // ROWS_A_TAG)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """`[n]` rows of which the attacker knows what he asks about others: a random half."""
        return generator(7).random(len(self.corpus)) < 0.5

    @cached_property
    def tags(self) -> Rows:
        """`[n, 3]` the cells that rows would share as tags."""
        return self._tagged(self.vectors, 1)

    @cached_property
    def graph(self) -> PublicGraph:
        """The public corpus, tagged by cells of its own."""
        graph = bipartite(self._tagged(self.public_vectors, 2))
        return PublicGraph(graph, self.public.sources, self.public_vectors)

    @cached_property
    def tags_attacked(self) -> tuple[Rows, Floats]:
        """What the graph's attack says of shared tags: sources, and ranks of true texts."""
        found = self.graph.attack(bipartite(self.tags), self.vectors)
        return found.sources(self.public.sources), found.ranks

    def attacked(self, view: StoreView) -> tuple[Rows, Floats]:
        """What it says of a store's records, computed once."""
        if id(view) not in self._seen:
            found = self.graph.attack(bipartite(_fields(view, self.cells)), self.vectors)
            self._seen[id(view)] = (view, found.sources(self.public.sources), found.ranks)
        return self._seen[id(view)][1:]

    @cached_property
    def codebook(self) -> Codebook:
        """One table of cells of the public corpus."""
        return Codebook.learn(self.public_vectors, cells=self.cells, rng=generator(3))

    def _tagged(self, vectors: Vectors, seed: int) -> Rows:
        book = Codebook.learn(vectors, cells=self.cells, tables=TAG_TABLES, rng=generator(seed))
        return book.assign(vectors)

    def strangers(self, count: int) -> Rows:
        """`[count, 2]` pairs of rows that have nothing to do with each other."""
        return generator(9).integers(len(self.corpus), size=(count, 2))


def _fields(view: StoreView, cells: int) -> Rows:
    """`[rows, 3]` three places of each text record, taken for tags."""
    at = view.text_places
    named, first, later = view.id_bytes()[at], view.bytes_at(1, 3)[at], view.bytes_at(60, 62)[at]
    wide = [each[:, 0].astype(np.intp) * 256 + each[:, 1] for each in (named, first, later)]
    return np.stack([each % cells for each in wide], axis=1)
