"""What an attacker who practises was handed, and what he can make of it himself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.attacks.base import Embeds, entrance_of
from sfumato.embedders import load_embedder
from sfumato.metrics.similarity import pair_cosines, unit_rows
from sfumato.preparing import Entrance
from sfumato.release import AS_IT_IS, Release, Releasing, as_release
from sfumato.types import Vectors

_CHECKED, _ALIKE = 16, 0.999


@dataclass(frozen=True, slots=True, eq=False)
class HandedTexts:
    """Texts of the attacker's own, with the vectors that enter the victim's release for them."""

    texts: list[str]
    entering: Vectors
    clean: Vectors
    """What the encoder makes of the texts themselves; the same where they enter as they are."""
    told: Release | None
    """What vectors go through, where he is told of anything."""
    encoder: Embeds | None
    entrance: Embeds | None
    """Embeds other texts as the victim does; None where it does not give the vectors that were handed over.

    Texts may have been rewritten in a way he is not told of, or the vectors are releases that leaked: then
    texts that he embeds himself would be another defence's.
    """

    @classmethod
    def of(
        cls, embedder: Any, mechanism: Releasing | None, texts: list[str], entering: Vectors
    ) -> HandedTexts:
        """Look what the encoder makes of some of the texts."""
        encoder = load_embedder(embedder) if isinstance(embedder, str) else embedder
        told = as_release(mechanism)
        if told is None:  # releases that leaked may have any length, and only their directions are shown
            entering = unit_rows(entering).astype(np.float32)
        if encoder is None:
            return cls(texts, entering, entering, told, None, None)
        entrance = entrance_of(mechanism, encoder)
        rows = np.unique(np.linspace(0, len(texts) - 1, _CHECKED).astype(int))
        made = None if entrance is None else np.asarray(entrance.embed([texts[row] for row in rows]))
        same = made is not None and made.shape[1] == entering.shape[1]
        same = same and bool((pair_cosines(made, entering[rows]) > _ALIKE).all())
        hides = isinstance(entrance, Entrance) and entrance.hides
        own = Entrance.of(encoder).encoder
        clean = entering if same and not hides else np.asarray(own.embed(texts), np.float32)
        return cls(texts, entering, clean, told, encoder, entrance if same else None)

    @property
    def release(self) -> Release:
        """What vectors go through, as far as he knows."""
        return self.told or AS_IT_IS

    @property
    def plain(self) -> bool:
        """Whether what he reads are clean vectors."""
        return self.told is None and self.clean is self.entering
