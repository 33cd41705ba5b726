"""`sfumato protect`: release the vectors of a file, or of a folder of Parquet files."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.options import AllowRemoteOption, LedgerOption, SecretOption, plain_kind, reference
from sfumato.cli.output import JsonOption, checked_output, console, progress, results_folder, write_json
from sfumato.embedders import load_embedder
from sfumato.errors import InputError
from sfumato.evaluation.calibrate import Calibrated, calibrate, scaled
from sfumato.inputs import count, read
from sfumato.learned import Learned
from sfumato.numbers import whole_number
from sfumato.protector import Protector
from sfumato.reference import absolute_place
from sfumato.scale.folder import ReleasedFolder, release_folder
from sfumato.scale.job import first_rows, row_count
from sfumato.scale.places import folder
from sfumato.scale.release import BATCH_ROWS, Released, release_file

NAME = "protect"
EXAMPLE = (
    "Examples: sfumato protect notes.jsonl --protector places -o notes.parquet  |  "
    "sfumato protect vectors.npy --mechanism laplace --noise-ratio 0.5 -o released.npy  |  "
    "sfumato protect s3://bucket/vectors --protector places --secret key -o s3://bucket/released"
)


def _first_vectors(source: str, protector: Protector) -> Any:
    batch = first_rows(folder(source), 2000) if _is_folder(source) else next(read(source, batch=2000))
    if batch.texts is not None and protector.embedder is not None:
        return protector.prepare(batch.texts, spans=batch.spans).vectors
    if batch.vectors is not None:
        return batch.vectors
    raise InputError(f"{source} has no vectors to calibrate on.")


def _plain(
    name: str, embedder: str | None, source: str, epsilon: float | None, ratio: float | None
) -> Protector:
    """A protector that is a mechanism and nothing else."""
    kind: Any = plain_kind(name)
    # Sticky noise depends on the encoder: one noise on two embeddings of a text gives away their difference.
    learned = Learned(model_id=None if embedder is None else load_embedder(embedder).model_id)
    if not kind.noisy:
        if epsilon is not None or ratio is not None:
            raise InputError(f"{name} adds no noise. Leave --epsilon and --noise-ratio out.")
        return Protector(kind(), embedder, normalise=False, learned=learned)
    if epsilon is not None and kind.strength != "epsilon":
        raise InputError(f"{name} is not set by an epsilon. Use --noise-ratio or --keep.")
    if epsilon is not None:
        return Protector(kind(epsilon=epsilon), embedder, normalise=False, learned=learned)
    start = Protector(kind(**{kind.strength: 1.0}), embedder, normalise=False, learned=learned)
    if ratio is None:
        return start
    width = _first_vectors(source, start).shape[1]
    made = kind.from_noise_ratio(ratio, dim=width)
    return replace(start, mechanism=made, learned=replace(learned, dim=width))


def _choose(
    source: str, protector: Path | None, mechanism: str | None, embedder: str | None,
    epsilon: float | None, noise_ratio: float | None, keep: str | None, allow_remote: list[str] | None,
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
        made = reference(protector, allow_remote=allow_remote).open(embedder=embedder)
        if epsilon is not None or noise_ratio is not None:
            made = scaled(made, epsilon=epsilon, noise_ratio=noise_ratio)
    else:
        if not asked and plain_kind(mechanism or "").noisy:
            raise InputError("Say how much noise: --epsilon, --noise-ratio or --keep.")
        made = _plain(mechanism or "", embedder, source, epsilon, noise_ratio)
    if keep is None:
        return made, None
    found = calibrate(made, _first_vectors(source, made), keep)
    return found.protector, found


def _is_folder(source: str) -> bool:
    """Whether this is a folder of Parquet files, to be released row group by row group."""
    if "://" in source:
        return True
    found = Path(source)
    return found.is_dir() and next(found.rglob("*.parquet"), None) is not None


def _jobs(source: Path, out: Path) -> list[tuple[Path, Path]]:
    """One job a file; a folder gives a folder of the same names."""
    if not source.is_dir():
        return [(source, out)]
    files = sorted(path for path in source.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise InputError(f"{source.name} is a folder without files.")
    jobs = {out / (path.name.partition(".")[0] + ".parquet"): path for path in files}
    if len(jobs) < len(files):
        twice = next(path for path in files if path not in jobs.values())
        raise InputError(f"{source.name} holds several files named {twice.stem!r}. Rename all but one.")
    return [(path, to) for to, path in jobs.items()]


def _run(
    source: Path, out: Path, made: Protector, keep_columns: list[str], restart: bool, batch: int
) -> Released:
    with progress(source.name, count(source), rate="rows") as bar:
        return release_file(
            source,
            out,
            made,
            keep_columns=keep_columns,
            restart=restart,
            batch_rows=whole_number(batch, "--batch", 1, 10**6),
            on_rows=lambda rows: bar.advance(bar.task_ids[0], rows),
        )


def _run_folder(source: str, out: str, made: Protector, **options: Any) -> ReleasedFolder:
    with progress("protecting", row_count(folder(source)), rate="rows") as bar:
        return release_folder(
            source, out, made, on_rows=lambda rows: bar.advance(bar.task_ids[0], rows), **options
        )


def _only_for(name: str, values: dict[str, object]) -> None:
    given = [option for option, value in values.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} is for {name}.")


def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="Texts or vectors: .txt, .jsonl, .csv, .tsv, .parquet or .npy, or a folder of Parquet "
            "files, also by address (s3://...).",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="Where to: .parquet, .npy, or a folder for a folder.",
            callback=checked_output,
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
    allow_remote: AllowRemoteOption = None,
    secret: SecretOption = None,
    ledger: LedgerOption = None,
    ceiling: Annotated[
        float | None, typer.Option(help="Most epsilon a text may spend in the ledger.")
    ] = None,
    tenant: Annotated[str, typer.Option(help="Sticky noise differs between tenants.")] = "",
    collection: Annotated[str, typer.Option(help="Sticky noise differs between collections.")] = "",
    batch: Annotated[
        int, typer.Option(help="Rows of a file released at a time; a killed run loses at most so many.")
    ] = BATCH_ROWS,
    id_column: Annotated[
        str | None, typer.Option(help="Folders: the column that tells rows apart for sticky noise.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Folders: how many processes or Ray workers; every core if not said.")
    ] = None,
    engine: Annotated[str, typer.Option(help="Folders: `processes` or `ray`.")] = "processes",
    address: Annotated[
        str | None, typer.Option(help="The Ray cluster; one is started here if not said.")
    ] = None,
    restart: Annotated[
        bool, typer.Option(help="Throw an unfinished release to OUT away and begin again.")
    ] = False,
    json: JsonOption = None,
) -> None:
    """Release the vectors of a file or folder; a killed run goes on where it stopped when it is run again."""
    whole = _is_folder(source)
    jobs = [] if whole else _jobs(Path(source), Path(out))
    if not whole:
        _only_for("a folder of Parquet files", {
            "--id-column": id_column, "--workers": workers, "--address": address,
            "--engine": None if engine == "processes" else engine,
        })  # fmt: skip
    place = reference(
        protector, secret=secret, ledger=ledger, ceiling=ceiling, tenant=tenant, collection=collection
    )
    made, found = _choose(
        source if whole else str(jobs[0][0]), protector, mechanism, embedder, epsilon, noise_ratio, keep,
        allow_remote,
    )  # fmt: skip
    made = replace(made, only_matching=only_matching or made.only_matching)
    made = place.equip(made, create=True)
    done: list[Released | ReleasedFolder] = []
    if whole:
        done = [
            _run_folder(
                source, out, made.without_accounting(),
                secret=absolute_place(place.secret) or None,
                ledger=absolute_place(place.ledger) or None, ceiling=ceiling,
                keep_columns=keep_columns or [], id_column=id_column, workers=workers, engine=engine,
                address=address, restart=restart,
            )
        ]  # fmt: skip
    else:
        with results_folder(Path(out)) if Path(source).is_dir() else nullcontext():
            done = [_run(one, to, made, keep_columns or [], restart, batch) for one, to in jobs]
    _show(done, made, found)
    write_json(json, _facts(done, made, found))


def _show(done: list[Released | ReleasedFolder], made: Protector, found: Calibrated | None) -> None:
    screen = console()
    if found is not None:
        screen.print(
            f"{found.metric} kept {found.kept:.3f} (asked for {found.target:g}) "
            f"at a noise ratio of {found.noise_ratio:.3g}"
        )
    screen.print(made.guarantee.describe())
    for each in done:
        said = [f"{each.rows} rows"]
        if each.matched is not None:
            said.append(f"{each.matched} with a concept")
        if isinstance(each, ReleasedFolder):
            said.append(f"{each.parts} parts")
            said += [f"{each.resumed} of them by an earlier run"] if each.resumed else []
        elif each.resumed_at:
            said.append(f"resumed at row {each.resumed_at}")
        name = str(each.manifest).rpartition("/")[2]
        screen.print(f"{each.output}: {', '.join(said)}; manifest {name}", highlight=False)


def _facts(
    done: list[Released | ReleasedFolder], made: Protector, found: Calibrated | None
) -> dict[str, Any]:
    outputs = [
        {
            "output": str(each.output),
            "manifest": str(each.manifest),
            "rows": each.rows,
            "matched": each.matched,
            **({"parts": each.parts, "resumed": each.resumed} if isinstance(each, ReleasedFolder) else {}),
        }
        for each in done
    ]
    kept = None if found is None else {"metric": found.metric, "target": found.target, "kept": found.kept}
    return {"outputs": outputs, "guarantee": made.guarantee.to_dict(), "kept": kept}
