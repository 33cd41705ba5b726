"""What `sfumato attack` is given: rows of files, the victim's protector or mechanism, and its encoder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.cli.options.shared import plain_kind
from sfumato.cli.vectors import by_id
from sfumato.concepts.base import Span
from sfumato.concepts.concept import Concept
from sfumato.concepts.detectors.labelled import Labelled
from sfumato.concepts.texts.labels import labels_of
from sfumato.embedders import EMBEDDERS, load_embedder
from sfumato.errors import InputError
from sfumato.evaluation.calibrate import scaled
from sfumato.evaluation.defence import Defence
from sfumato.inputs import ColumnNames, read
from sfumato.inputs.names import USUAL, no_column
from sfumato.mechanisms import Mechanism
from sfumato.protector import Protector
from sfumato.saving import load_protector
from sfumato.trials.threat import ThreatModel

PlainNoise = tuple[str | None, float | None, float | None, float | None]
"""A mechanism's name, its epsilon or noise ratio, and the longest vector it is made for."""
DEFAULT_EMBEDDER, DEFAULT_DIM = "minilm", 384


@dataclass(frozen=True, slots=True)
class GivenFiles:
    """Which files there are."""

    source: Path
    texts: Path | None
    """The texts behind the vectors in `source`."""
    embeddings: Path | None
    """The vectors of the texts in `source`."""
    train: Path | None
    labels: str | None
    limit: int
    names: ColumnNames = USUAL
    id_column: str | None = None
    """Of the ids that texts and vectors are joined by; None goes by the order of rows."""


@dataclass(frozen=True, slots=True)
class GivenRows:
    """Rows of a file."""

    texts: list[str] | None
    vectors: Any
    showable: list[bool]
    labels: list[Any] | None = None
    """Of each text, where their column was named."""
    spans: list[list[Span]] | None = None
    ids: list[str] | None = None


def _read(path: Path, files: GivenFiles, *, labels: bool = True, ids: bool = False) -> GivenRows:
    """The first rows of a file: texts, spans, vectors, which of them may be shown, labels and ids."""
    texts: list[str] = []
    spans: list[list[Span]] = []
    vectors: list[Any] = []
    showable: list[bool] = []
    columns: dict[str, list[Any]] = {}
    asked = {"--labels": files.labels if labels else None, "--id-column": files.id_column if ids else None}
    marked = False
    for batch in read(path, names=files.names):
        texts += batch.texts or []
        marked = marked or batch.spans is not None
        spans += batch.spans if batch.spans is not None else [[] for _ in batch.texts or []]
        vectors += [] if batch.vectors is None else [batch.vectors]
        showable += [value is True for value in batch.columns.get("showable", [False] * len(batch))]
        for option, name in asked.items():
            if name is not None and name not in batch.columns:
                raise no_column(path.name, name, batch.columns, option)
            columns.setdefault(option, []).extend([] if name is None else batch.columns[name])
        if len(showable) >= files.limit:
            break
    most = files.limit
    found = {option: columns[option][:most] for option, name in asked.items() if name is not None}
    return GivenRows(
        texts[:most] or None,
        np.concatenate(vectors)[:most] if vectors else None,
        showable[:most],
        found.get("--labels"),
        spans[:most] if marked else None,
        [str(each) for each in found["--id-column"]] if ids else None,
    )


def labelled_concept(label: str | None, rows: GivenRows, own: GivenRows | None) -> Concept | None:
    """What --spans names: the labelled terms of these texts, found in others wherever they are written."""
    if label is None:
        return None
    given = [each for each in (rows, own) if each is not None and each.texts and each.spans]
    pairs = [pair for each in given for pair in zip(each.texts or [], each.spans or [], strict=True)]
    asked = Concept.from_spans(label)
    marked = [(text, asked.find(text, spans)) for text, spans in pairs]
    terms = [text[span.start : span.end] for text, spans in marked for span in spans]
    if not terms:
        raise InputError(
            f"No span is labelled {label!r:.60}. Found {_labels_found(pairs)}. Name one of them."
        )
    named = Concept.from_terms(asked.name, terms)
    return replace(named, detector=Labelled(marked, name=asked.found_by, otherwise=named.detector))


def _labels_found(pairs: list[tuple[str, list[Span]]]) -> str:
    found = sorted({span.label for _, spans in pairs for span in spans})
    return f"the labels {', '.join(found[:20])}" if found else "no labelled spans"


def label_map(*given: GivenRows | None) -> dict[str, str]:
    """The label of each text of several files."""
    rows = [each for each in given if each is not None and each.texts and each.labels]
    texts = [text for each in rows for text in each.texts or []]
    return labels_of(texts, [label for each in rows for label in each.labels or []])


def open_victim(
    path: Path | None, mechanism: str | None, epsilon: float | None, ratio: float | None,
    allow_remote: list[str] | None,
) -> Protector | None:  # fmt: skip
    """The protector that was named, after checking that the options go together."""
    if path is not None and mechanism is not None:
        raise InputError("Give either --protector DIR or --mechanism NAME.")
    if epsilon is not None and ratio is not None:
        raise InputError("Give one of --epsilon and --noise-ratio. Found both.")
    if path is None:
        if mechanism is None and (epsilon is not None or ratio is not None):
            raise InputError("--epsilon and --noise-ratio set a mechanism's noise: add --mechanism NAME.")
        return None
    made = load_protector(path, allow_remote=allow_remote or ())
    return made if epsilon is None and ratio is None else scaled(made, epsilon=epsilon, noise_ratio=ratio)


def _or_epsilon(kind: type[Mechanism]) -> str:
    return ", or --epsilon E" if kind.strength == "epsilon" else ", because no epsilon sets it"


def _mechanism(
    name: str | None, epsilon: float | None, ratio: float | None, bound: float | None, dim: int
) -> Mechanism | None:
    if name is None:
        return None
    kind: Any = plain_kind(name)
    longest = {} if bound is None else {"max_norm": bound}
    if not kind.noisy:
        return kind(**longest)  # type: ignore[no-any-return]
    if ratio is not None:
        return kind.from_noise_ratio(ratio, dim=dim, **longest)  # type: ignore[no-any-return]
    if epsilon is None or kind.strength != "epsilon":
        raise InputError(f"Say how much noise {name} adds: --noise-ratio R{_or_epsilon(kind)}.")
    return kind(epsilon=epsilon, **longest)  # type: ignore[no-any-return]


def _encoder(made: Protector | None, named: str | None, needed: bool) -> Any:
    """The victim's encoder: named, the protector's own, or the default where texts have to be embedded."""
    if named is not None:
        return load_embedder(named)
    if made is not None and made.embedder is not None:
        return made.encoder
    return load_embedder(DEFAULT_EMBEDDER) if needed else None


def _threat(
    rows: GivenRows,
    released: Any,
    own: GivenRows | None,
    made: Protector | None,
    noise: PlainNoise,
    named: str | None,
    seed: int,
) -> ThreatModel:
    """Whose vectors are read, and what the attacker holds; see `trials.threat`."""
    given = [each for each in (released, rows.vectors) if each is not None]
    encoder = _encoder(made, named, needed=not given or (own is not None and own.vectors is None))
    plain = None if made else _mechanism(*noise, given[0].shape[1] if given else encoder.dim)
    vectors, defence = rows.vectors, None
    if made is not None:
        defence = Defence.from_protector(made if encoder is None else replace(made, embedder=encoder))
    elif plain is not None:
        defence = Defence(name=plain.name, mechanism=plain, embedder=encoder)
    elif released is None:  # nobody says what these went through: they are read as they are
        released, vectors = vectors, None
    if made is not None and rows.texts is not None and encoder is not None:
        vectors = None  # as `sfumato protect` does, texts are embedded anew
    return ThreatModel(
        texts=rows.texts,
        vectors=vectors,
        released=released,
        defence=defence,
        embedder=encoder,
        own_texts=None if own is None else own.texts,
        own_vectors=None if own is None else own.vectors,
        spans=rows.spans,
        own_spans=None if own is None else own.spans,
        seed=seed,
    )


def _like_the_default(released: Any) -> str | None:
    """The default encoder, where it is installed and gives vectors of this dimension."""
    fits = EMBEDDERS.installed(DEFAULT_EMBEDDER) and released.shape[1] == DEFAULT_DIM
    return DEFAULT_EMBEDDER if fits else None


def gather(
    files: GivenFiles,
    made: Protector | None,
    noise: PlainNoise,
    embedder: str | None,
    seed: int,
) -> tuple[ThreatModel, GivenRows, GivenRows | None]:
    """Read the files: whose vectors are attacked, the rows behind them, and the attacker's own rows."""
    if files.id_column is not None and files.texts is None and files.embeddings is None:
        raise InputError("--id-column joins texts and vectors of two files. Give --texts or --embeddings.")
    if files.texts is not None and files.embeddings is not None:
        raise InputError("With --texts IN holds the vectors. Leave --embeddings out.")
    rows = _read(files.texts or files.source, files, ids=files.id_column is not None)
    own = None if files.train is None else _read(files.train, files)
    if own is not None and own.texts is None:
        raise InputError(f"{files.train} holds no texts. The attacker learns from texts.")
    other = files.source if files.texts is not None else files.embeddings
    released = None if other is None else _vectors_of(other, rows, files)
    if files.texts is not None and (released is None or rows.texts is None):
        raise InputError("With --texts IN has to hold vectors and --texts FILE texts, a row each.")
    if files.texts is not None and embedder is None and made is None:
        embedder = _like_the_default(released)
    threat = _threat(rows, released, own, made, noise, embedder, seed)
    return threat, rows, own


def _vectors_of(path: Path, rows: GivenRows, files: GivenFiles) -> Any:
    """The vectors of rows that another file holds: by id where ids were named, else in order."""
    if rows.ids is not None:
        return by_id(path, f"`{path.name}`", rows.ids, str(files.id_column), files.names)
    return _read(path, files, labels=False).vectors
