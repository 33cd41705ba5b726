"""Structure alone: which rows share a tag, and nothing of what a tag means.

Where a store files rows under repeated tags (cells, buckets, blinded terms), the graph of rows and tags is
geometry: its leading singular vectors place rows that share much beside each other. The attacker tags public
texts in the same way with a codebook of his own, lays the one cloud of singular vectors over the other
without a pair (`clouds`), and names the nearest public text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.arrays import as_vectors
from sfumato.attacks.base import Attack, Control, OnStep, checked, held_back
from sfumato.attacks.huggingface.library import Library
from sfumato.attacks.known_texts.clouds import LEAST
from sfumato.attacks.known_texts.unpaired import UnpairedReader
from sfumato.errors import InputError
from sfumato.metrics.similarity import unit_rows
from sfumato.numbers import whole_number
from sfumato.release import Releasing
from sfumato.types import Floats, Rows, Vectors

DIMENSIONS = 32
"""Singular vectors that a graph is placed by."""


@dataclass(frozen=True, kw_only=True)
class Structure(Attack):
    """Names the public text whose place in a graph of rows and tags is most like a stolen row's.

    `fit` takes public texts and, in the place of vectors, `(n, tags)` which of them has which tag of the
    attacker's own making; `recover` takes the same of the stolen rows, whose tags are others.
    """

    most: int = 6000
    """Rows of each graph that are compared with each other."""
    seed: int = 0

    name: ClassVar[str] = "structure"
    paper: ClassVar[str] = "spectral embedding, aligned without pairs"
    summary: ClassVar[str] = "only which rows share a tag: places the graph over that of public texts"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"
    public: ClassVar[bool] = True
    together: ClassVar[bool] = True
    wants: ClassVar[tuple[str, ...]] = ("tags",)

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.most, "most", LEAST, 50_000)
        whole_number(self.seed, "seed", 0, 2**63 - 1)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> StructureReader:
        """Place the public texts by their own graph.

        Args:
            texts: public texts.
            vectors: `(n, tags)` 1 where a text has a tag, or how often; 0 elsewhere.
            mechanism: must be None: tags carry no noise that is known.
            on_step: hears how far it is.
        """
        known, incidence = checked(texts, vectors)
        if mechanism is not None:
            raise InputError("A graph of tags is released through no mechanism. Leave it out.")
        if len(known) < 2 * LEAST:
            raise InputError(
                f"The attack on tags needs {2 * LEAST} public texts or more. Found {len(known)}."
            )
        public = spectrum(as_graph(incidence)).astype(np.float32)
        made = StructureReader(public, None, Library(known, public), self.most, self.seed)
        made.control = self._control(incidence)
        if on_step is not None:
            on_step("public graph", 1.0)
        return made

    def _control(self, incidence: Vectors) -> Control:
        """Half of the public rows laid over the other half: does the row that is named share a tag?"""
        left, right = held_back(len(incidence), 0.5, self.seed)
        places = spectrum(as_graph(incidence[left])).astype(np.float32)
        trial = StructureReader(places, None, None, self.most, self.seed)
        named = left[(trial.align(incidence[right]) @ places.T).argmax(axis=1)]
        shared = np.minimum(incidence[right], incidence[named]).any(axis=1)
        return Control(StructureReader.measured_by, float(shared.mean()), len(right))


class StructureReader(UnpairedReader):
    """A public graph's places, that those of a stolen graph are laid over."""

    kind = "structure-attack"
    measured_by: ClassVar[str] = "shares a tag"

    def align(self, vectors: Any) -> Vectors:
        """Unit vectors among the public places, for `(n, tags)` which stolen row has which tag."""
        return super().align(spectrum(as_graph(as_vectors(vectors))))


def as_graph(incidence: Any) -> Any:
    """`(n, tags)` as a sparse graph, or refuse it."""
    from scipy.sparse import csr_array

    found = np.asarray(incidence)
    if (found < 0).any():
        row = int(np.flatnonzero((found < 0).any(axis=1))[0])
        raise InputError(f"A graph says how often a row has a tag: 0 or more. Row {row} has less.")
    if min(found.shape) < LEAST:
        raise InputError(f"A graph needs at least {LEAST} rows and tags. Found {found.shape}.")
    return csr_array(found.astype(np.float64))


def bipartite(tags: Rows) -> Any:
    """`[n, tags]` the graph of rows with one tag in each table."""
    from scipy.sparse import csr_array

    count, tables = tags.shape
    first = np.cumsum([0, *(int(column.max()) + 1 for column in tags.T)])
    columns = (tags + first[:-1]).ravel()
    rows = np.repeat(np.arange(count), tables)
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, int(first[-1])))


def spectrum(graph: Any) -> Floats:
    """`[n, k]` unit rows of the leading singular vectors of the normalised graph."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import svds

    by_row, by_tag = (np.maximum(np.asarray(graph.sum(axis)).ravel(), 1) for axis in (1, 0))
    scaled = diags_array(by_row**-0.5) @ graph @ diags_array(by_tag**-0.5)
    wanted = min(DIMENSIONS + 1, min(graph.shape) - 1)
    left, values, _ = svds(scaled.tocsc(), k=wanted, random_state=0)
    order = np.argsort(-values)[1:]
    return np.asarray(unit_rows(left[:, order] * values[order] ** 2))
