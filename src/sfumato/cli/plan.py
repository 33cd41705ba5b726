"""`sfumato plan`: what a large release will take, from rates measured on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sfumato.cli.options.shared import AllowRemoteOption, reference
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.errors import InputError
from sfumato.scale.cost import STORES, CostEstimate, Workload, plan
from sfumato.scale.probe import ProtectEstimate, probe

NAME = "plan"
EXAMPLE = (
    "Examples: sfumato plan notes.jsonl --protector places  |  sfumato plan --vectors 1e9 --dim 768  |  "
    "sfumato plan --vectors 1e8 --encode minilm --cores 64 --store s3"
)
_DEFAULT_DIM = 768
_OF_VECTORS = ("dim", "mechanism", "encode", "cores", "gpus", "encode_rate", "store", "bandwidth")
"""Options that ask about vectors on any machine."""
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
    source: Annotated[
        Path | None,
        typer.Argument(metavar="[IN]", help="Texts of yours, with --protector.", show_default=False),
    ] = None,
    protector: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Time this protector on texts of IN; see `sfumato learn`."),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option(help="How many vectors, such as 1e9; with --protector, those of IN.")
    ] = None,
    dim: Annotated[
        int | None, typer.Option(help="Their dimension; the encoder's own, or 768, if not said.")
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(metavar="NAME", help="One of `sfumato mechanisms`; laplace if not said.")
    ] = None,
    sticky: Annotated[bool, typer.Option(help="Noise keyed by row, as with --secret.")] = False,
    encode: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Start from texts, embedded with this encoder.")
    ] = None,
    cores: Annotated[
        int | None, typer.Option(help="How many cores; those of this machine if not said.")
    ] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs that encode; needs --encode-rate.")] = None,
    encode_rate: Annotated[float | None, typer.Option(help="Texts a second that one GPU encodes.")] = None,
    store: Annotated[
        str | None, typer.Option(help=f"Where the vectors are: {', '.join(STORES)}; disk if not said.")
    ] = None,
    bandwidth: Annotated[
        float | None, typer.Option(help="GB/s of the store each way, for all workers together.")
    ] = None,
    allow_remote: AllowRemoteOption = None,
    json: JsonOption = None,
) -> None:
    """Say how long a release takes, on what, and what bounds it; measures for a few seconds first."""
    given = dict(locals())
    found = _plan_vectors(given) if protector is None else _plan_protector(given)
    write_json(json, found.to_dict())


def _plan_protector(given: dict[str, Any]) -> ProtectEstimate:
    _refuse({f"--{name.replace('_', '-')}": given[name] for name in _OF_VECTORS})
    rows = None if given["vectors"] is None else _count(given["vectors"])
    source, protector, sticky = given["source"], given["protector"], given["sticky"]
    found = _probed(source, protector, rows, sticky, given["allow_remote"])
    _show_protect(found)
    return found


def _plan_vectors(given: dict[str, Any]) -> CostEstimate:
    if given["source"] is not None:
        raise InputError("Texts are timed with a protector: give --protector DIR.")
    if given["vectors"] is None:
        raise InputError("Say how many vectors, --vectors 1e9, or which protector and texts, --protector.")
    dim, encode = given["dim"], given["encode"]
    if dim is None and encode is not None:
        from sfumato.embedders import load_embedder

        dim = load_embedder(encode).dim
    asked = {name: given[name] for name in ("sticky", "encode", "cores", "gpus", "encode_rate", "bandwidth")}
    asked["mechanism"], asked["store"] = given["mechanism"] or "laplace", given["store"] or "disk"
    found = plan(
        Workload(vectors=_count(given["vectors"]), dim=_DEFAULT_DIM if dim is None else dim, **asked)
    )
    _show(found)
    return found


def _refuse(others: dict[str, Any]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise InputError(
            f"{given[0]} does not go with --protector, which is timed as it is on this machine. Leave it out."
        )


def _probed(
    source: Path | None, protector: Path, rows: int | None, sticky: bool, allow_remote: list[str] | None
) -> ProtectEstimate:
    if source is None or source.is_dir():
        raise InputError(
            "Name a file of your texts to time the protector on: sfumato plan IN --protector DIR."
        )
    made = reference(protector, allow_remote=allow_remote).open()
    if sticky:
        from sfumato.accounting import Secret

        made.secret = Secret.generate()
    return probe(source, made, rows=rows)


_STAGES = {"find": "find and make neutral", "embed": "embed", "release": "noise and filter"}


def _show_protect(found: ProtectEstimate) -> None:
    screen = console()
    table = Table(box=None, pad_edge=False)
    for name in ("stage", "rows a second", "alone"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    for name, seconds in found.stages.items():
        table.add_row(_STAGES[name], f"{1 / max(seconds, 1e-9):,.0f}", _time(found.rows * seconds))
    kind = (
        "vectors" if found.characters is None else f"texts of {found.characters:,.0f} characters on average"
    )
    screen.print(f"{found.rows:,} {kind}; {found.probed:,} were timed")
    screen.print(table)
    if found.matched is not None:
        screen.print(
            f"{found.matched:.0%} of texts hold a concept; the encoder reads {found.passes:.2f} texts a row"
        )
    screen.print(
        f"Time     {_time(found.seconds)} for `protect`, {_time(found.starting)} of it to start",
        highlight=False,
    )
    screen.print("Of the clock, on this machine with what else it does now; a ledger is not counted.")


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
