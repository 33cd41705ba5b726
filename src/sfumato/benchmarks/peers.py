"""Other libraries that draw the same noise, or that a buyer might pick instead, timed in turns with ours.

A peer is imported only when it is installed. Each one does what its users would call: one vector a call where
it has no batch, on one core, at the same noise (ratio 1) where it draws noise at all.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.benchmarks.interleave import WALL, Contender, Spread, interleave, plain
from sfumato.benchmarks.speed import NOISE_RATIO, OnStep, unit_vectors
from sfumato.mechanisms import MECHANISMS
from sfumato.mechanisms.base import one_blas_thread
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.types import Vectors

OUR_ROWS = 2048
INSTALL = "pip install 'sfumato[peers]'"


@dataclass(frozen=True, slots=True)
class Peer:
    """One rival and the mechanism of ours it is set against."""

    name: str
    package: str
    """The module to import."""
    ours: str
    """The mechanism that does the same job."""
    rows: int
    """Vectors a lap: few, because peers are slow."""
    prepare: Callable[[Vectors, float], Contender]
    """Makes the lap from the vectors and our mechanism's epsilon."""
    note: str
    install: str = INSTALL


@dataclass(frozen=True, slots=True)
class PeerSpeed:
    """One rival beside ours; figures are None where it is not installed or did not run."""

    name: str
    ours: str
    dim: int
    note: str
    microseconds: float | None = None
    """Per vector, theirs."""
    our_microseconds: float | None = None
    speed_up: Spread | None = None
    """Theirs over ours, round by round."""
    missing: str = ""
    """Why there are no figures, and the command that would bring them."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain(self)


@dataclass(frozen=True, slots=True)
class Reference:
    """A figure that others printed, on a machine of theirs: to read, not to divide by."""

    source: str
    what: str
    microseconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain(self)


REFERENCES = (
    Reference("SPARSE, table 11", "Laplace, a vector", 39.8),
    Reference("SPARSE, table 11", "SPARSE (Mahalanobis with a mask), a vector", 48.4),
    Reference("SPARSE, table 11", "Purkayastha, a vector", 33_200.0),
    Reference("STAMP", "polar mechanism with decoding, a token", 195_000.0),
)


def _scipy(vectors: Vectors, epsilon: float) -> Contender:
    from scipy.stats import vonmises_fisher

    rng = generator()
    means = vectors.astype(np.float64)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return lambda: [vonmises_fisher.rvs(mean, epsilon, random_state=rng) for mean in means]


def _diffprivlib(vectors: Vectors, epsilon: float, seed: int | None) -> Contender:
    from diffprivlib.mechanisms import Vector

    # Without function sensitivity its noise has density ~ exp(-(epsilon/2) ||z||): twice our epsilon matches.
    mechanism = Vector(
        epsilon=2 * epsilon, function_sensitivity=0.0, dimension=vectors.shape[1], random_state=seed
    )
    wide = vectors.astype(np.float64)

    def release(vector: NDArray[np.float64]) -> Any:
        # It randomises an objective; the gradient of that objective comes back as vector + noise.
        return mechanism.randomise(lambda point: (0.0, vector.copy()))(vector)[1]

    return lambda: [release(vector) for vector in wide]


def _ironcore(vectors: Vectors, epsilon: float, batch: bool) -> Contender:
    import ironcore_alloy as alloy

    secret = alloy.StandaloneSecret(1, alloy.Secret(secrets.token_bytes(32)))
    vector_secret = alloy.VectorSecret(1.0, alloy.RotatableSecret(secret, None))
    settings = alloy.StandaloneConfiguration(alloy.StandardSecrets(None, []), {}, {"": vector_secret})
    client = alloy.Standalone(settings).vector()
    tenant = alloy.AlloyMetadata.new_simple("tenant")
    plain = [
        alloy.PlaintextVector(plaintext_vector=row, secret_path="", derivation_path="")
        for row in vectors.tolist()
    ]

    async def one_by_one() -> None:
        for vector in plain:
            await client.encrypt(vector, tenant)

    async def together() -> None:
        await client.encrypt_batch({str(row): vector for row, vector in enumerate(plain)}, tenant)

    work = together if batch else one_by_one
    return lambda: asyncio.run(work())


PEERS = (
    Peer(
        "scipy vonmises_fisher, one call a vector",
        "scipy",
        "polar",
        2,
        _scipy,
        "the same law; its noise is not secure; what STAMP's reference code calls for every token",
        install="pip install scipy",
    ),
    Peer(
        "diffprivlib Vector, secure default",
        "diffprivlib",
        "laplace",
        8,
        functools.partial(_diffprivlib, seed=None),
        "the same law, read from the perturbed gradient; no batch call",
    ),
    Peer(
        "diffprivlib Vector, seeded",
        "diffprivlib",
        "laplace",
        64,
        functools.partial(_diffprivlib, seed=0),
        "the same law from an ordinary generator; no batch call",
    ),
    Peer(
        "ironcore-alloy encrypt, one call a vector",
        "ironcore_alloy",
        "laplace",
        16,
        functools.partial(_ironcore, batch=False),
        "another promise: encryption that keeps approximate search, with no leakage figure",
    ),
    Peer(
        "ironcore-alloy encrypt_batch",
        "ironcore_alloy",
        "laplace",
        16,
        functools.partial(_ironcore, batch=True),
        "another promise: encryption that keeps approximate search, with no leakage figure",
    ),
)


def _measure(peer: Peer, vectors: Vectors, rounds: int, on_round: Callable[[], object]) -> PeerSpeed:
    dim = vectors.shape[1]
    mechanism = MECHANISMS.get(peer.ours).from_noise_ratio(NOISE_RATIO, dim=dim)
    few = vectors[: peer.rows]
    theirs = peer.prepare(few, float(mechanism.parameters()["epsilon"]))
    with one_blas_thread():
        timed = interleave(
            {"ours": functools.partial(mechanism.privatize, vectors, threads=1), "theirs": theirs},
            rounds,
            clock=WALL,
            on_round=on_round,
        )
    return PeerSpeed(
        peer.name,
        peer.ours,
        dim,
        peer.note,
        microseconds=timed["theirs"].median / len(few) * 1e6,
        our_microseconds=timed["ours"].median / len(vectors) * 1e6,
        speed_up=timed["theirs"].ratio.times(len(vectors) / len(few)),
    )


def _why(error: Exception) -> str:
    return f"installed, but did not run ({type(error).__name__}: {str(error).partition(chr(10))[0]:.120})"


def compare(
    dim: int = 768, rounds: int = 5, on_step: OnStep | None = None, *, seed: int = 0
) -> tuple[PeerSpeed, ...]:
    """Time every installed peer in turns with our own mechanism for the same job."""
    vectors = unit_vectors(OUR_ROWS, whole_number(dim, "dim", 4, 8192), generator(seed))
    rounds = whole_number(rounds, "rounds", 1, 1000)
    total = len(PEERS) * (rounds + 1)
    found: list[PeerSpeed] = []
    for number, peer in enumerate(PEERS):
        done = number * (rounds + 1)

        def step(peer: Peer = peer) -> None:
            nonlocal done
            done += 1
            if on_step is not None:
                on_step(done, total, peer.name)

        if importlib.util.find_spec(peer.package) is None:
            found.append(
                PeerSpeed(peer.name, peer.ours, dim, peer.note, missing=f"not installed: {peer.install}")
            )
            continue
        try:
            found.append(_measure(peer, vectors, rounds, step))
        except Exception as error:  # a broken rival must not end our own benchmark
            found.append(PeerSpeed(peer.name, peer.ours, dim, peer.note, missing=_why(error)))
    return tuple(found)
