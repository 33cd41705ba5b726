"""What every store is: rows of an id, a vector and metadata, found again by nearness.

Distances are one convention over all products, and a smaller one is nearer: `cosine` is 1 - cos, `l2` is the
Euclidean distance (not its square), `ip` is minus the inner product.

`add` replaces a row that has the id already, vector and metadata whole. With `cosine` some products keep the
vector scaled to unit length, so what `get` returns has the direction of what was added, not its length.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, TypeVar, get_args

import numpy as np

from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.errors import StoreError as StoreError
from sfumato.numbers import whole_number
from sfumato.stores.distances import nearest_of
from sfumato.stores.rows import (
    Hit,
    Metadata,
    Metric,
    Rows,
    Scalar,
    Where,
    checked_fields,
    checked_ids,
    checked_metadata,
    checked_metric,
    checked_vectors,
    checked_where,
)
from sfumato.types import Vectors

MOST_HITS = 10_000
_LISTED = 1024
_Opened = TypeVar("_Opened", bound="Closable")


class Closable(ABC):
    """What a `with` block closes when it ends: every store, and whatever stands in front of one."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

    def __enter__(self: _Opened) -> _Opened:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Store(Closable):
    """A collection of vectors in one product; a subclass says how the product does each thing."""

    name: ClassVar[str]
    residue: ClassVar[str] = ""
    """What the product may keep of rows that were replaced or deleted, even after `forget`."""
    metrics: ClassVar[tuple[Metric, ...]] = get_args(Metric)
    """How a new collection may measure."""
    durable: ClassVar[bool] = True
    """Whether a row is on disk when `add` returns; otherwise when `flush` or `close` does."""
    exact: bool = True
    """Whether a search looks at every row."""

    def __init__(self, label: str, metric: Metric | None, dim: int | None = None) -> None:
        self.label = label
        """What the store is called in messages; holds no secret."""
        self.metric: Metric = "cosine" if metric is None else checked_metric(metric)
        if self.metric not in self.metrics:
            raise ParameterError(
                f"A store of the kind {self.name} measures by {' or '.join(self.metrics)}. "
                f"Found {self.metric}. Leave the metric out, or use another store."
            )
        self._asked = metric
        self.dim = dim
        """The dimension of its vectors; None while that is open."""

    def add(
        self, ids: Iterable[str], vectors: Any, metadata: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Put rows in, in the place of those with the same ids."""
        names = checked_ids(ids)
        self._found()
        array = self._checked(names, vectors)
        fields = checked_metadata(metadata, len(names))
        if names:
            with self._speaking():
                self._add(names, array, fields)

    def update(self, ids: Iterable[str], vectors: Any, fields: Mapping[str, Scalar]) -> None:
        """Give rows that are there new vectors and these fields at once; the rest of a row stays as it is."""
        names = checked_ids(ids)
        array = self._checked(names, vectors)
        extra = checked_fields(fields, "`fields`")
        if names:
            with self._speaking():
                self._update(names, array, extra)

    def search(self, vectors: Any, k: int = 10, where: Where | None = None) -> list[list[Hit]]:
        """Return the k nearest rows of each vector, the nearest first."""
        k = whole_number(k, "k", 1, MOST_HITS)
        allowed = checked_where(where)
        array = checked_vectors(vectors, self.dim)
        if not len(array) or not self._found():
            return [[] for _ in array]
        with self._speaking():
            return self._search(array, k, allowed)

    def search_every(self, vectors: Any, k: int = 10) -> list[list[Hit]]:
        """Search as `search` does, and look at every row, whatever index the product has."""
        if self.exact:
            return self.search(vectors, k)
        k = whole_number(k, "k", 1, MOST_HITS)
        array = checked_vectors(vectors, self.dim)
        if not len(array) or not self._found():
            return [[] for _ in array]
        with self._speaking():
            return self._search_every(array, k)

    def get(self, ids: Iterable[str]) -> Rows:
        """Return the rows that are there, in the order of `ids`."""
        names = checked_ids(ids)
        if not names or not self._found():
            return self._rows([])
        with self._speaking():
            return self._get(names)

    def delete(self, ids: Iterable[str]) -> None:
        """Take rows out; ids that are not there are passed over."""
        names = checked_ids(ids)
        if names and self._found():
            with self._speaking():
                self._delete(names)

    def batches(self, size: int = 1024) -> Iterator[Rows]:
        """Yield every row, `size` at a time; change nothing in the store until it is through."""
        size = whole_number(size, "size", 1, 10**6)
        if self._found():
            # The generator is driven here, so that only what the product raises is translated.
            found = self._batches(size)
            while True:
                with self._speaking():
                    rows = next(found, None)
                if rows is None:
                    return
                yield rows

    def __len__(self) -> int:
        if not self._found():
            return 0
        with self._speaking():
            return self._count()

    def flush(self) -> None:  # noqa: B027
        """Put everything on disk, where `add` alone does not."""

    def forget(self) -> None:  # noqa: B027
        """Drop what the product keeps of replaced and deleted rows, as far as it can."""

    def close(self) -> None:  # noqa: B027
        """Put everything on disk and let go of files and connections."""

    def __repr__(self) -> str:
        """Where it is, and nothing secret."""
        return f"{type(self).__name__}({self.label}, {self.metric}, dim={self.dim})"

    def _found(self) -> bool:
        """Whether there is a collection, if need be one that another client has made meanwhile."""
        if self.dim is None:
            with self._speaking():
                self._look()
        return self.dim is not None

    def _look(self) -> None:  # noqa: B027
        """Take over a collection that another client has made, where a product has several clients."""

    @abstractmethod
    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None: ...

    @abstractmethod
    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None: ...

    @abstractmethod
    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]: ...

    def _search_every(self, vectors: Vectors, k: int) -> list[list[Hit]]:
        """By reading all of them; where the product itself can look at every row, it is asked to."""
        return nearest_of(self._listed(), vectors, self.metric, k)

    def _listed(self) -> Iterator[Rows]:
        """Every row, and an end: a server that lists far more than it counts is not read on and on."""
        left = 2 * self._count() + _LISTED
        for rows in self._batches(_LISTED):
            left -= len(rows)
            if left < 0:
                raise StoreError(f"{self.label} lists more rows than it says it has. Check the server.")
            yield rows

    @abstractmethod
    def _get(self, ids: list[str]) -> Rows: ...

    @abstractmethod
    def _delete(self, ids: list[str]) -> None: ...

    @abstractmethod
    def _batches(self, size: int) -> Iterator[Rows]: ...

    @abstractmethod
    def _count(self) -> int: ...

    def _checked(self, ids: list[str], vectors: Any) -> Vectors:
        array = checked_vectors(vectors, self.dim)
        if len(array) != len(ids):
            raise InputError(f"There must be one vector an id. Found {len(array)} for {len(ids)} ids.")
        return array

    def _rows(self, found: Sequence[tuple[str, Any, Metadata]]) -> Rows:
        """Rows out of triples of an id, a vector and metadata."""
        vectors = np.zeros((len(found), self.dim or 0), np.float32)
        for row, (_, vector, _) in enumerate(found):
            vectors[row] = vector
        return Rows([each[0] for each in found], vectors, [each[2] for each in found])

    def _absent(self) -> StoreError:
        return StoreError(f"There is no collection at {self.label}. Check the name.")

    def _agree(self, metric: Metric, dim: int, asked: Metric | None) -> None:
        """Take over how an existing collection measures, or refuse to measure otherwise."""
        if asked is not None and asked != metric:
            raise ParameterError(
                f"{self.label} measures by {metric}, not by {asked}. Leave the metric out, or name a new one."
            )
        self.metric, self.dim = metric, dim

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Let go of files and connections if the store cannot be opened after all."""
        try:
            with self._speaking():
                yield
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn what the product raises into one line that quotes none of it: it may hold values or keys."""
        failure = ""
        try:
            yield
        except (SfumatoError, AttributeError, LookupError, NameError, TypeError):
            # Ours, on purpose or by mistake.
            raise
        except Exception as error:  # each product has errors of its own
            code = getattr(error, "sqlstate", None)
            failure = type(error).__name__ + (f" {code}" if code else "")
        if failure:
            raise StoreError(f"{self.label} could not do what was asked: {failure}.")


def in_order(
    rows: Mapping[str, tuple[str, Any, Metadata]], ids: Sequence[str]
) -> list[tuple[str, Any, Metadata]]:
    """The rows that were found, in the order they were asked for."""
    return [rows[each] for each in ids if each in rows]
