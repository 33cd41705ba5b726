"""Neighbours: the likeliest text of a large public corpus, which the attacker embeds himself.

He knows nobody's text. What he finds is the public text that the release would come from most likely, under
the release's own law; where the texts of his victim are like public ones, that says much of what they say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.arrays import as_vectors
from sfumato.attacks.base import Attack, Control, Embeds, OnStep, Recovered, checked, entrance_of, held_back
from sfumato.attacks.huggingface.library import unit
from sfumato.attacks.known_texts.linkage import Linker
from sfumato.embedders import load_embedder
from sfumato.errors import InputError, ParameterError
from sfumato.inputs import read
from sfumato.metrics.reconstruction import token_f1
from sfumato.numbers import whole_number
from sfumato.release import AS_IT_IS, Releasing, as_release
from sfumato.types import Rows, Vectors

NEAR = 4096
"""Texts of a larger corpus that are weighed for one release: the nearest ones by cosine."""
MOST = 1_000_000
"""Texts of a corpus that are read from a file."""
_CELLS = 1 << 24
_CONTROL_ROWS = 200
_EMBEDDED = 4096


@dataclass(frozen=True, kw_only=True)
class NearestTexts(Attack):
    """Names the public text that each release is likeliest to come from.

    `fit` takes public texts and their clean vectors; a `corpus` is embedded and added to them.

    Args:
        corpus: more public texts, or a file of them.
        embedder: the victim's encoder, or its name, for the corpus; None for a protector's own.
        listed: how many of the likeliest texts each row keeps, in `details["top"]`.
    """

    corpus: Sequence[str] | str = ()
    embedder: Embeds | str | None = None
    listed: int = 10
    seed: int = 0

    name: ClassVar[str] = "neighbours"
    paper: ClassVar[str] = "nearest neighbours in a public corpus"
    summary: ClassVar[str] = "the likeliest text of a large public corpus that the attacker embeds himself"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"
    public: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.listed, "listed", 1, NEAR)
        whole_number(self.seed, "seed", 0, 2**63 - 1)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> NeighbourReader:
        """Embed the corpus as the victim would, and keep what is known of the release."""
        known, clean = checked(texts, vectors)
        more = self._corpus()
        if more:
            added = self._embedded(more, mechanism, on_step)
            known, clean = known + more, np.concatenate([clean, added]) if len(clean) else added
        if not known:
            raise InputError("Neighbours need public texts. Found none. Pass some, or a `corpus`.")
        made = NeighbourReader(known, clean, as_release(mechanism), self.listed, self.seed)
        made.control = _held_back_control(known, clean, self.seed)
        if on_step is not None:
            on_step("public texts", 1.0)
        return made

    def _corpus(self) -> list[str]:
        if not isinstance(self.corpus, str):
            return list(self.corpus)
        found = (text for batch in read(Path(self.corpus)) for text in batch.texts or [])
        return list(islice(found, MOST))

    def _embedded(self, texts: list[str], mechanism: Releasing | None, on_step: OnStep | None) -> Vectors:
        named = load_embedder(self.embedder) if isinstance(self.embedder, str) else self.embedder
        encoder = entrance_of(mechanism, named)
        if encoder is None:
            raise ParameterError("`embedder` must be the victim's encoder, to embed the corpus. Found none.")
        parts = []
        for start in range(0, len(texts), _EMBEDDED):
            parts.append(np.asarray(encoder.embed(texts[start : start + _EMBEDDED]), np.float32))
            if on_step is not None:
                on_step("embedding the corpus", start / len(texts))
        return np.concatenate(parts)


def _held_back_control(known: list[str], clean: Vectors, seed: int) -> Control | None:
    """Token F1 on clean vectors of some of the public texts, read with the others."""
    if len(known) < 2:
        return None
    rest, test = held_back(len(known), min(0.5, _CONTROL_ROWS / len(known)), seed)
    found = NeighbourReader([known[row] for row in rest], clean[rest], None, 1, seed).recover(clean[test])
    scores = [token_f1(known[row], str(text)) for row, text in zip(test, found.rows, strict=True)]
    return Control(NeighbourReader.measured_by, float(np.mean(scores)), len(scores))


class NeighbourReader(Linker):
    """A public corpus, ready to be weighed against releases."""

    kind = "neighbours-attack"
    measured_by: ClassVar[str] = "token F1"

    def recover(self, vectors: Any) -> Recovered:
        """Name the likeliest public text of each release, among the nearest where there are very many."""
        if len(self.texts) <= NEAR:
            return super().recover(vectors)
        released = as_vectors(vectors)
        (self.release or AS_IT_IS).check_pair(released, self.clean)
        tops, sure = np.zeros((len(released), self.listed), np.intp), np.zeros(len(released))
        for row, near in enumerate(self._nearest(released)):
            few = Linker(
                [self.texts[each] for each in near], self.clean[near], self.release, self.listed, self.seed
            )
            found = few.recover(released[row : row + 1])
            tops[row], sure[row] = near[found.details["top"][0]], found.scores[0]
        rows = [self.texts[index] for index in tops[:, 0].tolist()]
        return Recovered(rows, sure, {"index": tops[:, 0], "top": tops})

    def _nearest(self, released: Any) -> Iterator[Rows]:
        """The texts nearest to each release, as they would be released without noise."""
        expected = unit((self.release or AS_IT_IS).expected(self.clean))
        height = max(1, _CELLS // len(expected))
        for start in range(0, len(released), height):
            for cosines in unit(released[start : start + height]) @ expected.T:
                yield np.sort(np.argpartition(-cosines, NEAR - 1)[:NEAR])
