"""Learning masks from pairs of texts with and without a concept (SPARSE, algorithm 2; DPPN, section 3.2)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sfumato.arrays import as_vectors
from sfumato.errors import ParameterError, VectorError
from sfumato.sensitivity.batches import PairLayout, cut_batches
from sfumato.sensitivity.gates import Tensor, mask_scores, torch
from sfumato.sensitivity.learned import (
    SMALLEST_SET,
    LearnedMask,
    MaskCurves,
    MaskReport,
    MaskSettings,
)
from sfumato.sensitivity.mask import Mask
from sfumato.sensitivity.training import TrainedGates, train

OnEpoch = Callable[[int, int], object]
"""Called with the epochs done and the most there can be, over all concepts, to move a progress bar."""

Pair = tuple[Tensor, Tensor]

_LARGEST = 1e15
_CPU_BYTES = 2 << 30


class MaskLearner:
    """Learns which dimensions tell D+ from D-: `fit` for one concept, `fit_many` for all of them at once.

    Args:
        settings: what to do; the defaults if left out.
        device: "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:1".
    """

    def __init__(self, settings: MaskSettings | None = None, *, device: str = "auto") -> None:
        self.settings = MaskSettings() if settings is None else settings
        self.device = _device(device)
        self.precision: str = self.settings.precision
        if self.precision == "auto":
            half = self.device.type == "cuda" and torch.cuda.is_bf16_supported()
            self.precision = "bfloat16" if half else "float32"

    def fit(
        self,
        plus: Any,
        minus: Any,
        *,
        name: str = "",
        source: str = "unknown",
        on_epoch: OnEpoch | None = None,
    ) -> LearnedMask:
        """Learn one mask from `(n, d)` embeddings: row i of `minus` is row i of `plus` less the concept."""
        return self.fit_many({name: (plus, minus)}, source=source, on_epoch=on_epoch)[name]

    def fit_many(
        self,
        concepts: Mapping[str, tuple[Any, Any]],
        *,
        source: str = "unknown",
        on_epoch: OnEpoch | None = None,
    ) -> dict[str, LearnedMask]:
        """Learn one mask a concept in one batched program; each is what `fit` alone would have learned."""
        if not concepts:
            raise ParameterError("`concepts` must name at least one concept. Found none.")
        checked = {name: _checked_pairs(name, *pair) for name, pair in concepts.items()}
        dims = {plus.shape[1] for plus, _ in checked.values()}
        if len(dims) > 1:
            raise VectorError(
                f"All concepts must have vectors of one dimension. Found {', '.join(map(str, sorted(dims)))}."
            )
        groups = self._groups(checked, dims.pop())
        progress = _Progress(on_epoch, self.settings.epochs, len(groups))
        learned: dict[str, LearnedMask] = {}
        for group in groups:
            learned |= self._fit_group({name: checked[name] for name in group}, source, progress.step)
            progress.close_group()
        return {name: learned[name] for name in concepts}

    def _held_out(self, pairs: int) -> int:
        return max(2, round(self.settings.held_out * pairs))

    def _layout(self, pairs: int) -> PairLayout:
        held = self._held_out(pairs)
        return PairLayout.of(pairs - held, held, self.settings.batch_size, split=self.device.type == "cpu")

    def _groups(self, concepts: Mapping[str, Pair], dim: int) -> list[list[str]]:
        """Gather concepts of one layout, as many as fit in memory."""
        layouts: dict[PairLayout, list[str]] = {}
        for name, (plus, _) in concepts.items():
            layouts.setdefault(self._layout(len(plus)), []).append(name)
        room = _CPU_BYTES
        if self.device.type == "cuda":
            room = torch.cuda.mem_get_info(self.device)[0] // 2
        groups = []
        for layout, names in layouts.items():
            # Rows, and a weight with its gradient and two moments, all as if in float32.
            rows = layout.steps * layout.parts * layout.batch + layout.held
            fitting = max(1, room // (4 * dim * (2 * rows + 4 * self.settings.hidden[0])))
            groups += [names[low : low + fitting] for low in range(0, len(names), fitting)]
        return groups

    def _fit_group(
        self, concepts: Mapping[str, Pair], source: str, on_epoch: Callable[[], None]
    ) -> dict[str, LearnedMask]:
        pairs = [len(plus) for plus, _ in concepts.values()]
        held = [self._held_out(count) for count in pairs]
        batches = cut_batches(
            list(concepts.values()),
            held,
            self._layout(pairs[0]),
            self.settings.seed,
            getattr(torch, self.precision),
            self.device,
        )
        outcome = train(batches, self.settings, on_epoch)
        return {
            name: LearnedMask(
                Mask(mask_scores(outcome.log_alpha[index]), source=source, name=name),
                self._report(outcome, index, pairs[index], held[index]),
            )
            for index, name in enumerate(concepts)
        }

    def _report(self, outcome: TrainedGates, index: int, pairs: int, held: int) -> MaskReport:
        epochs, best = int(outcome.run[index]), int(outcome.best[index])
        lines = [np.array(line) for line in outcome.curves[:epochs, :, index].T]
        for line in lines:
            line.flags.writeable = False
        curves = MaskCurves(*lines)
        return MaskReport(
            curves=curves,
            accuracy=float(curves.accuracy[best]),
            open_share=float(curves.open_share[best]),
            epoch=best + 1,
            pairs=pairs,
            held_out=held,
            settings=self.settings,
            device=str(self.device),
            precision=self.precision,
        )


class _Progress:
    """Turns epochs of one group after another into one count; a group that stops early jumps ahead."""

    def __init__(self, on_epoch: OnEpoch | None, epochs: int, groups: int) -> None:
        self._on_epoch, self._epochs, self._total = on_epoch, epochs, epochs * groups
        self._done = self._end = 0

    def step(self) -> None:
        self._done += 1
        self._tell()

    def close_group(self) -> None:
        self._end += self._epochs
        if self._done < self._end:
            self._done = self._end
            self._tell()

    def _tell(self) -> None:
        if self._on_epoch is not None:
            self._on_epoch(self._done, self._total)


def _device(name: str) -> Any:
    """Turn a name into a torch device; without a GPU it is the CPU, with a warning if a GPU was named."""
    there = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if there else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ParameterError(f'`device` must be "auto", "cpu" or "cuda". Found {name!r:.40}.') from error
    if device.type not in ("cpu", "cuda"):
        raise ParameterError(f'`device` must be "auto", "cpu" or "cuda". Found {name!r:.40}.')
    if device.type == "cuda" and not there:
        warnings.warn("There is no CUDA device: masks are learned on the CPU.", RuntimeWarning, stacklevel=3)
        return torch.device("cpu")
    return device


def _as_tensor(vectors: Any) -> Tensor:
    """Return `(n, d)` floats as a tensor, where possible without copying; what is on a GPU stays there."""
    if isinstance(vectors, torch.Tensor) and vectors.is_cuda and vectors.ndim == 2:
        return vectors.detach().float()
    array = as_vectors(vectors).astype(np.float32, copy=False)
    # torch warns about arrays it could not write to, though nothing here ever would.
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _checked_pairs(name: str, plus: Any, minus: Any) -> Pair:
    """Return a concept's pairs as tensors, or refuse them whole by concept, side and row."""
    who = f"Concept {name!r:.60}: " if name else ""
    sides = []
    for vectors, side in ((plus, "D+"), (minus, "D-")):
        try:
            tensor = _as_tensor(vectors)
        except VectorError as error:
            raise VectorError(f"{who}{side}: {error}", error.row) from error
        # NaN is not below anything, so one comparison finds it as well.
        good = (tensor.abs() < _LARGEST).all(dim=1)
        if not bool(good.all()):
            row = int(good.int().argmin())
            raise VectorError(
                f"{who}row {row} of {side} holds NaN, infinity or a number beyond {_LARGEST:g}.", row
            )
        sides.append(tensor)
    first, second = sides
    if first.shape != second.shape:
        raise VectorError(
            f"{who}D+ and D- must have one row for each text and the same dimension. "
            f"Found {tuple(first.shape)} and {tuple(second.shape)}."
        )
    if len(first) < SMALLEST_SET:
        raise VectorError(f"{who}at least {SMALLEST_SET} pairs are needed. Found {len(first)}.")
    if torch.equal(first, second.to(first.device)):
        raise VectorError(f"{who}D+ and D- are the same vectors: there is nothing to learn.")
    return first, second
