"""`sfumato learn`: learn where a concept lives and save a protector."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from sfumato.artifacts import require_free
from sfumato.certifying import release_words
from sfumato.cli.options.learn import (
    BackgroundOption,
    CacheOption,
    ConceptOption,
    EmbedderOption,
    EpsilonOption,
    ForceOption,
    HideContextOption,
    HideMissedOption,
    HidePresenceOption,
    KindOption,
    LimitOption,
    NeutralByOption,
    NeutralOption,
    NoiseRatioOption,
    OnlyMatchingOption,
    OriginOption,
    OutOption,
    RecallOption,
    SampleOption,
    ShapeOption,
    SpansOption,
    StrengthOption,
    TermsOption,
    TruthSpansOption,
    WideOption,
)
from sfumato.cli.options.shared import InputFile, TextColumnOption, column_names, named_concepts
from sfumato.cli.output import JsonOption, console, kept_elsewhere, write_json
from sfumato.cli.progress import grow, progress
from sfumato.cli.sample import at_recall
from sfumato.concepts.base import Span
from sfumato.concepts.concept import Concept
from sfumato.embedders import load_embedder
from sfumato.embedders.base import Embedder
from sfumato.embedders.cache import CachedEmbedder, CacheFolder
from sfumato.errors import InputError
from sfumato.inputs import ColumnNames, read, read_texts
from sfumato.learning import LearnSettings, learn
from sfumato.protector import NEUTRAL_COPIES, Protector
from sfumato.queries import WHAT_IS_LOST
from sfumato.saving import save_protector
from sfumato.sensitivity.background import Background
from sfumato.sensitivity.shipped import read_background

NAME = "learn"
EXAMPLE = (
    "Examples: sfumato learn notes.jsonl --concept location -o places  |  "
    "sfumato learn notes.csv --terms drugs.txt --shape mask -o drugs"
)

_WAYS = {
    "removal": "without it",
    "placeholder": "with a neutral word in its place",
    "soft": "with one soft token in its place, the mean of {} public terms",
    "copies": "as the mean of {} neutral copies",
}


def _read_all(path: Path, limit: int, names: ColumnNames) -> tuple[list[str], list[list[Span]] | None]:
    texts: list[str] = []
    spans: list[list[Span]] = []
    labelled = False
    for batch in read(path, need="text", names=names):
        if batch.texts is None:
            raise InputError(f"{path.name} holds no texts. Learning needs texts.")
        texts += batch.texts
        labelled = labelled or batch.spans is not None
        spans += batch.spans if batch.spans is not None else [[] for _ in batch.texts]
        if len(texts) >= limit:
            break
    return texts, spans if labelled else None


@contextmanager
def _remembering(place: CacheFolder, encoder: Embedder, *, keep: bool) -> Iterator[CachedEmbedder]:
    """The encoder with a cache that a killed run leaves for the next; one that holds nothing goes at once."""
    cached = place.remembering(encoder)
    try:
        yield cached
    except BaseException:
        if not (keep or len(cached)):
            place.remove()
        raise


def _learned(
    texts: list[str],
    wanted: list[Concept],
    encoder: Embedder,
    place: CacheFolder,
    *,
    keep: bool,
    **given: Any,
) -> Protector:
    """Learn with a bar, and with a cache that the protector does not keep."""
    with (
        _remembering(place, encoder, keep=keep) as cached,
        progress("looking for concepts", None, rate="texts") as bar,
    ):
        made = learn(
            texts,
            wanted,
            embedder=cached,
            on_step=lambda label, count: bar.advance(bar.task_ids[0], count),
            on_total=lambda total: grow(bar, "learning", total),
            **given,
        )
    return dataclasses.replace(made, embedder=encoder)


def _show(protector: Protector, out: Path) -> None:
    screen = console()
    for name, figures in protector.learned.concepts.items():
        screen.print(
            f"{name}: "
            + ", ".join(
                f"{key.replace('_', ' ')} {round(value, 2) if isinstance(value, float) else value}"
                for key, value in figures.items()
                if not isinstance(value, dict | list)
            )
        )
    mechanism = protector.mechanism
    screen.print(
        f"noise ratio {mechanism.noise_ratio():.2f}, cosine kept about {mechanism.cosine_kept():.2f} "
        "before the public filter"
        if protector.background is not None
        else f"noise ratio {mechanism.noise_ratio():.2f}, cosine kept about {mechanism.cosine_kept():.2f}"
    )
    if loss := protector.learned.loss_over_substitutions:
        screen.print(
            f"privacy loss when one term is put for another: median {loss['median']:.3g}, "
            f"95 % {loss['p95']:.3g}, max {loss['max']:.3g}"
        )
    if protector.concepts and protector.neutral:
        screen.print(
            f"texts with a concept are embedded {_WAYS[protector.neutral_by].format(protector.neutral)}, "
            "so a term that is found does not enter its vector"
        )
        screen.print(WHAT_IS_LOST, highlight=False, markup=False)
    if (eraser := protector.eraser) is not None:
        screen.print(
            f"{eraser.directions} directions are taken out of every release: {eraser.presence} that show a "
            f"concept was there, {eraser.context} that foretell its term, {eraser.missed} that tell names"
        )
    screen.print(release_words(protector), highlight=False, markup=False)
    screen.print(protector.guarantee.describe())
    screen.print(
        f"in the worst direction of Euclidean distance: epsilon {protector.guarantee.worst_case_l2:.6g}"
    )
    screen.print(f"\nProtector: {out}", highlight=False)


def _ordinary(given: Path | None, names: ColumnNames, encoder: Embedder) -> list[str] | Background | None:
    """Ordinary texts from a file, or how they spread from a folder that was made for this encoder."""
    if given is None:
        return None
    if given.is_dir():
        return read_background(given, encoder.model_id)
    return read_texts(given, names)


def command(
    source: InputFile,
    out: OutOption,
    text_column: TextColumnOption = None,
    concept: ConceptOption = None,
    terms: TermsOption = None,
    spans: SpansOption = None,
    wide: WideOption = False,
    recall: RecallOption = None,
    sample: SampleOption = None,
    truth_spans: TruthSpansOption = None,
    shape: ShapeOption = "ellipsoid",
    embedder: EmbedderOption = "minilm",
    kind: KindOption = "sharp",
    strength: StrengthOption = None,
    epsilon: EpsilonOption = None,
    noise_ratio: NoiseRatioOption = None,
    neutral: NeutralOption = NEUTRAL_COPIES,
    neutral_by: NeutralByOption = "placeholder",
    only_matching: OnlyMatchingOption = False,
    hide_presence: HidePresenceOption = False,
    hide_context: HideContextOption = 0,
    hide_missed: HideMissedOption = 0,
    background: BackgroundOption = None,
    origin: OriginOption = "unknown",
    limit: LimitOption = 4000,
    cache: CacheOption = None,
    force: ForceOption = False,
    json: JsonOption = None,
) -> None:
    """Learn where a concept lives in an encoder's vectors, and save a protector."""
    settings = LearnSettings(
        shape=cast("Any", shape), kind=cast("Any", kind), strength=strength, epsilon=epsilon,
        noise_ratio=noise_ratio, neutral=neutral, neutral_by=cast("Any", neutral_by),
        only_matching=only_matching, hide_presence=hide_presence, hide_context=hide_context,
        hide_missed=hide_missed, source=cast("Any", origin), limit=limit,
    )  # fmt: skip
    require_free(out, replace=force)
    names = column_names(text_column)
    wanted, recalled = at_recall(
        named_concepts(concept, terms, spans, wide=wide), recall, sample, truth_spans, names
    )
    texts, labelled = _read_all(source, max(50_000, 10 * limit), names)
    encoder = load_embedder(embedder)
    ordinary = _ordinary(background, names, encoder)
    place = CacheFolder(out.with_name(f".{out.name}.learning") if cache is None else cache)
    given: Any = {"spans": labelled, "background": ordinary, "settings": settings}
    made = _learned(texts, wanted, encoder, place, keep=cache is not None, **given)
    require_free(out, replace=force)  # another run may have been there meanwhile
    with kept_elsewhere(out, lambda other: save_protector(made, other)):
        digest = save_protector(made, out)
    if cache is None:
        place.remove()
    _show(made, out)
    record = {"guarantee": made.guarantee.to_dict(), "learned": made.learned.to_dict()}
    found = {} if recalled is None else {"recall": recalled}
    write_json(json, {"protector": str(out), "digest": digest} | record | found)
