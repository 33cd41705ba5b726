"""The protector: an encoder, what to hide, and the noise that hides it, kept as one folder."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.guarantee import Guarantee
from sfumato.accounting.identity import VERSION, of_vectors
from sfumato.arrays import as_vectors, masked_rows, one_each
from sfumato.concepts.base import Check
from sfumato.concepts.concept import Concept
from sfumato.concepts.texts.neutral import MOST_COPIES, Mention, NeutralBy, neutral_way
from sfumato.embedders.base import Embedder, OnBatch
from sfumato.errors import InputError, ParameterError
from sfumato.learned import Learned
from sfumato.mechanisms import Mechanism
from sfumato.numbers import whole_number
from sfumato.preparing import Entrance, Prepared, RowSpans, find_mentions
from sfumato.promise import counted_loss, promised
from sfumato.randomness import resolve
from sfumato.release import Release
from sfumato.types import FloatArray

if TYPE_CHECKING:
    from sfumato.accounting import Ledger, Secret, Spend, Sticky
    from sfumato.accounting.curves import GridLoss
    from sfumato.sensitivity import Background, Eraser

Role = Literal["document", "query"]

NEUTRAL_COPIES = 8


class TextsMissingWarning(UserWarning):
    """A protector that counts on neutral texts released vectors without their texts."""


@dataclass(slots=True, eq=False, repr=False)
class Protector:
    """Embeds texts and releases their vectors protected: a release, the texts before it, and its accounts.

    Args:
        mechanism: the noise.
        embedder: the encoder, or its name; None for vectors that come from elsewhere.
        concepts: what to hide; found in texts, so that neutral texts can stand in for them.
        neutral: how many reference terms stand in for a concept that is found; 0 embeds texts as they are.
        neutral_by: what stands in: copies with a term each, one soft token, a placeholder, or nothing.
        background: ordinary text's spread, for the public linear filter S (S + N)^-1 applied after the noise.
        normalise: whether released vectors are scaled to unit length.
        only_matching: release texts without a concept as they are, for which nothing is promised.
        secret: makes noise sticky: what is embedded alike is released alike (`accounting.identity`).
        ledger: counts what is spent; it is written before a release is made.
        learned: how it was learned, for the record; a mapping such as `config.json` holds is read as one.
        eraser: public linear map that takes what gives a concept away out of every release, touched or not.
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
    learned: Learned = field(default_factory=Learned)
    eraser: Eraser | None = None
    neutral_by: NeutralBy = "copies"
    _made: Release | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Refuse settings no release can be made with."""
        self.neutral = whole_number(self.neutral, "neutral", 0, MOST_COPIES)
        self.neutral_by = neutral_way(self.neutral_by)
        for name in ("normalise", "only_matching"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"`{name}` must be True or False. Found {getattr(self, name)!r:.40}.")
        self.learned = Learned.of(self.learned)

    @property
    def dim(self) -> int | None:
        """The dimension of its vectors, where that is known without loading the encoder."""
        known = self.mechanism.dim if self.mechanism.dim is not None else self.learned.dim
        return None if known is None else int(known)

    @property
    def encoder(self) -> Embedder:
        """The embedder, loaded on first use."""
        if self.embedder is None:
            raise InputError(
                "This protector has no embedder. Pass vectors to protect(), or give it an embedder."
            )
        if isinstance(self.embedder, str):
            from sfumato.embedders import load_embedder

            self.embedder = load_embedder(self.embedder)
            expected = self.learned.model_id
            if expected is not None and self.embedder.model_id != expected:
                raise InputError(
                    f"The encoder must be the one the protector was learned for, {expected}. "
                    f"Found {self.embedder.model_id}. Learn a protector for this encoder."
                )
        return self.embedder

    @property
    def guarantee(self) -> Guarantee:
        """What one release promises: the mechanism's promise with what this protector changes in it."""
        return promised(
            self.mechanism,
            neutral=self.embeds_neutral,
            only_matching=self.only_matching,
            sticky=self.secret is not None,
            background=self.background,
            learned=self.learned,
            eraser=self.eraser,
        )

    def mentions(
        self, texts: Sequence[str], spans: RowSpans | None = None, *, check: Check | None = None
    ) -> list[list[Mention]]:
        """Where the concepts are in each text, and what may stand in for each."""
        return find_mentions(self.concepts, self.neutral, texts, spans, by=self.neutral_by, check=check)

    def prepare(
        self,
        texts: Sequence[str],
        *,
        spans: RowSpans | None = None,
        on_batch: OnBatch | None = None,
        check: Check | None = None,
    ) -> Prepared:
        """Embed texts, with neutral texts in the place of those that hold a concept.

        Args:
            texts: what to embed.
            spans: labelled spans of each text, for concepts defined by a label.
            on_batch: told how many texts, neutral copies among them, were just embedded.
            check: called while concepts are looked for; what it raises ends the work.
        """
        keyed = self.secret is not None or self.ledger is not None
        return self.entrance().prepare(texts, spans=spans, on_batch=on_batch, check=check, keyed=keyed)

    def entrance(self, embedder: Any = None) -> Entrance:
        """The way texts go before the release, through its own encoder or another one."""
        encoder = self.encoder if embedder is None else embedder
        return Entrance(encoder, self.concepts, self.neutral, self.neutral_by)

    def as_release(self) -> Release:
        """What happens to vectors, without texts, secret and ledger: what an attacker may know."""
        made, settings = self._made, (self.mechanism, self.background, self.normalise, self.eraser)
        if made is None or (made.mechanism, made.background, made.normalise, made.eraser) != settings:
            made = self._made = Release(*settings)
        return made

    @property
    def embeds_neutral(self) -> bool:
        """Whether texts with a concept enter as neutral texts, so that the term never reaches the vector."""
        return bool(self.neutral_copies)

    @property
    def neutral_copies(self) -> int:
        """How many neutral copies stand for a text with a concept; 0 where it is embedded as it is."""
        return self.neutral if self.concepts else 0

    def without_accounting(self) -> Protector:
        """The same protector with fresh noise that nobody counts, for experiments and attacks."""
        return replace(self, secret=None, ledger=None)

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
        return self.release(self.prepare(texts, spans=spans, on_batch=on_batch), role=role, rng=rng)

    def release(self, ready: Prepared, *, role: Role = "document", rng: object = None) -> NDArray[np.float32]:
        """Release what `prepare` made; documents get sticky noise where there is a secret, queries never."""
        array = as_vectors(ready.vectors, dim=self.mechanism.dim)
        if (self.secret is not None or self.ledger is not None) and ready.names is None:
            raise InputError("These rows were prepared without secret and ledger. Prepare them again.")
        return self._release(array, ready.matched, ready.names, ready.accounts, role, rng)

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
        """Release vectors that were embedded elsewhere.

        Sticky noise is keyed by the exact numbers of each vector, so that two vectors never share noise.

        Args:
            vectors: `(n, d)` embeddings.
            texts: the texts they came from, or ids for them: the accounts the ledger charges.
            matched: with only_matching, which rows hold a concept.
            role: documents get sticky noise where there is a secret; queries always get fresh noise.
            rng: a seed or source for experiments, instead of secure noise.
            units: the accounts the ledger charges, one a vector, where those are not the texts; without
                either, each vector has an account of its own.
        """
        array = as_vectors(vectors, dim=self.mechanism.dim)
        names: list[str] | None = None
        accounts: list[str] | None = None
        for what, given in (("text", texts), ("unit", units)):
            if given is not None:
                accounts = one_each(given, len(array), what)
        if self.secret is not None or self.ledger is not None:
            names = of_vectors(array)
        if matched is None and rng is None and role == "document" and len(array) and not self.only_matching:
            self.warn_without_texts()
        return self._release(array, matched, names, accounts, role, rng)

    def _release(
        self,
        array: FloatArray,
        matched: NDArray[np.bool_] | None,
        names: Sequence[str] | None,
        accounts: Sequence[str] | None,
        role: Role,
        rng: object,
    ) -> NDArray[np.float32]:
        if role not in get_args(Role):
            raise ParameterError(f"`role` must be one of {get_args(Role)}. Found {role!r}.")
        rows = self._noised_rows(array, matched)
        if self.only_matching or self.ledger is not None:
            self.mechanism.check(array)  # also rows that get no noise, and before anything is spent
        if rng is not None:
            resolve(rng)  # refuse a bad seed before anything is spent
        every, source, stream = len(rows) == len(array), rng, None
        if self.secret is not None and names is not None and role == "document":
            sticky = self.sticky()
            source = sticky.keys([names[row] for row in rows], self.mechanism, array.shape[1])
            stream = sticky.stream_id(self.mechanism, array.shape[1])
        if self.ledger is not None and names is not None and len(array):
            shape, loss = self._shape_id(), self.counted_loss(array.shape[1])
            self.ledger.spend(
                names, self.guarantee, stream=stream, unit=accounts or names, shape=shape, loss=loss
            )
        out: NDArray[np.float32] = self.as_release()(array, source, rows=None if every else rows)
        return out

    def counted_loss(self, dim: int) -> GridLoss | None:
        """What the ledger is told of one release; None where it counts no curves, or there is no law."""
        if self.ledger is None or self.ledger.metric != "curve":
            return None
        return counted_loss(
            self.mechanism, self.learned, dim, distance=self.ledger.distance, only_matching=self.only_matching
        )

    def spent(self, text: str, *, spans: RowSpans | None = None) -> Spend:
        """Look up what has been spent on a text, on the account it would be charged to."""
        if self.ledger is None:
            raise InputError("This protector has no ledger. Give it one.")
        _, accounts = self.entrance().copies([text], spans).identities(self.encoder)
        return self.ledger.spent(unit=accounts[0])

    def warn_without_texts(self) -> None:
        """Warn that vectors are released whose texts are not there, if this protector counts on texts."""
        if self.embeds_neutral:
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

    def sticky(self) -> Sticky:
        """The noise keys of this protector; any setting that changes a release changes the whole stream."""
        if self.secret is None:
            raise InputError("Sticky noise needs a secret. Give the protector one.")
        from sfumato.accounting.sticky import Sticky

        return Sticky(
            self.secret, model=self.settings_digest(), tenant=self.tenant, collection=self.collection
        )

    @property
    def noise_id(self) -> str | None:
        """Which key, and which rule of deriving from it, sticky noise comes from; None for fresh noise."""
        return None if self.secret is None else f"{self.secret.key_id} {VERSION}"

    def settings_digest(self) -> str:
        """A digest of everything that decides what is embedded and how it is released."""
        from sfumato.artifacts import canonical_json

        settings: dict[str, Any] = {
            "neutral": self.neutral,
            "normalise": self.normalise,
            "only_matching": self.only_matching,
            "concepts": [concept.to_dict() for concept in self.concepts],
        }
        if self.neutral_by != "copies":  # as ever for what older versions saved
            settings["neutral_by"] = self.neutral_by
        digest = hashlib.sha256(canonical_json(settings) + self.mechanism.fingerprint())
        if self.background is not None:
            digest.update(np.ascontiguousarray(self.background.mean, "<f8").tobytes())
            digest.update(np.ascontiguousarray(self.background.covariance, "<f8").tobytes())
        if self.eraser is not None:
            digest.update(b"eraser" + np.ascontiguousarray(self.eraser.matrix, "<f8").tobytes())
        return digest.hexdigest()

    def _shape_id(self) -> str:
        return hashlib.sha256(
            b"".join(v.tobytes() for _, v in sorted(self.mechanism.tensors().items()))
        ).hexdigest()

    def __repr__(self) -> str:
        """The parts, and nothing secret."""
        named = [concept.name for concept in self.concepts]
        return f"Protector({self.mechanism!r}, concepts={named}, sticky={self.secret is not None})"
