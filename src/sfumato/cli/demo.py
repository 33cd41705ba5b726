"""`sfumato demo`: protect made-up vectors and show what each mechanism promises and costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sfumato.cli.output import console, progress, write_json
from sfumato.evaluation import measure_noise, neighbours_kept, probe_accuracy
from sfumato.evaluation.synthetic import PlantedVectors, planted_vectors
from sfumato.files import write_atomic
from sfumato.mechanisms import Laplace, Mahalanobis, Mechanism, Polar, Projection, Purkayastha, Suppression
from sfumato.randomness import default_source
from sfumato.report.chart import Series, line_chart
from sfumato.report.page import render

NAME = "demo"
EXAMPLE = "Example: sfumato demo -o demo-report"

RATIOS = (0.25, 0.5, 1.0, 1.5, 2.5)
SHOWN = 1.0


def _contenders(sample: PlantedVectors) -> dict[str, Callable[[float], Mechanism]]:
    dim = sample.vectors.shape[1]
    return {
        "laplace": lambda ratio: Laplace.from_noise_ratio(ratio, dim=dim),
        "mahalanobis": lambda ratio: Mahalanobis.from_noise_ratio(ratio, shape=sample.mask),
        "suppression": lambda ratio: Suppression.from_noise_ratio(ratio, mask=sample.mask, share=0.1),
        "purkayastha": lambda ratio: Purkayastha.from_noise_ratio(ratio, dim=dim),
        "polar": lambda ratio: Polar.from_noise_ratio(ratio, dim=dim),
        "projection": lambda ratio: Projection.from_noise_ratio(ratio, dim=dim, sensitivity="orthonormal"),
    }


def _row(name: str, mechanism: Mechanism, sample: PlantedVectors) -> dict[str, Any]:
    released = mechanism.privatize(sample.vectors)
    return {
        "mechanism": name,
        **asdict(measure_noise(mechanism, sample.vectors, released)),
        "neighbours_kept": neighbours_kept(sample.vectors, released),
        "concept_read": probe_accuracy(released, sample.concept),
        "promise": mechanism.guarantee.describe().partition(": ")[2],
        "guarantee": mechanism.guarantee.to_dict(),
        "parameters": mechanism.parameters(),
    }


def _print(rows: list[dict[str, Any]], clean: float) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("mechanism")
    for column in ("noise ratio", "cosine kept", "neighbours kept", "concept read"):
        table.add_column(column, justify="right")
    table.add_column("promise", overflow="fold")
    for row in rows:
        table.add_row(
            row["mechanism"],
            f"{row['ratio_measured']:.2f}",
            f"{row['cosine_measured']:.3f}",
            f"{row['neighbours_kept']:.0%}",
            f"{row['concept_read']:.0%}",
            row["promise"],
        )
    console().print(table)
    console().print(f"Clean vectors: a linear probe reads the planted concept in {clean:.0%} of cases.")


def command(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for report.html and report.json.")] = Path(
        "demo-report"
    ),
) -> None:
    """Protect made-up vectors with every mechanism and write a report; needs no network."""
    sample = planted_vectors()
    contenders = _contenders(sample)
    rows: dict[tuple[str, float], dict[str, Any]] = {}
    with progress("protecting and probing", len(contenders) * len(RATIOS)) as bar:
        for name, make in contenders.items():
            for ratio in RATIOS:
                rows[name, ratio] = _row(name, make(ratio), sample)
                bar.advance(bar.task_ids[0])
    clean = probe_accuracy(sample.vectors, sample.concept)
    prior = max(sample.concept.mean(), 1 - sample.concept.mean())
    shown = [rows[name, SHOWN] for name in contenders]
    lines = [
        Series(name, [(rows[name, r]["neighbours_kept"], rows[name, r]["concept_read"]) for r in RATIOS])
        for name in contenders
    ]
    page = render(
        "demo.html.j2",
        rows=len(sample.vectors),
        dim=sample.vectors.shape[1],
        axes=int((sample.mask.scores > 0).sum()),
        chart=line_chart(
            lines, "neighbours kept", "concept read by a linear probe", "concept read against utility"
        ),
        prior=prior,
        shown_ratio=SHOWN,
        table=shown,
        clean=clean,
        cipher=default_source().cipher.upper(),
    )
    write_json(out / "report.json", {"clean": clean, "prior": float(prior), "releases": list(rows.values())})
    write_atomic(out / "report.html", page.encode())
    _print(shown, clean)
    console().print(f"\nReport: {out / 'report.html'}", highlight=False)
