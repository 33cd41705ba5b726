"""`sfumato audit`: how much do these vectors leak, what are they still good for, is that within a limit?"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import typer
from rich.table import Table

from sfumato.attacks.base import OnStep
from sfumato.auditing import Audit, AuditSettings, audit
from sfumato.auditing.gold import read_pairs, read_searches
from sfumato.auditing.subject import Gold
from sfumato.cli.collection import Collected, collect
from sfumato.cli.options.audit import (
    AttackOption,
    BaselinesOption,
    CleanOption,
    ConceptOption,
    EmbedderOption,
    EmbeddingsOption,
    FailAboveOption,
    FailAbsoluteAboveOption,
    GroupColumnOption,
    IdColumnOption,
    LimitOption,
    OutOption,
    ProtectorOption,
    RowsOption,
    SearchesOption,
    SecretOption,
    SeedOption,
    ShowTextsOption,
    SourceArgument,
    SpansOption,
    StoreOption,
    SuiteOption,
    TermsOption,
    TextFieldOption,
    TruthSpansOption,
    UtilityOption,
    WorstCaseOption,
)
from sfumato.cli.options.shared import AllowRemoteOption, named_concepts, reference
from sfumato.cli.output import JsonOption, console, progress, write_json
from sfumato.cli.sealed_audit import audit_sealed
from sfumato.cli.vectors import AuditTexts
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.files import write_atomic
from sfumato.numbers import whole_number
from sfumato.reference import place_name
from sfumato.report import audit_page
from sfumato.report.words import linkage_words, matched_words, presence_words
from sfumato.stores.address import parse_address
from sfumato.trials.finding import FoundAndMissed
from sfumato.trials.removal import RemovalRow
from sfumato.trials.rows import AttackRow, percent

NAME = "audit"
EXAMPLE = (
    "Examples: sfumato audit notes.jsonl --protector places --fail-above 0.10 -o report.html  |  "
    "sfumato audit notes.jsonl --embeddings stored.parquet --concept disease --json audit.json  |  "
    "sfumato audit --store chroma:db#notes --concept disease  |  "
    "sfumato audit labelled.jsonl --protector people --truth-spans PER --json audit.json"
)
LIMIT = 20_000
FIGURES = ("clean", "removed", "guess", "released", "excess", "absolute")
"""Columns of every table of attacks: a guess is the best constant one."""


def _concepts(
    names: list[str] | None, terms: list[Path] | None, spans: list[str] | None
) -> list[Concept] | None:
    """All that was named, in that order; None leaves it to the protector."""
    return named_concepts(names, terms, spans) if names or terms or spans else None


def show(found: Audit) -> None:
    """Print the verdict and the figures behind it; never a text."""
    screen = console()
    screen.print(found.truth.words(found.finding), highlight=False, markup=False)
    if found.attacks:
        screen.print(_attacks(found))
    if found.finding is not None and found.finding.found is not None:
        screen.print(_classes(found.finding, found.removal))
    for name, reason in found.left_out:
        screen.print(f"left out: {name}: {reason}", highlight=False, markup=False)
    for line in _summary(found):
        screen.print(line, highlight=False, markup=False)
    if words := matched_words(found):
        screen.print(words)
    if len(found.concepts) > 1:
        screen.print(_concept_table(found))
    screen.print(f"\n{found.outcome.upper()}  {found.verdict.reason}", highlight=False)
    for words in found.cautions:
        screen.print(f"Note: {words}", highlight=False)


def _summary(found: Audit) -> list[str]:
    """Utility, presence and linkage, a line each."""
    lines = []
    for use in found.uses:
        for where, utility in (("", use.every), (", touched", use.touched), (", untouched", use.untouched)):
            if utility is not None:
                kept = "undefined" if utility.kept is None else percent(utility.kept)
                figures = f"{utility.released:.3f} of {utility.clean:.3f} clean, {kept} kept"
                lines.append(f"{utility.metric}{where}: {figures}")
    if found.presence is not None:
        lines.append(f"presence: {': '.join(presence_words(found.presence))}")
    if found.linkage is not None:
        lines.append(f"linkage: {percent(found.linkage.released)} of {linkage_words(found.linkage)}")
    return lines


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def _figures(row: AttackRow) -> list[str]:
    """What one attack got, each figure as it is shown."""
    removed = percent(row.floor) if row.floor is not None and row.floor_is == "removed" else "-"
    return [
        percent(row.control),
        "not measured" if row.floor is None else removed,
        percent(row.prior),
        percent(row.released),
        "not measured" if row.floor is None else "undefined" if row.excess is None else percent(row.excess),
        "undefined" if row.absolute is None else percent(row.absolute),
    ]


def _attacks(found: Audit) -> Table:
    table = _table("attack", *FIGURES, "counts")
    for row in found.attacks:
        table.add_row(row.name, *_figures(row), ("yes" if row.counts else "") if row.works else "fails")
    return table


def _classes(finding: FoundAndMissed, removal: RemovalRow | None) -> Table:
    table = _table("texts", "count", "released", "excess", "absolute")
    named = (
        ("all", finding.every),
        ("found: the protector finds every term", finding.found),
        ("missed: it misses one", finding.missed),
    )
    for name, each in named:
        if each is not None:
            figures = (each.released, each.excess, each.absolute)
            table.add_row(name, str(each.count), *("-" if one is None else percent(one) for one in figures))
    if removal is not None:
        figures = (removal.released, removal.excess, removal.absolute)
        count = str(finding.every.count)
        table.add_row("concept cut out", count, *("-" if one is None else percent(one) for one in figures))
    return table


def _concept_table(found: Audit) -> Table:
    table = _table("concept", "verdict", "by", *FIGURES)
    for each in found.concepts:
        row = each.row
        figures = [""] * (len(FIGURES) + 1) if row is None else [row.name, *_figures(row)]
        table.add_row(each.name, each.outcome, *figures)
    return table


def teller(bar: Any) -> OnStep:
    """Move a progress bar from 0 to 100."""

    def move(label: str, share: float) -> None:
        bar.update(bar.task_ids[0], description=label, completed=round(100 * share))

    return move


_NOT_REPEATED = ("source", "allow_remote", "show_texts", "out", "json")


def _command(source: Path | None, options: dict[str, Any]) -> str:
    """The command that repeats the audit, with the names of files and not where they lie."""
    words = ["sfumato", "audit", *([] if source is None else [source.name])]
    spelled = {"store": lambda value: parse_address(value).label, "secret": place_name}
    for name, value in options.items():
        if name in _NOT_REPEATED or value is None or value is False or value == []:
            continue
        for each in value if isinstance(value, list) else [value]:
            said = each.name if isinstance(each, Path) else str(spelled.get(name, str)(each))
            words += [f"--{name.replace('_', '-')}", *([] if each is True else [said])]
    return shlex.join(words)


def command(
    source: SourceArgument = None,
    protector: ProtectorOption = None,
    embeddings: EmbeddingsOption = None,
    store: StoreOption = None,
    text_field: TextFieldOption = None,
    id_column: IdColumnOption = None,
    group_column: GroupColumnOption = None,
    concept: ConceptOption = None,
    terms: TermsOption = None,
    spans: SpansOption = None,
    truth_spans: TruthSpansOption = None,
    secret: SecretOption = None,
    suite: SuiteOption = "quick",
    fail_above: FailAboveOption = None,
    fail_absolute_above: FailAbsoluteAboveOption = None,
    worst_case: WorstCaseOption = False,
    baselines: BaselinesOption = False,
    attack: AttackOption = None,
    utility: UtilityOption = None,
    searches: SearchesOption = None,
    clean: CleanOption = None,
    embedder: EmbedderOption = None,
    allow_remote: AllowRemoteOption = None,
    rows: RowsOption = None,
    limit: LimitOption = LIMIT,
    seed: SeedOption = 0,
    show_texts: ShowTextsOption = False,
    out: OutOption = None,
    json: JsonOption = None,
) -> None:
    """Attack released vectors, see what is still of use, judge: 0 pass or measured, 1 fail, 3 refused."""
    options = dict(locals())
    _refuse(source, protector, embeddings, store, secret)
    settings = AuditSettings(
        suite=suite,  # type: ignore[arg-type]
        fail_above=fail_above, fail_absolute_above=fail_absolute_above, worst_case=worst_case,
        baselines=baselines, attacks=tuple(attack or ()), rows=rows, seed=seed,
    )  # fmt: skip
    if store is not None:
        audit_sealed(store, settings, _command(source, options), out, json)
    most = whole_number(limit, "--limit", 1, 10**9)
    columns = {"id_column": id_column, "group_column": group_column}
    given = _given(store, source, text_field, most, show_texts, columns)
    gold: list[Gold] = [read_searches(searches)] if searches else []
    gold += [read_pairs(utility)] if utility else []
    # An audit makes no key of its own.
    made = reference(protector, secret=secret, allow_remote=allow_remote).open() if protector else None
    stored = given.released if isinstance(given, Collected) else given.vectors(embeddings, "--embeddings")
    with progress("reading", 100) as bar:
        found = audit(
            given.texts, _concepts(concept, terms, spans), protector=made, released=stored,
            clean=given.vectors(clean, "--clean"), embedder=embedder, spans=given.spans,
            truth_spans=truth_spans, gold=gold, showable=given.showable, groups=given.groups,
            settings=settings, on_step=teller(bar),
        )  # fmt: skip
    _hand_over(replace(found, settings=found.settings | {"command": _command(source, options)}), out, json)


def _given(
    store: str | None,
    source: Path | None,
    text_field: str | None,
    most: int,
    everything: bool,
    columns: dict[str, str | None],
) -> Collected | AuditTexts:
    """The texts of a collection or of a file, and what goes with them."""
    if store is None:
        return AuditTexts(cast(Path, source), most, everything, **columns)
    return collect(store, source, text_field=text_field, limit=most, everything=everything, **columns)


def _refuse(
    source: Path | None,
    protector: Path | None,
    embeddings: Path | None,
    store: str | None,
    secret: str | None,
) -> None:
    """Refuse options that do not go together."""
    if sum(each is not None for each in (protector, embeddings, store)) != 1:
        raise InputError("Give one of --protector DIR, --embeddings FILE and --store URL.")
    if source is None and store is None:
        raise InputError("Give the texts as IN.")
    if secret is not None and protector is None:
        raise InputError("--secret is the key of a protector. Give --protector DIR, too.")


def _hand_over(found: Audit, out: Path | None, json: Path | None) -> None:
    """Show an audit, write what was asked for, and leave with its exit code."""
    show(found)
    if out is not None:
        write_atomic(out, audit_page(found).encode())
        console().print(f"Report: {out}", highlight=False)
    write_json(json, found.to_dict())
    raise typer.Exit(found.exit_code)
