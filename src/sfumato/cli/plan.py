"""`sfumato plan`: what a large release will take, from rates measured on the spot."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from sfumato.cli.output import JsonOption, console, write_json
from sfumato.errors import InputError
from sfumato.scale.cost import STORES, CostEstimate, Workload, plan

NAME = "plan"
EXAMPLE = (
    "Examples: sfumato plan --vectors 1e9 --dim 768  |  "
    "sfumato plan --vectors 1e8 --encode minilm --cores 64 --store s3"
)
_DEFAULT_DIM = 768
_UNITS = (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


def _count(text: str) -> int:
    """Read 1000000, 1_000_000 or 1e6."""
    value = 0.0
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"--vectors must be a number such as 1e9. Found {text!r}.") from None
    if not 1 <= value <= 1e15 or value != int(value):
        raise InputError(f"--vectors must be a whole number from 1 to 1e15. Found {text!r}.")
    return int(value)


def _time(seconds: float) -> str:
    name, size = next(((n, s) for n, s in _UNITS if seconds >= s), _UNITS[-1])
    return f"{seconds / size:.3g} {name}s"


def _bytes(count: int) -> str:
    name, size = next(
        ((n, s) for n, s in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)) if count >= s), ("kB", 1e3)
    )
    return f"{count / size:.3g} {name}"


def command(
    vectors: Annotated[str, typer.Option(help="How many vectors, such as 1e9.")],
    dim: Annotated[
        int | None, typer.Option(help="Their dimension; the encoder's own, or 768, if not said.")
    ] = None,
    mechanism: Annotated[str, typer.Option(metavar="NAME", help="One of `sfumato mechanisms`.")] = "laplace",
    sticky: Annotated[bool, typer.Option(help="Noise keyed by row, as with --secret.")] = False,
    encode: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Start from texts, embedded with this encoder.")
    ] = None,
    cores: Annotated[
        int | None, typer.Option(help="How many cores; those of this machine if not said.")
    ] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs that encode; needs --encode-rate.")] = None,
    encode_rate: Annotated[float | None, typer.Option(help="Texts a second that one GPU encodes.")] = None,
    store: Annotated[str, typer.Option(help=f"Where the vectors are: {', '.join(STORES)}.")] = "disk",
    bandwidth: Annotated[
        float | None, typer.Option(help="GB/s of the store each way, for all workers together.")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Say how long a release takes, on what, and what bounds it; measures for a few seconds first."""
    if dim is None and encode is not None:
        from sfumato.embedders import load_embedder

        dim = load_embedder(encode).dim
    found = plan(
        Workload(
            vectors=_count(vectors),
            dim=_DEFAULT_DIM if dim is None else dim,
            mechanism=mechanism,
            sticky=sticky,
            encode=encode,
            cores=cores,
            gpus=gpus,
            encode_rate=encode_rate,
            store=store,
            bandwidth=bandwidth,
        )
    )
    _show(found)
    write_json(json, found.to_dict())


def _show(found: CostEstimate) -> None:
    screen, asked = console(), found.question
    table = Table(box=None, pad_edge=False)
    for name in ("stage", "vectors a second", "alone"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    for stage in found.stages:
        per = "store" if stage.name.startswith("store") else "GPU" if stage.shared else "core"
        table.add_row(stage.name, f"{stage.rate:,.0f} a {per}", _time(stage.seconds))
    screen.print(f"{asked.vectors:,} vectors of {asked.dim}, {asked.mechanism}, {found.cores} cores")
    screen.print(table)
    gpus = f", {found.gpu_hours:.3g} GPU hours" if found.gpu_hours else ""
    screen.print(f"Time     {_time(found.seconds)}, bounded by: {found.bound}")
    screen.print(f"Compute  {found.core_hours:.3g} core hours{gpus}")
    screen.print(
        f"Noise    {found.noise_core_hours:.3g} core hours, {_bytes(found.random_bytes)} of random bits"
    )
    screen.print(f"Storage  {_bytes(found.input_bytes)} read, {_bytes(found.output_bytes)} written")
    screen.print("Extrapolated in a straight line from a few seconds on one core of this machine.")
    if found.question.store != "disk" and found.question.bandwidth is None:
        screen.print(
            f"The {asked.store} store is taken to give {STORES[asked.store]} GB/s each way; see --bandwidth."
        )
