"""`sfumato demo`: the whole story on made-up records: learn, protect, attack, audit, seal, report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.attacks import ATTACKS
from sfumato.auditing import AuditSettings, Searches, audit
from sfumato.auditing.result import Audit
from sfumato.certifying import attacker_words, certificate_or_none
from sfumato.cli.audit import show, teller
from sfumato.cli.demo_sealed import beside, make_place, seal_demo, sealed_table, told
from sfumato.cli.output import console, make_folder, write_json
from sfumato.cli.progress import progress
from sfumato.concepts.concept import Concept
from sfumato.embedders import load_embedder
from sfumato.embedders.base import Embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.files import write_atomic
from sfumato.learning import LearnSettings, learn
from sfumato.numbers import whole_number
from sfumato.protector import Protector
from sfumato.records import DISEASES, Record, make_records
from sfumato.report import audit_page
from sfumato.saving import save_protector
from sfumato.scale.release import release_file

NAME = "demo"
EXAMPLE = "Example: sfumato demo -o demo-report"

FAIL_ABOVE = 0.10
_LEARNED = 0.4
"""Records to learn from, for each record that is protected."""


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    write_atomic(path, ("\n".join(json.dumps(row) for row in rows) + "\n").encode())


def _learn(records: list[Record], embedder: Embedder) -> Protector:
    concept = Concept.from_terms("disease", DISEASES)
    with progress("learning", None) as bar:
        return learn(
            [record.text for record in records],
            concept,
            embedder=embedder,
            settings=LearnSettings(source="synthetic"),
            on_step=lambda label, count: bar.advance(bar.task_ids[0], count),
        )


def command(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the report.")] = Path("demo-report"),
    records: Annotated[int, typer.Option(help="How many records to make and protect.")] = 1600,
    embedder: Annotated[str, typer.Option(help="The encoder, a name of `sfumato embedders`.")] = "minilm",
    baselines: Annotated[bool, typer.Option(help="Compare with other defences.")] = True,
    seed: Annotated[int, typer.Option(help="Makes other records.")] = 0,
) -> None:
    """Make up clinic and shop records, hide the diseases in their vectors, attack, and write a report."""
    whole_number(records, "--records", 200, 100_000)
    ATTACKS.get("tokens")  # says what to install before any work is done
    encoder = RememberingEmbedder(load_embedder(embedder))
    make_folder(out)
    place = make_place(out)
    screen = console()

    made = make_records(records, seed=2 * seed)
    other = make_records(round(_LEARNED * records), seed=2 * seed + 1)
    _write(out / "records.jsonl", [record.to_dict() for record in made])
    searches = [{"text": record.query, "relevant": row} for row, record in enumerate(made)]
    _write(out / "searches.jsonl", searches)
    named = sum(bool(record.disease) for record in made)
    screen.print(f"1. Made up {len(made)} records of a clinic and a shop; {named} name a disease.")
    screen.print(f"   for example: {made[0].text}", highlight=False, markup=False)

    protector = _learn(other, encoder)
    save_protector(protector, out / "protector")
    screen.print(f"2. Learned from {len(other)} other records where diseases live in the vectors.")
    if (certified := certificate_or_none(protector)) is not None:
        screen.print(f"   {attacker_words(certified)}", highlight=False, markup=False)

    with progress("releasing", records) as bar:
        release_file(
            out / "records.jsonl",
            out / "released.parquet",
            protector,
            restart=True,
            on_rows=lambda rows: bar.advance(bar.task_ids[0], rows),
        )
    screen.print(f"3. Released protected vectors of all {len(made)} records: released.parquet")

    screen.print("4. Attacking them, and other defences for comparison:\n")
    with progress("auditing", 100) as bar:
        found = audit(
            [record.text for record in made],
            protector=protector,
            gold=[Searches([record.query for record in made], [[row] for row in range(len(made))])],
            showable=[True] * len(made),
            settings=AuditSettings(fail_above=FAIL_ABOVE, baselines=baselines, seed=seed),
            on_step=teller(bar),
        )
    show(found)
    sealed = _seal(place, made, protector, encoder, found, seed)
    write_json(out / "report.json", found.to_dict())
    write_atomic(
        out / "report.html", audit_page(found, title="Demo on made-up records", sealed=sealed).encode()
    )
    screen.print(f"\nReport: {out / 'report.html'}", highlight=False)


def _seal(
    place: Path,
    made: list[Record],
    protector: Protector,
    encoder: RememberingEmbedder,
    found: Audit,
    seed: int,
) -> dict[str, Any]:
    """Seal the same records and say what that does; returns what the report says of it."""
    texts, searches = [record.text for record in made], [record.query for record in made]
    with progress("sealing", None):
        story = seal_demo(place, texts, searches, protector.concepts[0], encoder, seed)
    lines = beside(story, found)
    screen = console()
    for words in told(story, place, searches[0]):
        screen.print(words, highlight=False, markup=False, soft_wrap=True)
    screen.print(sealed_table(lines))
    write_json(place.parent / "sealed.json", story.to_dict())
    return {**story.to_dict(), "lines": lines}
