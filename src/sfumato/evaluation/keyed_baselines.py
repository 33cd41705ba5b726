"""Defences that rest on a key: what is stored looks like noise until some pairs leak.

An attacker without the key has two ways in. He may have texts of his own stored under the same key (a user of
the same tenant): then he trains on the defence's own releases. Or some clean vectors leaked with their
releases: then `fit_undo` gives him the key, and he reads what it leaves. Report both; a keyed defence that is
only attacked by someone who knows nothing looks perfect whatever it does.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import VectorError
from sfumato.evaluation.baselines import Baseline, Sample
from sfumato.evaluation.defence import Defence
from sfumato.evaluation.leaked import Undoing
from sfumato.mechanisms.transform import Function, Transform
from sfumato.randomness import generator
from sfumato.types import Floats

_BATCH = 512


@dataclass(frozen=True, kw_only=True)
class Rotation(Baseline):
    """A secret orthogonal map: every cosine is kept, and d leaked pairs give the key."""

    name = "rotation"

    def fit(self, sample: Sample) -> list[Defence]:
        """Draw the key from the sample's seed."""
        q, r = np.linalg.qr(generator(sample.seed).standard_normal((sample.dim, sample.dim)))
        key = q * np.sign(np.diag(r))
        note = "a rotation keeps every cosine; whoever holds as many pairs as dimensions can undo it"
        mechanism = Transform(self.name, lambda vectors: vectors @ key, note=note)
        return [Defence(name=self.name, mechanism=mechanism, embedder=sample.embedder, key="rotation")]


@dataclass(frozen=True, kw_only=True)
class Ironcore(Baseline):
    """ironcore-alloy's vector encryption (AGPL or commercial), about 2 ms a vector."""

    name = "ironcore"
    approximation: tuple[float, ...] = (1.0, 2.5, 5.0)
    """Its approximation factor: higher perturbs more."""

    def fit(self, sample: Sample) -> list[Defence]:
        """Draw one key from the sample's seed."""
        key = generator(sample.seed).bytes(32)
        note = "a secret shuffle of the dimensions and a perturbation; few leaked pairs undo the shuffle"
        return [
            _rival(
                self.name,
                f"approximation factor {factor:g}",
                sample,
                _ironcore(key, factor),
                note,
                "shuffle",
                {"approximation_factor": factor},
            )
            for factor in sorted(self.approximation)
        ]


@dataclass(frozen=True, kw_only=True)
class Privrag(Baseline):
    """privrag-guard (MIT): a secret rotation with small noise, or with Gaussian noise in its strict mode."""

    name = "privrag"
    noise_fraction: float = 0.10
    epsilons: tuple[float, ...] = (10.0,)
    """Of the strict mode, at its default delta of 1e-5."""

    def fit(self, sample: Sample) -> list[Defence]:
        """Draw the key from the sample's seed."""
        from privrag import PrivRAGGuard

        seed = int(generator(sample.seed).integers(2**62))
        default = PrivRAGGuard(noise_fraction=self.noise_fraction, random_state=seed, key_seed=seed)
        note = "a secret rotation and bounded noise; its authors call this mode not differentially private"
        defences = [
            _rival(
                self.name,
                f"noise fraction {self.noise_fraction:g}",
                sample,
                default.protect_batch,
                note,
                "rotation",
                {"noise_fraction": self.noise_fraction},
            )
        ]
        for epsilon in sorted(self.epsilons, reverse=True):
            strict = PrivRAGGuard(epsilon=epsilon, strict_dp=True, random_state=seed, key_seed=seed)
            note = f"its authors promise ({epsilon:g}, 1e-5) differential privacy; not verified here"
            defences.append(
                _rival(
                    self.name,
                    f"strict, epsilon {epsilon:g}",
                    sample,
                    strict.protect_batch,
                    note,
                    "rotation",
                    {"strict_dp": True, "epsilon": epsilon},
                )
            )
        return defences


def _rival(
    name: str,
    setting: str,
    sample: Sample,
    function: Function,
    note: str,
    key: Undoing,
    settings: dict[str, Any],
) -> Defence:
    return Defence(
        name=name,
        setting=setting,
        mechanism=Transform(name, function, note=note, noisy=True, settings=settings),
        embedder=sample.embedder,
        parameters=settings,
        key=key,
    )


def _ironcore(key: bytes, factor: float) -> Function:
    import ironcore_alloy as alloy

    secret = alloy.RotatableSecret(alloy.StandaloneSecret(1, alloy.Secret(key)), None)
    vectors_only = {"": alloy.VectorSecret(factor, secret)}
    settings = alloy.StandaloneConfiguration(alloy.StandardSecrets(None, []), {}, vectors_only)
    client = alloy.Standalone(settings).vector()
    tenant = alloy.AlloyMetadata.new_simple("sfumato")

    async def encrypted(rows: list[list[float]]) -> list[list[float]]:
        plain = {
            str(number): alloy.PlaintextVector(plaintext_vector=row, secret_path="", derivation_path="")
            for number, row in enumerate(rows)
        }
        done = await client.encrypt_batch(plain, tenant)
        if done.failures:
            raise VectorError(f"ironcore-alloy must encrypt every vector. It refused {len(done.failures)}.")
        return [done.successes[str(number)].encrypted_vector for number in range(len(rows))]

    async def everything(vectors: Floats) -> list[list[float]]:
        out: list[list[float]] = []
        for start in range(0, len(vectors), _BATCH):
            out += await encrypted(vectors[start : start + _BATCH].tolist())
        return out

    def release(vectors: Floats) -> Floats:
        # A thread of its own: the caller may already be inside an event loop, as in a notebook.
        with ThreadPoolExecutor(1) as worker:
            rows = worker.submit(lambda: asyncio.run(everything(vectors))).result()
        return np.array(rows, np.float64).reshape(len(vectors), -1)

    return release
