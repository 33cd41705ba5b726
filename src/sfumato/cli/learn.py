"""`sfumato learn`: learn where a concept lives and save a protector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.artifacts import require_free
from sfumato.cli.options import InputFile, named_concepts
from sfumato.cli.output import JsonOption, checked_output, console, progress, write_json
from sfumato.concepts.base import Span
from sfumato.errors import InputError
from sfumato.inputs import read, read_texts
from sfumato.learning import LearnSettings, learn
from sfumato.protector import NEUTRAL_COPIES, Protector
from sfumato.saving import save_protector

NAME = "learn"
EXAMPLE = (
    "Examples: sfumato learn notes.jsonl --concept location -o places  |  "
    "sfumato learn notes.csv --terms drugs.txt --shape mask -o drugs"
)


def _read_all(path: Path, limit: int) -> tuple[list[str], list[list[Span]] | None]:
    texts: list[str] = []
    spans: list[list[Span]] = []
    labelled = False
    for batch in read(path, need="text"):
        if batch.texts is None:
            raise InputError(f"{path.name} holds no texts. Learning needs texts.")
        texts += batch.texts
        labelled = labelled or batch.spans is not None
        spans += batch.spans if batch.spans is not None else [[] for _ in batch.texts]
        if len(texts) >= limit:
            break
    return texts, spans if labelled else None


def _show(protector: Protector, out: Path) -> None:
    screen = console()
    for name, figures in protector.learned.concepts.items():
        screen.print(
            f"{name}: "
            + ", ".join(
                f"{key.replace('_', ' ')} {value}"
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
    screen.print(protector.guarantee.describe())
    screen.print(
        f"in the worst direction of Euclidean distance: epsilon {protector.guarantee.worst_case_l2:.6g}"
    )
    if loss := protector.learned.loss_over_substitutions:
        screen.print(
            f"privacy loss when one term is put for another: median {loss['median']:.3g}, "
            f"95 % {loss['p95']:.3g}, max {loss['max']:.3g}"
        )
    if protector.concepts and protector.neutral:
        screen.print(
            f"texts with a concept are embedded as the mean of {protector.neutral} neutral copies, "
            "so a term that is found does not enter its vector"
        )
    screen.print(f"\nProtector: {out}", highlight=False)


def command(
    source: InputFile,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="DIR", help="Folder for the protector.", callback=checked_output),
    ],
    concept: Annotated[
        list[str] | None, typer.Option(help="A concept of the catalog; may be repeated.")
    ] = None,
    terms: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A file of terms, one a line.")
    ] = None,
    spans: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="A label of the spans in IN.")
    ] = None,
    shape: Annotated[
        str, typer.Option(help="ellipsoid (any direction) or mask (SPARSE, along axes).")
    ] = "ellipsoid",
    embedder: Annotated[
        str, typer.Option(help="An encoder: a name of `sfumato embedders`, or a path.")
    ] = "minilm",
    kind: Annotated[
        str, typer.Option(help="How an ellipsoid follows the concept: sharp, water or blend.")
    ] = "sharp",
    strength: Annotated[
        float | None, typer.Option(help="How strongly it follows; sharp: 10, or 5 beside neutral copies.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Set the noise by epsilon.")] = None,
    noise_ratio: Annotated[
        float | None, typer.Option(help="Set the noise by its length over a vector's.")
    ] = None,
    neutral: Annotated[
        int, typer.Option(help="Neutral copies embedded for a text with a concept; 0 for none.")
    ] = NEUTRAL_COPIES,
    only_matching: Annotated[
        bool, typer.Option(help="No noise for texts without the concept (which then shows).")
    ] = False,
    background: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ordinary texts; default: those of IN without it.")
    ] = None,
    origin: Annotated[
        str, typer.Option(help="What IN is: public, synthetic, private or unknown; kept on record.")
    ] = "unknown",
    limit: Annotated[int, typer.Option(help="Most texts with a concept to learn from.")] = 4000,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the protector that DIR already holds.")
    ] = False,
    json: JsonOption = None,
) -> None:
    """Learn where a concept lives in an encoder's vectors, and save a protector."""
    settings = LearnSettings(
        shape=shape,  # type: ignore[arg-type]
        kind=kind,  # type: ignore[arg-type]
        strength=strength,
        epsilon=epsilon,
        noise_ratio=noise_ratio,
        neutral=neutral,
        only_matching=only_matching,
        source=origin,  # type: ignore[arg-type]
        limit=limit,
    )
    require_free(out, replace=force)
    wanted = named_concepts(concept, terms, spans)
    texts, labelled = _read_all(source, max(50_000, 10 * limit))
    ordinary = read_texts(background) if background is not None else None
    with progress("embedding", None) as bar:
        made = learn(
            texts,
            wanted,
            embedder=embedder,
            spans=labelled,
            background=ordinary,
            settings=settings,
            on_step=lambda label, count: bar.advance(bar.task_ids[0], count),
        )
    require_free(out, replace=force)  # another run may have been there meanwhile
    digest = save_protector(made, out)
    _show(made, out)
    write_json(
        json,
        {
            "protector": str(out),
            "digest": digest,
            "guarantee": made.guarantee.to_dict(),
            "learned": made.learned.to_dict(),
        },
    )
