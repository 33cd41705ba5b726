"""White box: which dimensions a fitted attack reads a concept from, as a mask for the noise.

SPARSE-WB (SPARSE, "White-Box Defense") takes integrated gradients of the attack's output; DPPN-Oracle (DPPN,
"White-box privacy neuron detection") the magnitude of the gradient of its loss. Both know the attacker, so
they show what a mask learned without him might reach.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, get_args

import numpy as np

from sfumato.arrays import as_vectors
from sfumato.attacks.terms.reader import TokenReader
from sfumato.errors import InputError, MissingPackageError, ParameterError
from sfumato.numbers import whole_number
from sfumato.sensitivity import Mask
from sfumato.types import Floats

Method = Literal["integrated-gradients", "gradient"]
_ROWS = 1024


def attributions(
    reader: TokenReader,
    vectors: Any,
    terms: Sequence[Collection[str]],
    method: Method = "integrated-gradients",
    *,
    baseline: Any = None,
    steps: int = 32,
) -> Floats:
    """`(n, d)` how much each dimension contributes to reading each row's terms.

    Args:
        reader: the fitted attack.
        vectors: `(n, d)` vectors.
        terms: the sensitive terms of each row; those outside the vocabulary count for nothing.
        method: integrated gradients of the terms' summed log odds (Sundararajan et al. 2017), or the gradient
            of their summed loss -log p.
        baseline: `(d,)` where integrated gradients start; the mean of the vectors, if left out.
        steps: points on the path.
    """
    if method not in get_args(Method):
        raise ParameterError(f"`method` must be one of {', '.join(get_args(Method))}. Found {method!r:.40}.")
    rows = as_vectors(vectors, dim=reader.dim).astype(np.float32)
    if len(terms) != len(rows):
        raise InputError(f"Every row must have its terms. Found {len(terms)} for {len(rows)} rows.")
    start = rows.mean(axis=0) if baseline is None else np.asarray(baseline, np.float32)
    chosen = _chosen(reader, terms)
    found = np.empty(rows.shape)
    for low in range(0, len(rows), _ROWS):
        part = slice(low, low + _ROWS)
        if method == "gradient":
            found[part] = _gradients(reader, rows[part], chosen[part])
        else:
            points = whole_number(steps, "steps", 2, 10_000)
            found[part] = _integrated(reader, rows[part], chosen[part], start, points)
    return found


def white_box_mask(
    reader: TokenReader,
    vectors: Any,
    terms: Sequence[Collection[str]],
    method: Method = "integrated-gradients",
    *,
    source: str = "unknown",
    name: str = "",
) -> Mask:
    """Mean |attribution| over the rows that name a term, scaled to a largest score of 1."""
    rows = as_vectors(vectors)
    known = set(reader.vocabulary)
    naming = [row for row, found in enumerate(terms) if any(term.lower() in known for term in found)]
    if not naming:
        raise InputError(
            "No row names a term that the attack knows, so no dimension can be told from another."
        )
    start = rows.mean(axis=0)  # of all rows: what a text is like, whether it names a term or not
    found = attributions(reader, rows[naming], [terms[row] for row in naming], method, baseline=start)
    scores = np.abs(found).mean(axis=0)
    return Mask(scores / max(float(scores.max()), 1e-300), source=source, name=name)


def _chosen(reader: TokenReader, terms: Sequence[Collection[str]]) -> np.ndarray[Any, np.dtype[np.float32]]:
    index = {term: column for column, term in enumerate(reader.vocabulary)}
    chosen = np.zeros((len(terms), len(index)), np.float32)
    for row, found in enumerate(terms):
        chosen[row, [index[term.lower()] for term in found if term.lower() in index]] = 1.0
    return chosen


def _forward(reader: TokenReader, torch: Any) -> Any:
    """The attack's log odds as a torch function."""
    members = [
        [tuple(torch.from_numpy(array.copy()) for array in layer) for layer in member.layers]
        for member in reader.members
    ]

    def logits(rows: Any) -> Any:
        total = 0.0
        for layers in members:
            out = rows
            for number, (weights, offsets) in enumerate(layers):
                out = out @ weights + offsets
                out = torch.relu(out) if number < len(layers) - 1 else out
            total = total + out / len(members)
        return total

    return logits


def _gradients(reader: TokenReader, rows: Any, chosen: Any) -> Floats:
    import torch

    inputs = torch.from_numpy(rows.copy()).requires_grad_()
    losses = torch.nn.functional.softplus(-_forward(reader, torch)(inputs)) * torch.from_numpy(chosen)
    (gradient,) = torch.autograd.grad(losses.sum(), inputs)
    return np.asarray(gradient.numpy(), np.float64)


def _integrated(reader: TokenReader, rows: Any, chosen: Any, start: Any, steps: int) -> Floats:
    import torch

    try:
        from captum.attr import IntegratedGradients
    except ModuleNotFoundError as error:
        raise MissingPackageError("captum", "learn", "for integrated gradients") from error

    logits = _forward(reader, torch)

    def summed(inputs: Any, wanted: Any) -> Any:
        return (logits(inputs) * wanted).sum(dim=1)

    found = IntegratedGradients(summed).attribute(
        torch.from_numpy(rows.copy()),
        baselines=torch.from_numpy(np.broadcast_to(start, rows.shape).copy()),
        additional_forward_args=(torch.from_numpy(chosen),),
        n_steps=steps,
        internal_batch_size=4 * _ROWS,
    )
    return np.asarray(found.detach().numpy(), np.float64)
