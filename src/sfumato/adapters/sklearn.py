"""scikit-learn: protection as a step of a pipeline, for vectors or for texts.

    make_pipeline(ProtectTexts("places"), LogisticRegression())
    make_pipeline(Normalizer(), ProtectVectors(noise_ratio=0.5), LogisticRegression())

Without a secret noise is fresh in every call, and the transformers say that they are not deterministic. With
one it is sticky, a function of the secret and of the row (its text, or its exact numbers), so that the same
row gets the same release whatever is beside it. There is no random_state: a seed would protect nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adapters.packages import needs
from sfumato.errors import ParameterError
from sfumato.mechanisms import MECHANISMS
from sfumato.protector import Protector
from sfumato.reference import Protected, open_protector, read_secret

with needs("scikit-learn", "sklearn"):
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data

# A row of zeros is ordinary data here, though no embedding: it is released from a place that far from zero,
# which the grid does not resolve.
_NEXT_TO_ZERO = 1e-12


class ProtectVectors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Releases rows of numbers; rows over `max_norm` are first drawn in to it, which costs no privacy.

    Args:
        protector: what protects, as every adapter takes it; None makes one from the next three.
        mechanism: the name of a mechanism, such as "laplace" or "gaussian".
        noise_ratio: length of the noise over `max_norm`.
        max_norm: the longest row that keeps its length; 1 for text embeddings.
        secret: where the secret for sticky noise is, "env:NAME" or "file:PATH", for a mechanism by name.
    """

    def __init__(
        self,
        protector: Protected | None = None,
        *,
        mechanism: str = "laplace",
        noise_ratio: float = 0.5,
        max_norm: float = 1.0,
        secret: str = "",
    ) -> None:
        self.protector = protector
        self.mechanism = mechanism
        self.noise_ratio = noise_ratio
        self.max_norm = max_norm
        self.secret = secret

    def fit(self, X: Any, y: Any = None) -> ProtectVectors:
        """Take the dimension from the data, and nothing else."""
        array = validate_data(self, X, dtype=[np.float32, np.float64])
        self.protector_ = self._open()
        self._n_features_out = self.protector_.mechanism.output_dim(array.shape[1])
        return self

    def _open(self) -> Protector:
        if self.protector is not None:
            if self.secret:
                raise ParameterError(
                    "`secret` goes with the protector, as in a ProtectorReference. Found it beside one."
                )
            return open_protector(self.protector).protector
        made = MECHANISMS.get(self.mechanism).from_noise_ratio(
            self.noise_ratio, dim=self.n_features_in_, max_norm=self.max_norm
        )
        secret = read_secret(self.secret) if self.secret else None
        return Protector(made, normalise=False, secret=secret)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Release every row."""
        check_is_fitted(self)
        array = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        inside = _drawn_in(array, self.protector_.mechanism.max_norm)
        if self.protector is None and self.protector_.mechanism.additive:
            inside[~inside.any(axis=1), 0] = _NEXT_TO_ZERO * self.max_norm
        return self.protector_.protect(inside)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the secret behind: it is read again where the pickle is opened."""
        return _without_protector(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the protector again."""
        super().__setstate__(state)
        if "n_features_in_" in state:
            self.protector_ = self._open()

    def __sklearn_tags__(self) -> Any:
        """Say that noise is fresh, unless it is sticky."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = not (self.secret or _is_sticky(self.protector))
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


class ProtectTexts(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Embeds texts and releases their vectors, with everything a protector does for texts."""

    def __init__(self, protector: Protected = "protector") -> None:
        self.protector = protector

    def fit(self, X: Sequence[str], y: Any = None) -> ProtectTexts:
        """Open the protector; nothing is learned from the texts."""
        self.protector_ = open_protector(self.protector).protector
        self._n_features_out = self.protector_.mechanism.output_dim(self.protector_.encoder.dim)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave the secret behind: it is read again where the pickle is opened."""
        return _without_protector(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the protector again."""
        super().__setstate__(state)
        if "_n_features_out" in state:
            self.protector_ = open_protector(self.protector).protector

    def transform(self, X: Sequence[str]) -> NDArray[np.float32]:
        """Embed and release every text."""
        check_is_fitted(self)
        return self.protector_.embed(X if isinstance(X, str) else list(X))

    def __sklearn_tags__(self) -> Any:
        """Say that texts come in, and whether noise is fresh."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        tags.non_deterministic = not _is_sticky(self.protector)
        return tags


def _without_protector(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name != "protector_"}


def _is_sticky(protected: Protected | None) -> bool:
    if isinstance(protected, Protector):
        return protected.secret is not None
    secret = protected.get("secret") if isinstance(protected, dict) else getattr(protected, "secret", "")
    return bool(secret)


def _drawn_in(array: NDArray[Any], max_norm: float) -> NDArray[Any]:
    """Rows over the bound, scaled to it: a contraction, so distances and with them the promise stay."""
    wide = array.astype(np.float64, order="C")
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.asarray(wide * (max_norm / np.maximum(norms, max_norm)))
