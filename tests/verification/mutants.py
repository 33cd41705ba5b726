"""Samplers with one bug each, of the kinds that real ones have had; `verify` must catch every one of them.

Each is a subclass that claims what the original claims and draws something else.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.mechanisms import Gaussian, Laplace, Mahalanobis, Polar, Projection, Purkayastha, Suppression
from sfumato.mechanisms.angles import AngleLaw, turn
from sfumato.mechanisms.base import add_noise
from sfumato.mechanisms.laplace import laplace_scale
from sfumato.randomness import Source, StreamDraws, generator
from sfumato.sampling import exponentials, gammas, normals, unit_interval


def direction(draws, dim):
    noise = normals(draws, dim).copy()
    return noise / np.linalg.norm(noise, axis=1, keepdims=True)


class _Noisy(Laplace):
    """Laplace with its noise drawn by `noise`."""

    def noise(self, draws, dim):
        raise NotImplementedError

    def _release(self, vectors, draws, step):
        return (vectors + self.noise(draws, vectors.shape[1])) / step


class GammaOneShort(_Noisy):
    def noise(self, draws, dim):
        return direction(draws, dim) * gammas(draws, max(dim - 1, 1))[:, None] / self.epsilon


class RadiusExponential(_Noisy):
    def noise(self, draws, dim):
        return direction(draws, dim) * exponentials(draws, 1) / self.epsilon


class _Scaled(Laplace):
    factor = 1.0

    def _release(self, vectors, draws, step):
        dim = vectors.shape[1]
        scale = laplace_scale(draws, dim, self.epsilon) * self.factor
        return add_noise(vectors, normals(draws, dim), scale, step, draws.space)


class HalfNoise(_Scaled):
    factor = 0.5


class FivePercentShort(_Scaled):
    factor = 0.95


class PerCoordinate(_Noisy):
    def noise(self, draws, dim):
        return (exponentials(draws, dim) - exponentials(draws, dim)) / self.epsilon


class GaussianSameSpread(_Noisy):
    def noise(self, draws, dim):
        return normals(draws, dim) * math.sqrt(dim + 1) / self.epsilon


class OneRadius(_Noisy):
    def noise(self, draws, dim):
        return direction(draws, dim) * gammas(draws, dim)[0] / self.epsilon


class DirectionFromCube(_Noisy):
    def noise(self, draws, dim):
        cube = 2 * unit_interval(draws.words(dim)) - 1
        return cube / np.linalg.norm(cube, axis=1, keepdims=True) * gammas(draws, dim)[:, None] / self.epsilon


class HalfSpace(_Noisy):
    """Every first coordinate of the noise has the same sign: squares do not see it."""

    def noise(self, draws, dim):
        noise = direction(draws, dim) * gammas(draws, dim)[:, None] / self.epsilon
        noise[:, 0] = np.abs(noise[:, 0])
        return noise


class _Stuck(Source):
    """Opens the same stream for every block."""

    def blocks(self, bounds):
        super().blocks(bounds)
        return lambda index, space: StreamDraws(
            self._cipher, self._key, 0, bounds[index][1] - bounds[index][0], space
        )


class SameNoiseEveryBlock(Laplace):
    def privatize(self, vectors, rng=None, *, threads=None):
        return super().privatize(vectors, _Stuck(), threads=threads)


class Float32Sum(Laplace):
    """Draws and adds in float32: the usual pipeline."""

    def privatize(self, vectors, rng=None, *, threads=None):
        vectors = np.asarray(vectors, np.float32)
        numbers, (rows, dim) = generator(), vectors.shape
        noise = numbers.standard_normal((rows, dim), dtype=np.float32)
        noise /= np.maximum(np.linalg.norm(noise, axis=1, keepdims=True), np.float32(1e-30))
        return vectors + noise * numbers.gamma(dim, 1 / self.epsilon, (rows, 1)).astype(np.float32)


class MissingGrid(Laplace):
    """Adds in float64 and rounds to float32, whose own grid depends on the number."""

    def privatize(self, vectors, rng=None, *, threads=None):
        vectors = np.asarray(vectors, np.float64)
        numbers, (rows, dim) = generator(), vectors.shape
        noise = numbers.standard_normal((rows, dim))
        radius = numbers.gamma(dim, 1 / self.epsilon, (rows, 1))
        noise *= radius / np.linalg.norm(noise, axis=1, keepdims=True)
        return (vectors + noise).astype(np.float32)


class SignedZero(Laplace):
    def privatize(self, vectors, rng=None, *, threads=None):
        released = super().privatize(vectors, rng, threads=threads)
        # As rounding would have left it: a zero takes the sign of the sum, here that of the input.
        return np.where(released == 0, np.copysign(np.float32(0), np.asarray(vectors, np.float32)), released)


class FineGrid(MissingGrid):
    """A step so small that every float32 number of this size is a multiple of it."""

    def step(self, dim):
        return super().step(dim) * 2.0**-12


class _Coloured(Mahalanobis):
    def colour(self, noise):
        raise NotImplementedError

    def _release(self, vectors, draws, step):
        noise = self.colour(normals(draws, self.dim).copy())
        return add_noise(vectors, noise, laplace_scale(draws, self.dim, self.epsilon), step, draws.space)

    def _power(self, exponent):
        values, basis = np.linalg.eigh(self.shape.covariance())
        return (basis * values**exponent) @ basis.T


class SigmaForItsRoot(_Coloured):
    def colour(self, noise):
        return noise @ self._power(1.0)


class InverseRoot(_Coloured):
    def colour(self, noise):
        return noise @ self._power(-0.5)


class TransposedCholesky(_Coloured):
    def colour(self, noise):
        return noise @ np.linalg.cholesky(self.shape.covariance())


class MaskIgnored(_Coloured):
    def colour(self, noise):
        return noise


class TraceTooLarge(_Coloured):
    def colour(self, noise):
        return noise @ self._power(0.5) * math.sqrt(1.3)


class TraceTooSmall(_Coloured):
    def colour(self, noise):
        return noise @ self._power(0.5) / math.sqrt(1.3)


class Cholesky(_Coloured):
    """Not a bug: any root will do, symmetric or not."""

    def colour(self, noise):
        return noise @ np.linalg.cholesky(self.shape.covariance()).T


class SymmetricRoot(_Coloured):
    """Not a bug."""

    def colour(self, noise):
        return noise @ self._power(0.5)


class _Concentrated(Polar):
    def concentration(self):
        return self.epsilon

    def law_dim(self, dim):
        return dim

    def _release(self, vectors, draws, step):
        kappa, n = self.concentration(), self.law_dim(vectors.shape[1])
        mode = math.acos(min(1.0, 2 * kappa / (n - 2 + math.hypot(n - 2, 2 * kappa))))
        return turn(vectors, draws, AngleLaw(n, lambda angle: kappa * np.cos(angle), mode)) / step


class KappaTwice(_Concentrated):
    def concentration(self):
        return 2 * self.epsilon


class KappaFivePercent(_Concentrated):
    def concentration(self):
        return 1.05 * self.epsilon


class SphereOneShort(_Concentrated):
    def law_dim(self, dim):
        return max(dim - 1, 2)


class WrongExponent(Purkayastha):
    """sin^(n-1) in place of sin^(n-2)."""

    def _release(self, vectors, draws, step):
        n = vectors.shape[1] + 1
        law = AngleLaw(n, lambda angle: -self.epsilon * angle, math.atan2(n - 2, self.epsilon))
        return turn(vectors, draws, law) / step


class LopsidedTangent(Purkayastha):
    """Turns only towards one side of the sphere."""

    def _release(self, vectors, draws, step):
        released = super()._release(vectors, draws, step)
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        along = np.vecdot(released, unit)[:, None] * unit
        side = np.where((released - along)[:, :1] < 0, -1.0, 1.0)
        return along + side * (released - along)


class RadiusBare(Polar):
    """Releases the radius without noise."""

    def _release(self, vectors, draws, step):
        bare = Polar(epsilon=self.epsilon, max_norm=self.max_norm)
        return bare._release(vectors, draws, step) * np.linalg.norm(vectors, axis=1, keepdims=True)


class SigmaFivePercent(Gaussian):
    def _release(self, vectors, draws, step):
        noise = normals(draws, vectors.shape[1])
        return add_noise(vectors, noise, np.array([0.95 * self.sigma]), step, draws.space)


class StretchForgotten(Projection):
    def _release(self, vectors, draws, step):
        matrix = self.matrix(vectors.shape[1])
        scale = laplace_scale(draws, matrix.shape[1], self.epsilon)
        return add_noise(vectors @ matrix, normals(draws, matrix.shape[1]), scale, step, draws.space)


class PushedAway(Suppression):
    def _release(self, vectors, draws, step):
        return 2 * vectors / step - super()._release(vectors, draws, step)


class WrongAxes(Suppression):
    """Takes the first axes and not the most sensitive ones."""

    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.axes = np.arange(len(self.axes))
