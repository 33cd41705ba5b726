"""Training Hugging Face models on releases: steps, rates and repeatable chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sfumato.attacks.base import OnStep
from sfumato.attacks.writers.training import trapezoid
from sfumato.errors import ArtifactError
from sfumato.randomness import generator

Loss = Callable[[NDArray[np.intp]], Tensor]
"""Rows of the training texts in, their mean loss out."""
_POOL = 32
"""Batches that are sorted by length together."""


@dataclass(frozen=True, slots=True)
class FineTuning:
    """How long and how fast to train.

    Args:
        rate: highest learning rate of the model.
        head_rate: of the new parts, which start from nothing.
    """

    epochs: int
    batch: int
    rate: float
    head_rate: float
    seed: int


def train(
    base: nn.Module,
    heads: Sequence[nn.Module],
    count: int,
    epoch_loss: Callable[[int], Loss],
    recipe: FineTuning,
    tell: Callable[[float], object] | None = None,
    *,
    lengths: Sequence[int] | None = None,
) -> None:
    """Fit `base`, as far as it may learn, and `heads`, to `count` rows.

    Args:
        base: the model; parameters that need no gradient stay as they are.
        heads: the new parts.
        count: how many rows there are.
        epoch_loss: called at the start of each epoch, to release the vectors afresh; returns the loss.
        recipe: how.
        tell: hears which share is done.
        lengths: of the rows; those of about the same length come together, so that little is filled up.
    """
    fresh = [weight for head in heads for weight in head.parameters()]
    known = {id(weight) for weight in fresh}
    old = [weight for weight in base.parameters() if weight.requires_grad and id(weight) not in known]
    groups = [{"params": fresh, "top": recipe.head_rate}]
    if old:
        groups.append({"params": old, "top": recipe.rate})
    optimiser = torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01)
    rng = generator(recipe.seed)
    each = -(-count // recipe.batch)
    total, done = each * recipe.epochs, 0
    for epoch in range(recipe.epochs):
        loss_of = epoch_loss(epoch)
        for chosen in _batches(rng.permutation(count), recipe.batch, lengths, rng):
            for group in optimiser.param_groups:
                group["lr"] = group["top"] * trapezoid((done + 1) / (total + 1))
            loss = loss_of(chosen)
            loss.backward()
            nn.utils.clip_grad_norm_([*fresh, *old], 1.0)
            optimiser.step()
            optimiser.zero_grad()
            done += 1
            if tell is not None:
                tell(done / total)


def _batches(
    order: NDArray[np.intp], batch: int, lengths: Sequence[int] | None, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Rows of an epoch, batch after batch; with lengths, sorted within pools and the batches in any order."""
    if lengths is None or len(set(lengths)) == 1:
        return np.split(order, range(batch, len(order), batch))
    size, found = np.asarray(lengths), []
    for start in range(0, len(order), _POOL * batch):
        pool = order[start : start + _POOL * batch]
        found += np.split(pool[size[pool].argsort(kind="stable")], range(batch, len(pool), batch))
    return [found[at] for at in rng.permutation(len(found))]


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Make torch's own chance (first weights, dropout) repeatable inside, and leave it alone outside."""
    gpus = [torch.cuda.current_device()] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(seed)
        yield


def progress(on_step: OnStep | None, what: str) -> Callable[[float], object] | None:
    """A listener that names what is going on."""
    return None if on_step is None else lambda share: on_step(what, share)


def tuned_weights(module: nn.Module) -> dict[str, NDArray[np.float32]]:
    """Every weight that learns, by name."""
    return {
        name: weight.detach().float().cpu().numpy()
        for name, weight in module.named_parameters()
        if weight.requires_grad
    }


def restore(network: nn.Module, tensors: dict[str, NDArray[Any]]) -> None:
    """Set every weight that learns, or refuse what does not fit."""
    wanted = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
    if wanted.keys() != tensors.keys():
        odd = sorted(wanted.keys() ^ tensors.keys())[0]
        raise ArtifactError(f"The saved weights must be those of this model. Found `{odd}` on one side only.")
    with torch.no_grad():
        for name, weight in wanted.items():
            if tuple(weight.shape) != tensors[name].shape:
                raise ArtifactError(
                    f"The saved weight `{name}` must have the shape {tuple(weight.shape)}. "
                    f"Found {tensors[name].shape}."
                )
            weight.copy_(torch.from_numpy(np.array(tensors[name])))
