"""`sfumato protect`: release the vectors of a file, or of a folder of Parquet files."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.cli.options.protect import (
    AddressOption,
    BatchOption,
    CeilingOption,
    CollectionOption,
    EmbedderOption,
    EngineOption,
    EpsilonOption,
    IdColumnOption,
    KeepColumnsOption,
    KeepOption,
    MechanismOption,
    NoiseRatioOption,
    OnlyMatchingOption,
    OutOption,
    ProtectorOption,
    RestartOption,
    SourceArgument,
    TenantOption,
    WorkersOption,
)
from sfumato.cli.options.shared import (
    AccountingOption,
    AllowRemoteOption,
    CeilingAdvantageOption,
    LedgerDistanceOption,
    LedgerOption,
    SecretOption,
    plain_kind,
    reference,
)
from sfumato.cli.output import JsonOption, console, results_folder, write_json
from sfumato.cli.progress import progress
from sfumato.concepts.languages.coverage import Unread, unread, warn_unread
from sfumato.embedders import load_embedder
from sfumato.errors import InputError, SfumatoError
from sfumato.evaluation.calibrate import Calibrated, calibrate, scaled
from sfumato.inputs import count, read
from sfumato.learned import Learned
from sfumato.numbers import whole_number
from sfumato.protector import Protector
from sfumato.reference import ProtectorReference, absolute_place
from sfumato.scale.outputs import ReleaseSummary
from sfumato.scale.places import folder
from sfumato.scale.release import BATCH_ROWS, release_file, release_folder
from sfumato.scale.sources import files_of, first_rows, is_parquet_folder, row_count

NAME = "protect"
EXAMPLE = (
    "Examples: sfumato protect notes.jsonl --protector places -o notes.parquet  |  "
    "sfumato protect vectors.npy --mechanism laplace --noise-ratio 0.5 -o released.npy  |  "
    "sfumato protect s3://bucket/vectors --protector places --secret key -o s3://bucket/released"
)


def _first_vectors(source: str, protector: Protector) -> Any:
    batch = first_rows(folder(source), 2000) if is_parquet_folder(source) else next(read(source, batch=2000))
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


def _run(source: Path, out: Path, made: Protector, batch: int, **options: Any) -> ReleaseSummary:
    batch_rows = whole_number(batch, "--batch", 1, 10**6)
    with progress(source.name, count(source), rate="rows") as bar:
        told = partial(bar.advance, bar.task_ids[0])
        return release_file(source, out, made, batch_rows=batch_rows, on_rows=told, **options)


def _run_folder(
    source: str, out: str, made: Protector, place: ProtectorReference, **options: Any
) -> ReleaseSummary:
    places: Any = {name: absolute_place(getattr(place, name)) or None for name in ("secret", "ledger")}
    alone = made.without_accounting()
    with progress("protecting", row_count(folder(source)), rate="rows") as bar:
        told = partial(bar.advance, bar.task_ids[0])
        names = ("ceiling", "counting", "ceiling_advantage", "distance")
        counted: Any = {name: getattr(place, name) for name in names}
        return release_folder(source, out, alone, **places, **counted, on_rows=told, **options)


def _warn_of_languages(sources: list[str], made: Protector, *, whole: bool) -> None:
    """Say once which texts no detector reads; of a folder of Parquet files the first rows are looked at."""
    if made.embedder is None or not any(concept.languages for concept in made.concepts):
        return
    found = Unread()
    for source in sources:
        with suppress(SfumatoError):  # the release itself says what is wrong with a file
            for batch in [first_rows(folder(source), 2000)] if whole else read(source):
                if batch.texts is None:
                    break
                found.add(unread(batch.texts, made.concepts, first_row=batch.first_row))
    warn_unread(found)


def _only_for(name: str, values: dict[str, object]) -> None:
    given = [option for option, value in values.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} is for {name}.")


def command(
    source: SourceArgument,
    out: OutOption,
    protector: ProtectorOption = None,
    mechanism: MechanismOption = None,
    embedder: EmbedderOption = None,
    epsilon: EpsilonOption = None,
    noise_ratio: NoiseRatioOption = None,
    keep: KeepOption = None,
    keep_columns: KeepColumnsOption = None,
    only_matching: OnlyMatchingOption = False,
    allow_remote: AllowRemoteOption = None,
    secret: SecretOption = None,
    ledger: LedgerOption = None,
    ceiling: CeilingOption = None,
    accounting: AccountingOption = None,
    ceiling_advantage: CeilingAdvantageOption = None,
    distance: LedgerDistanceOption = None,
    tenant: TenantOption = "",
    collection: CollectionOption = "",
    batch: BatchOption = BATCH_ROWS,
    id_column: IdColumnOption = None,
    workers: WorkersOption = None,
    engine: EngineOption = "processes",
    address: AddressOption = None,
    restart: RestartOption = False,
    json: JsonOption = None,
) -> None:
    """Release the vectors of a file or folder; a killed run goes on where it stopped when it is run again."""
    whole = is_parquet_folder(source)
    files = [] if whole else files_of(Path(source), Path(out))
    if not whole:
        _only_for("a folder of Parquet files", {
            "--id-column": id_column, "--workers": workers, "--address": address,
            "--engine": None if engine == "processes" else engine,
        })  # fmt: skip
    place = reference(
        protector, secret=secret, ledger=ledger, ceiling=ceiling, tenant=tenant, collection=collection,
        accounting=accounting, ceiling_advantage=ceiling_advantage, distance=distance,
    )  # fmt: skip
    first = source if whole else str(files[0][0])
    made, found = _choose(first, protector, mechanism, embedder, epsilon, noise_ratio, keep, allow_remote)
    made = replace(made, only_matching=only_matching or made.only_matching)
    made = place.equip(made, create=True)
    _warn_of_languages([first] if whole else [str(one) for one, _ in files], made, whole=whole)
    again: Any = {"keep_columns": keep_columns or [], "restart": restart}
    if whole:
        workers_only = {"id_column": id_column, "workers": workers, "engine": engine, "address": address}
        done = [_run_folder(source, out, made, place, **workers_only, **again)]
    else:
        with results_folder(Path(out)) if Path(source).is_dir() else nullcontext():
            done = [_run(one, to, made, batch, **again) for one, to in files]
    _show(done, made, found, whole=whole)
    write_json(json, _facts(done, made, found))


def _show(done: list[ReleaseSummary], made: Protector, found: Calibrated | None, *, whole: bool) -> None:
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
        if whole:
            said.append(f"{each.parts} parts")
            said += [f"{each.resumed} of them by an earlier run"] if each.resumed else []
        elif each.resumed:
            said.append("by an earlier run")
        elif each.resumed_rows:
            said.append(f"resumed at row {each.resumed_rows}")
        name = each.manifest.rpartition("/")[2]
        screen.print(f"{each.output}: {', '.join(said)}; manifest {name}", highlight=False)


def _facts(done: list[ReleaseSummary], made: Protector, found: Calibrated | None) -> dict[str, Any]:
    names = ("output", "manifest", "rows", "matched", "parts", "resumed")
    outputs = [{name: getattr(each, name) for name in names} for each in done]
    kept = None if found is None else {"metric": found.metric, "target": found.target, "kept": found.kept}
    return {"outputs": outputs, "guarantee": made.guarantee.to_dict(), "kept": kept}
