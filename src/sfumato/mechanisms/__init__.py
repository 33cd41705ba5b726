"""Mechanisms: vectors in, released vectors out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use
from sfumato.mechanisms.base import Mechanism
from sfumato.registry import Entry, Registry

if TYPE_CHECKING:
    from sfumato.mechanisms.gaussian import Gaussian
    from sfumato.mechanisms.identity import Identity
    from sfumato.mechanisms.laplace import Laplace
    from sfumato.mechanisms.mahalanobis import Mahalanobis
    from sfumato.mechanisms.polar import Polar
    from sfumato.mechanisms.projection import Projection
    from sfumato.mechanisms.purkayastha import Purkayastha
    from sfumato.mechanisms.suppression import Suppression
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "gaussian": "Gaussian",
            "identity": "Identity",
            "laplace": "Laplace",
            "mahalanobis": "Mahalanobis",
            "polar": "Polar",
            "projection": "Projection",
            "purkayastha": "Purkayastha",
            "suppression": "Suppression",
        },
    )

_HOME = "sfumato.mechanisms"

MECHANISMS: Registry[Mechanism] = Registry(
    "mechanism",
    [
        Entry("laplace", f"{_HOME}.laplace:Laplace", "equal noise in every direction"),
        Entry("mahalanobis", f"{_HOME}.mahalanobis:Mahalanobis", "noise shaped by a mask or a covariance"),
        Entry(
            "purkayastha",
            f"{_HOME}.purkayastha:Purkayastha",
            "turns a vector by a random angle, exp(-epsilon angle)",
        ),
        Entry("gaussian", f"{_HOME}.gaussian:Gaussian", "independent normal noise in every coordinate"),
        Entry(
            "projection",
            f"{_HOME}.projection:Projection",
            "random projection to few dimensions, then noise there",
        ),
        Entry(
            "suppression",
            f"{_HOME}.suppression:Suppression",
            "one-sided noise on the top dimensions of a mask",
        ),
        Entry("polar", f"{_HOME}.polar:Polar", "turns a vector by a von Mises-Fisher angle"),
        Entry("identity", f"{_HOME}.identity:Identity", "no noise at all: what an attacker sees today"),
    ],
    group="sfumato.mechanisms",
    others={
        "normal": "gaussian",
        "none": "identity",
        "vmf": "polar",
        "sparse": "mahalanobis",
        "dppn": "suppression",
    },
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
