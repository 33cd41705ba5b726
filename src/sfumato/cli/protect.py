"""`sfumato protect`: release the vectors of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.arrays import whole_number
from sfumato.cli.options import InputFile, LedgerOption, SecretOption, open_ledger, open_secret
from sfumato.cli.output import JsonOption, console, progress, write_json
from sfumato.errors import InputError
from sfumato.evaluation.calibrate import Calibrated, calibrate, scaled
from sfumato.inputs import count, read
from sfumato.mechanisms import MECHANISMS
from sfumato.protector import Protector
from sfumato.saving import load_protector
from sfumato.scale.release import BATCH_ROWS, Released, release_file

NAME = "protect"
EXAMPLE = (
    "Examples: sfumato protect notes.jsonl --protector places -o notes.parquet  |  "
    "sfumato protect vectors.npy --mechanism laplace --noise-ratio 0.5 -o released.npy"
)


def _first_vectors(source: Path, protector: Protector) -> Any:
    for batch in read(source, batch=2000):
        if batch.texts is not None and protector.embedder is not None:
            return protector.prepare(batch.texts, spans=batch.spans).vectors
        if batch.vectors is not None:
            return batch.vectors
    raise InputError(f"{source.name} has no rows to calibrate on.")


def _plain(
    name: str, embedder: str | None, source: Path, epsilon: float | None, ratio: float | None
) -> Protector:
    """A protector that is a mechanism and nothing else."""
    kind: Any = MECHANISMS.get(name)
    if name in {"mahalanobis", "suppression"}:
        raise InputError(f"{name} needs a learned shape. Make a protector with: sfumato learn")
    if name == "identity":
        return Protector(kind(), embedder, normalise=False)
    if epsilon is not None and kind.strength == "epsilon":
        return Protector(kind(epsilon=epsilon), embedder, normalise=False)
    start = Protector(kind(**{kind.strength: 1.0}), embedder, normalise=False)
    if ratio is None:
        return start
    width = _first_vectors(source, start).shape[1]
    return replace(start, mechanism=kind.from_noise_ratio(ratio, dim=width), learned={"dim": width})


def _choose(
    source: Path, protector: Path | None, mechanism: str | None, embedder: str | None,
    epsilon: float | None, noise_ratio: float | None, keep: str | None,
) -> tuple[Protector, Calibrated | None]:  # fmt: skip
    if (protector is None) == (mechanism is None):
        raise InputError("Give either --protector DIR or --mechanism NAME.")
    asked = [
        name
        for name, value in (("--epsilon", epsilon), ("--noise-ratio", noise_ratio), ("--keep", keep))
        if value is not None
    ]
    if len(asked) > 1:
        raise InputError(f"Give one of --epsilon, --noise-ratio and --keep. Found {' and '.join(asked)}.")
    if protector is not None:
        made = load_protector(protector)
        if embedder is not None:
            made.embedder = embedder
        if epsilon is not None or noise_ratio is not None:
            made = scaled(made, epsilon=epsilon, noise_ratio=noise_ratio)
    else:
        if not asked and mechanism != "identity":
            raise InputError("Say how much noise: --epsilon, --noise-ratio or --keep.")
        made = _plain(mechanism or "", embedder, source, epsilon, noise_ratio)
    if keep is None:
        return made, None
    found = calibrate(made, _first_vectors(source, made), keep)
    return found.protector, found


def _jobs(source: Path, out: Path) -> list[tuple[Path, Path]]:
    """One job a file; a folder gives a folder of the same names."""
    if not source.is_dir():
        return [(source, out)]
    files = sorted(path for path in source.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise InputError(f"{source.name} is a folder without files.")
    out.mkdir(parents=True, exist_ok=True)
    return [(path, out / (path.name.partition(".")[0] + ".parquet")) for path in files]


def _run(
    source: Path, out: Path, made: Protector, keep_columns: list[str], restart: bool, batch: int
) -> Released:
    with progress(source.name, count(source)) as bar:
        return release_file(
            source,
            out,
            made,
            keep_columns=keep_columns,
            restart=restart,
            batch_rows=whole_number(batch, "--batch", 1, 10**6),
            on_rows=lambda rows: bar.advance(bar.task_ids[0], rows),
        )


def command(
    source: InputFile,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="OUT", help="Where to: .parquet, .npy, or a folder for a folder."
        ),
    ],
    protector: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A protector made by `sfumato learn`.")
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(metavar="NAME", help="A mechanism of `sfumato mechanisms`.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="The encoder for texts; a protector knows its own.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Set the noise by epsilon.")] = None,
    noise_ratio: Annotated[
        float | None, typer.Option(help="Set the noise by its length over a vector's.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="The strongest noise that keeps, say, recall@10=0.9 or ndcg=0.95.")
    ] = None,
    keep_columns: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A column to carry over; never `text` unless named."),
    ] = None,
    only_matching: Annotated[
        bool, typer.Option(help="No noise for texts without the concept (which then shows).")
    ] = False,
    secret: SecretOption = None,
    ledger: LedgerOption = None,
    ceiling: Annotated[
        float | None, typer.Option(help="Most epsilon a text may spend in the ledger.")
    ] = None,
    tenant: Annotated[str, typer.Option(help="Sticky noise differs between tenants.")] = "",
    collection: Annotated[str, typer.Option(help="Sticky noise differs between collections.")] = "",
    batch: Annotated[
        int, typer.Option(help="Rows released at a time; a killed run loses at most so many.")
    ] = BATCH_ROWS,
    restart: Annotated[
        bool, typer.Option(help="Throw an unfinished release to OUT away and begin again.")
    ] = False,
    json: JsonOption = None,
) -> None:
    """Release the vectors of a file; a killed run goes on where it stopped when it is run again."""
    jobs = _jobs(source, out)
    made, found = _choose(jobs[0][0], protector, mechanism, embedder, epsilon, noise_ratio, keep)
    key = open_secret(secret)
    made = replace(
        made,
        secret=key,
        ledger=open_ledger(ledger, key, ceiling),
        tenant=tenant,
        collection=collection,
        only_matching=only_matching or made.only_matching,
    )
    done = [_run(one, to, made, keep_columns or [], restart, batch) for one, to in jobs]
    screen = console()
    if found is not None:
        screen.print(
            f"{found.metric} kept {found.kept:.3f} (asked for {found.target:g}) "
            f"at a noise ratio of {found.noise_ratio:.3g}"
        )
    screen.print(made.guarantee.describe())
    for each in done:
        matched = "" if each.matched is None else f", {each.matched} with a concept"
        resumed = f", resumed at row {each.resumed_at}" if each.resumed_at else ""
        screen.print(
            f"{each.output}: {each.rows} rows{matched}{resumed}; manifest {each.manifest.name}",
            highlight=False,
        )
    write_json(
        json,
        {
            "outputs": [
                {
                    "output": str(each.output),
                    "manifest": str(each.manifest),
                    "rows": each.rows,
                    "matched": each.matched,
                }
                for each in done
            ],
            "guarantee": made.guarantee.to_dict(),
            "kept": None
            if found is None
            else {"metric": found.metric, "target": found.target, "kept": found.kept},
        },
    )
