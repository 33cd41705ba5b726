"""The protector: an encoder, what to hide, and the noise that hides it, kept as one folder."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Guarantee, Ledger, Secret, Sticky
from sfumato.accounting.sticky import canonical
from sfumato.arrays import FloatArray, as_vectors, masked_rows, one_each
from sfumato.concepts.concept import Concept
from sfumato.concepts.neutral import Mention, neutral_texts, spread, without_overlaps
from sfumato.embedders import load_embedder
from sfumato.embedders.base import Embedder, OnBatch
from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import Mechanism
from sfumato.randomness import resolve
from sfumato.sampling import Floats
from sfumato.sensitivity import Background

Role = Literal["document", "query"]
RowSpans = Sequence[Sequence[tuple[int, int, str]]]

NEUTRAL_COPIES = 8


class TextsMissingWarning(UserWarning):
    """A protector that counts on neutral texts released vectors without their texts."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Vectors ready to be released; they still hold everything the noise is there to hide."""

    vectors: NDArray[np.float32]
    matched: NDArray[np.bool_]
    """`[n]` whether a concept was found in the text."""


@dataclass(slots=True, eq=False, repr=False)
class Protector:
    """Embeds texts and releases their vectors protected.

    Args:
        mechanism: the noise.
        embedder: the encoder, or its name; None for vectors that come from elsewhere.
        concepts: what to hide; found in texts, so that neutral texts can stand in for them.
        neutral: how many neutral copies of a text with a concept are embedded in its place; 0 for none.
        background: ordinary text's spread, for the public linear filter S (S + N)^-1 applied after the noise.
        normalise: whether released vectors are scaled to unit length.
        only_matching: release texts without a concept as they are, which shows which texts have one.
        secret: makes noise sticky: the same text gives the same release.
        ledger: counts what is spent; it is written before a release is made.
        learned: how it was learned, for the record.
    """

    mechanism: Mechanism
    embedder: Embedder | str | None = None
    concepts: tuple[Concept, ...] = ()
    neutral: int = NEUTRAL_COPIES
    background: Background | None = None
    normalise: bool = True
    only_matching: bool = False
    secret: Secret | None = None
    ledger: Ledger | None = None
    tenant: str = ""
    collection: str = ""
    learned: dict[str, Any] = field(default_factory=dict)
    _filter: Floats | None = field(default=None, init=False)

    @property
    def dim(self) -> int | None:
        """The dimension of its vectors, where that is known without loading the encoder."""
        known = self.mechanism.dim if self.mechanism.dim is not None else self.learned.get("dim")
        return None if known is None else int(known)

    @property
    def encoder(self) -> Embedder:
        """The embedder, loaded on first use."""
        if self.embedder is None:
            raise InputError(
                "This protector has no embedder. Pass vectors to protect(), or give it an embedder."
            )
        if isinstance(self.embedder, str):
            self.embedder = load_embedder(self.embedder)
            expected = self.learned.get("model_id")
            if expected is not None and self.embedder.model_id != expected:
                raise InputError(
                    f"The encoder must be the one the protector was learned for, {expected}. "
                    f"Found {self.embedder.model_id}. Learn a protector for this encoder."
                )
        return self.embedder

    @property
    def guarantee(self) -> Guarantee:
        """What one release promises: the mechanism's promise with what this protector changes in it."""
        base = self.mechanism.guarantee
        notes = list(base.notes)
        if self.concepts and self.neutral:
            notes.append(
                "where a concept is found in the text its term does not enter the vector at all; "
                "a term the detector misses, and a vector that comes without its text, is covered by the "
                "noise alone"
            )
        if self.only_matching:
            notes.append(
                "texts in which no concept is found are released as they are, without noise, "
                "and anyone can see which texts those are"
            )
        if self.secret is not None:
            notes.append(
                "noise is sticky: it rests on HMAC-SHA256 and AES, and equal texts are seen to be equal"
            )
        return replace(base, notes=tuple(notes))

    def mentions(self, texts: Sequence[str], spans: RowSpans | None = None) -> list[list[Mention]]:
        """Where the concepts are in each text, and what may stand in for each."""
        found: list[list[Mention]] = [[] for _ in texts]
        for concept in self.concepts:
            references = spread(concept.terms, max(self.neutral, 1)) or (concept.placeholder,)
            for row, places in enumerate(concept.find_all(texts, spans)):
                found[row] += [Mention(span, references) for span in places]
        return [without_overlaps(row) for row in found]

    def prepare(
        self, texts: Sequence[str], *, spans: RowSpans | None = None, on_batch: OnBatch | None = None
    ) -> Prepared:
        """Embed texts, with neutral texts in the place of those that hold a concept."""
        if isinstance(texts, str):
            raise InputError("`texts` must be a list of texts. Found a single text.")
        wrong = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
        if wrong is not None:
            raise InputError(f"Row {wrong} must be a text. Found {type(texts[wrong]).__name__}.")
        clean = [canonical(text) for text in texts]
        found = self.mentions(clean, spans)
        queue: list[str] = []
        first: list[int] = []
        for text, mentions in zip(clean, found, strict=True):
            first.append(len(queue))
            queue += neutral_texts(text, mentions, self.neutral) if mentions and self.neutral else [text]
        embedded = self.encoder.embed(queue, on_batch=on_batch)
        if not len(queue):
            return Prepared(embedded, np.zeros(0, bool))
        sums = np.add.reduceat(embedded.astype(np.float64), first, axis=0)
        # A mean of several unit vectors is shorter than one, and its length would tell that it is a mean.
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        single = np.diff([*first, len(queue)]) == 1
        vectors = np.where(single[:, None], embedded[first], sums.astype(np.float32))
        return Prepared(vectors, np.array([bool(mentions) for mentions in found]))

    def embed(
        self,
        texts: Sequence[str],
        *,
        spans: RowSpans | None = None,
        role: Role = "document",
        rng: object = None,
        on_batch: OnBatch | None = None,
    ) -> NDArray[np.float32]:
        """Embed texts and release their vectors."""
        ready = self.prepare(texts, spans=spans, on_batch=on_batch)
        return self.protect(ready.vectors, texts=texts, matched=ready.matched, role=role, rng=rng)

    def protect(
        self,
        vectors: Any,
        *,
        texts: Sequence[str] | None = None,
        matched: NDArray[np.bool_] | None = None,
        role: Role = "document",
        rng: object = None,
        units: Sequence[str] | None = None,
    ) -> NDArray[np.float32]:
        """Release vectors.

        Args:
            vectors: `(n, d)` embeddings.
            texts: the texts they came from, or ids for them; sticky noise and the ledger need them.
            matched: with only_matching, which rows hold a concept.
            role: documents get sticky noise where there is a secret; queries always get fresh noise.
            rng: a seed or source for experiments, instead of secure noise.
            units: the accounts the ledger charges, one a vector, where those are not the texts.
        """
        if role not in get_args(Role):
            raise ParameterError(f"`role` must be one of {get_args(Role)}. Found {role!r}.")
        array = as_vectors(vectors, dim=self.mechanism.dim)
        rows = self._noised_rows(array, matched)
        if self.only_matching or self.ledger is not None:
            self.mechanism.check(array)  # also rows that get no noise, and before anything is spent
        every = len(rows) == len(array)
        names = self._names(texts, rows, len(array), role)
        if matched is None and rng is None and role == "document" and len(rows):
            self.warn_without_texts()
        sticky = self.sticky(array.shape[1]) if self.secret is not None and role == "document" else None
        source = (
            rng if sticky is None or names is None else sticky.keys(names, self.mechanism, array.shape[1])
        )
        if rng is not None:
            resolve(rng)  # refuse a bad seed before anything is spent
        if self.ledger is not None and names is not None and len(rows):
            stream = None if sticky is None else sticky.stream_id(self.mechanism, array.shape[1])
            accounts = None if units is None else one_each(units, len(array), "unit", rows)
            self.ledger.spend(names, self.guarantee, stream=stream, unit=accounts, shape=self._shape_id())
        out = released = self.mechanism.privatize(array if every else array[rows], source)
        if released.shape[1] == array.shape[1]:
            out = self._filtered(released)
        if not every:
            out, noisy = array.astype(np.float32), out
            out[rows] = noisy
        if self.normalise:
            out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), np.float32(1e-12))
        return out

    def warn_without_texts(self) -> None:
        """Warn that vectors are released whose texts are not there, if this protector counts on texts."""
        if self.concepts and self.neutral:
            warnings.warn(
                "These vectors were embedded elsewhere, and the noise of this protector counts on neutral "
                "texts of its own. For vectors alone learn one with neutral=0 (--neutral 0): it is stronger.",
                TextsMissingWarning,
                stacklevel=3,
            )

    def _noised_rows(self, array: FloatArray, matched: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Rows that get noise: all, or those that hold a concept."""
        if not self.only_matching:
            return np.arange(len(array))
        if matched is None:
            raise InputError("only_matching needs to know which rows hold a concept. Protect texts.")
        if self.mechanism.output_dim(array.shape[1]) != array.shape[1]:
            raise ParameterError("only_matching needs a mechanism that keeps the dimension.")
        return masked_rows(matched, len(array), "matched")

    def filter_matrix(self) -> Floats | None:
        """The public filter S (S + N)^-1 for this mechanism's noise N; None without a background."""
        if self._filter is None and self.background is not None and self.mechanism.additive:
            self._filter = self.background.filter_for(self.mechanism.noise_covariance(self.background.dim))
        return self._filter

    def _filtered(self, released: NDArray[np.float32]) -> NDArray[np.float32]:
        matrix = self.filter_matrix()
        if matrix is None or self.background is None:
            return released
        return self.background.filtered(released, matrix)

    def _names(
        self, texts: Sequence[str] | None, rows: NDArray[np.intp], count: int, role: Role
    ) -> list[str] | None:
        needed = (self.secret is not None and role == "document") or self.ledger is not None
        if texts is None:
            if needed:
                raise InputError("Sticky noise and the ledger need the texts, or ids that stand for them.")
            return None
        return one_each(texts, count, "text", rows)

    def sticky(self, dim: int) -> Sticky:
        """The noise keys of this protector; anything that changes a vector changes the whole stream."""
        if self.secret is None:
            raise InputError("Sticky noise needs a secret. Give the protector one.")
        model = f"{self.learned.get('model_id', 'vectors')} {self.settings_digest()}"
        return Sticky(self.secret, model=model, tenant=self.tenant, collection=self.collection)

    def settings_digest(self) -> str:
        """A digest of everything that decides what is embedded and how it is released."""
        from sfumato.artifacts import canonical_json

        settings = {
            "neutral": self.neutral,
            "normalise": self.normalise,
            "only_matching": self.only_matching,
            "concepts": [concept.to_dict() for concept in self.concepts],
        }
        digest = hashlib.sha256(canonical_json(settings) + self.mechanism.fingerprint())
        if self.background is not None:
            digest.update(np.ascontiguousarray(self.background.mean, "<f8").tobytes())
            digest.update(np.ascontiguousarray(self.background.covariance, "<f8").tobytes())
        return digest.hexdigest()

    def _shape_id(self) -> str:
        return hashlib.sha256(
            b"".join(v.tobytes() for _, v in sorted(self.mechanism.tensors().items()))
        ).hexdigest()

    def __repr__(self) -> str:
        """The parts, and nothing secret."""
        named = [concept.name for concept in self.concepts]
        return f"Protector({self.mechanism!r}, concepts={named}, sticky={self.secret is not None})"
