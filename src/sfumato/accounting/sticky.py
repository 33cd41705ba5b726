"""Sticky noise: the same text under the same settings always gets the same noise, so averaging gains nothing.

The noise key of a text is an HMAC of the text under a context key, itself an HMAC under the secret of
everything that shapes the release: two releases that differ in any setting share no noise. (One noise at two
epsilons, or on two vectors, cancels out by subtraction.) The promise then also rests on HMAC-SHA256 and AES
being pseudo-random, and equal texts give equal vectors, which shows that they are equal.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from sfumato.accounting.identity import canonical
from sfumato.accounting.keys import Secret
from sfumato.errors import InputError, ParameterError
from sfumato.randomness import NOISE_VERSION, RowKeys


class Fingerprinted(Protocol):
    """What sticky noise needs of a mechanism."""

    def fingerprint(self) -> bytes:
        """Canonical bytes of the mechanism's name and of everything that shapes its noise."""


def keyed_digests(key: bytes, texts: Iterable[str], name: str = "texts", size: int = 32) -> list[bytes]:
    """Return the first `size` bytes of the HMAC-SHA256 of each text; errors name rows, never contents."""
    if isinstance(texts, str | bytes):
        raise InputError(f"`{name}` must be a list of str. Found a single {type(texts).__name__}.")
    digests: list[bytes] = []
    wrong = ""
    for text in texts:
        if not isinstance(text, str):
            wrong = f"must be a str. Found {type(text).__name__}."
            break
        try:
            digests.append(hmac.digest(key, canonical(text).encode(), "sha256")[:size])
        except UnicodeEncodeError:
            wrong = "must be encodable in UTF-8. Found a lone surrogate."
            break
    if wrong:  # raised out here because a chained UnicodeEncodeError would carry the text
        raise InputError(f"Row {len(digests)} of `{name}` {wrong}")
    return digests


class Sticky:
    """Noise keys for texts, one stream per combination of mechanism, model, dimension, tenant and collection.

    `model` must name all that decides the embedding of a text (model, revision, prompt, pooling), because one
    noise on two embeddings of a text gives away their difference. A new `version` draws new noise on purpose.
    """

    def __init__(
        self, secret: Secret, *, model: str, tenant: str = "", collection: str = "", version: str = ""
    ) -> None:
        if not isinstance(secret, Secret):
            raise ParameterError(f"`secret` must be a Secret. Found {type(secret).__name__}.")
        if model == "":
            raise ParameterError(
                "`model` must name the embedding model and its revision. Found an empty name."
            )
        fields = {"model": model, "tenant": tenant, "collection": collection, "version": version}
        for name, value in fields.items():
            if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
                raise ParameterError(
                    f"`{name}` must be a str that UTF-8 can encode. Found {type(value).__name__}."
                )
        self._secret = secret
        self._fields = fields

    @property
    def key_id(self) -> str:
        """The id of the secret behind this noise."""
        return self._secret.key_id

    def keys(self, texts: Iterable[str], mechanism: Fingerprinted, dim: int) -> RowKeys:
        """One 32-byte noise key per text, to be passed to `mechanism.privatize` as `rng`."""
        context = self._context(b"sfumato sticky noise", mechanism, dim)
        digests = b"".join(keyed_digests(context, texts))
        return RowKeys(np.frombuffer(digests, np.uint8).reshape(-1, 32))

    def stream_id(self, mechanism: Fingerprinted, dim: int) -> str:
        """Which noise stream this is: 48 hex digits, the key's id first; safe to store beside the vectors."""
        return self.key_id + self._context(b"sfumato stream id", mechanism, dim)[:16].hex()

    def _context(self, purpose: bytes, mechanism: Fingerprinted, dim: int) -> bytes:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or dim < 1:
            raise ParameterError(f"`dim` must be a whole number of at least 1. Found {dim!r}.")
        fingerprint = mechanism.fingerprint()
        if not isinstance(fingerprint, bytes) or not fingerprint:
            raise ParameterError("A mechanism's fingerprint must be non-empty bytes.")
        names = (self._fields[name].encode() for name in ("model", "tenant", "collection", "version"))
        fields = (purpose, str(NOISE_VERSION).encode(), fingerprint, str(int(dim)).encode(), *names)
        # Each field carries its length, so that no two lists of fields spell the same message.
        return self._secret.derive(b"".join(len(field).to_bytes(8, "big") + field for field in fields))

    def __repr__(self) -> str:
        """Show which key and model, and nothing secret."""
        return f"Sticky(key_id={self.key_id!r}, model={self._fields['model']!r})"
