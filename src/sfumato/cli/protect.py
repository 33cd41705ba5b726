"""`sfumato protect`: release the vectors of a file, or of a folder of Parquet files."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.certifying import certificate_or_none, release_words
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
    MaxNormOption,
    SecretOption,
    TextColumnOption,
    VectorColumnOption,
    bound_given,
    column_names,
    plain_kind,
    reference,
)
from sfumato.cli.output import JsonOption, console, results_folder, write_json
from sfumato.cli.progress import progress
from sfumato.concepts.languages.coverage import Unread, unread, warn_unread
from sfumato.embedders import load_embedder
from sfumato.errors import InputError, SfumatoError
from sfumato.evaluation.calibrate import Calibrated, calibrate, scaled
from sfumato.files import LEAST_ROOM, require_room
from sfumato.inputs import ColumnNames, count, read
from sfumato.learned import Learned
from sfumato.numbers import whole_number
from sfumato.protector import Protector
from sfumato.queries import WHAT_IS_LOST
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


def _first_vectors(source: str, protector: Protector, names: ColumnNames) -> Any:
    if is_parquet_folder(source):
        batch = first_rows(folder(source), 2000, names)
    else:
        batch = next(read(source, batch=2000, names=names))
    if batch.texts is not None and protector.embedder is not None:
        return protector.prepare(batch.texts, spans=batch.spans).vectors
    if batch.vectors is not None:
        return batch.vectors
    raise InputError(f"{source} has no vectors to calibrate on.")


def _plain(
    name: str,
    embedder: str | None,
    source: str,
    epsilon: float | None,
    ratio: float | None,
    names: ColumnNames,
    max_norm: float = 1.0,
) -> Protector:
    """A protector that is a mechanism and nothing else."""
    kind: Any = plain_kind(name)
    # Sticky noise depends on the encoder: one noise on two embeddings of a text gives away their difference.
    learned = Learned(model_id=None if embedder is None else load_embedder(embedder).model_id)
    if not kind.noisy:
        if epsilon is not None or ratio is not None:
            raise InputError(f"{name} adds no noise. Leave --epsilon and --noise-ratio out.")
        return Protector(kind(max_norm=max_norm), embedder, normalise=False, learned=learned)
    if epsilon is not None and kind.strength != "epsilon":
        raise InputError(f"{name} is not set by an epsilon. Use --noise-ratio or --keep.")
    if epsilon is not None:
        return Protector(kind(epsilon=epsilon, max_norm=max_norm), embedder, normalise=False, learned=learned)
    start = Protector(
        kind(**{kind.strength: 1.0}, max_norm=max_norm), embedder, normalise=False, learned=learned
    )
    if ratio is None:
        return start
    width = _first_vectors(source, start, names).shape[1]
    made = kind.from_noise_ratio(ratio, dim=width, max_norm=max_norm)
    return replace(start, mechanism=made, learned=replace(learned, dim=width))


def _choose(
    source: str, protector: Path | None, mechanism: str | None, embedder: str | None,
    epsilon: float | None, noise_ratio: float | None, keep: str | None, allow_remote: list[str] | None,
    names: ColumnNames, max_norm: float | None,
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
        made = _plain(mechanism or "", embedder, source, epsilon, noise_ratio, names, max_norm or 1.0)
    if keep is None:
        return made, None
    found = calibrate(made, _first_vectors(source, made, names), keep)
    return found.protector, found


def _run(source: Path, out: Path, made: Protector, batch: int, **options: Any) -> ReleaseSummary:
    batch_rows, rows = whole_number(batch, "--batch", 1, 10**6), count(source)
    if rows is not None and made.dim is not None:
        drafts = out.with_name(f".{out.name}.parts")
        done = sum(path.stat().st_size for path in drafts.glob("*.parquet"))
        # Every number stands in a draft and in the output before the drafts go.
        require_room(out, max(LEAST_ROOM, 2 * 4 * rows * made.dim - done))
    with progress(source.name, rows, rate="rows") as bar:
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


def _warn_of_languages(sources: list[str], made: Protector, names: ColumnNames, *, whole: bool) -> None:
    """Say once which texts no detector reads; of a folder of Parquet files the first rows are looked at."""
    if made.embedder is None or not any(concept.languages for concept in made.concepts):
        return
    found = Unread()
    for source in sources:
        with suppress(SfumatoError):  # the release itself says what is wrong with a file
            for batch in [first_rows(folder(source), 2000, names)] if whole else read(source, names=names):
                if batch.texts is None:
                    break
                found.add(unread(batch.texts, made.concepts, first_row=batch.first_row))
    warn_unread(found)


def _only_for_folders(values: dict[str, object]) -> None:
    given = [option for option, value in values.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} is for a folder of Parquet files.")


def command(
    source: SourceArgument,
    out: OutOption,
    protector: ProtectorOption = None,
    mechanism: MechanismOption = None,
    embedder: EmbedderOption = None,
    epsilon: EpsilonOption = None,
    noise_ratio: NoiseRatioOption = None,
    keep: KeepOption = None,
    max_norm: MaxNormOption = None,
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
    text_column: TextColumnOption = None,
    vector_column: VectorColumnOption = None,
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
        own_engine = None if engine == "processes" else engine
        _only_for_folders({"--workers": workers, "--address": address, "--engine": own_engine})
    place = reference(
        protector, secret=secret, ledger=ledger, ceiling=ceiling, tenant=tenant, collection=collection,
        accounting=accounting, ceiling_advantage=ceiling_advantage, distance=distance,
    )  # fmt: skip
    first = source if whole else str(files[0][0])
    names = column_names(text_column, vector_column)
    bound = bound_given(max_norm, mechanism)
    made, found = _choose(
        first, protector, mechanism, embedder, epsilon, noise_ratio, keep, allow_remote, names, bound
    )  # fmt: skip
    made = place.equip(replace(made, only_matching=only_matching or made.only_matching), create=True)
    _warn_of_languages([first] if whole else [str(one) for one, _ in files], made, names, whole=whole)
    again: Any = {
        "keep_columns": keep_columns or [], "id_column": id_column, "names": names, "restart": restart
    }  # fmt: skip
    if whole:
        workers_only = {"workers": workers, "engine": engine, "address": address}
        done = [_run_folder(source, out, made, place, **workers_only, **again)]
    else:
        with results_folder(Path(out)) if Path(source).is_dir() else nullcontext():
            done = [_run(one, to, made, batch, **again) for one, to in files]
    _show(done, made, found, _width(first, made, names), whole=whole)
    write_json(json, _facts(done, made, found))


def _width(first: str, made: Protector, names: ColumnNames) -> int | None:
    """The dimension of vectors from elsewhere, where the protector does not know it."""
    bare = made.dim is None and made.embedder is None
    return _first_vectors(first, made, names).shape[1] if bare else None


def _show(
    done: list[ReleaseSummary], made: Protector, found: Calibrated | None, width: int | None, *, whole: bool
) -> None:
    screen = console()
    if found is not None:
        screen.print(
            f"{found.metric} kept {found.kept:.3f} (asked for {found.target:g}) "
            f"at a noise ratio of {found.noise_ratio:.3g}"
        )
    screen.print(release_words(made, width), highlight=False, markup=False)
    screen.print(made.guarantee.describe())
    if made.embeds_neutral and any(each.matched for each in done):
        screen.print(WHAT_IS_LOST, highlight=False, markup=False)
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
    certified = certificate_or_none(made)
    return {
        "outputs": outputs, "certificate": certified, "guarantee": made.guarantee.to_dict(), "kept": kept
    }  # fmt: skip
