"""Mechanisms: vectors in, released vectors out."""

from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.gaussian import Gaussian
from sfumato.mechanisms.identity import Identity
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mahalanobis import Mahalanobis
from sfumato.mechanisms.polar import Polar
from sfumato.mechanisms.projection import Projection
from sfumato.mechanisms.purkayastha import Purkayastha
from sfumato.mechanisms.suppression import Suppression
from sfumato.registry import Entry, Registry

MECHANISMS: Registry[Mechanism] = Registry(
    "mechanism",
    [
        Entry(kind.name, f"{kind.__module__}:{kind.__name__}", kind.summary)
        for kind in (Laplace, Mahalanobis, Purkayastha, Gaussian, Projection, Suppression, Polar, Identity)
    ],
)

__all__ = [
    "MECHANISMS",
    "Gaussian",
    "Identity",
    "Laplace",
    "Mahalanobis",
    "Mechanism",
    "Polar",
    "Projection",
    "Purkayastha",
    "Suppression",
]
