"""`sfumato audit`: how much do these vectors leak, what are they still good for, is that within a limit?"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import typer

from sfumato.attacks.base import OnStep
from sfumato.auditing import Audit, AuditSettings, audit
from sfumato.auditing.compare import read_audit
from sfumato.auditing.gold import read_pairs, read_searches
from sfumato.auditing.subject import Gold
from sfumato.cli.audited import hand_over
from sfumato.cli.collection import Collected, collect
from sfumato.cli.options.audit import (
    AttackOption,
    BaselinesOption,
    CleanOption,
    CompareOption,
    ConceptOption,
    EmbedderOption,
    EmbeddingsOption,
    FailAboveOption,
    FailAbsoluteAboveOption,
    GroupColumnOption,
    IdColumnOption,
    LabelColumnOption,
    LimitOption,
    OutOption,
    ProtectorOption,
    RowsOption,
    SarifOption,
    SearchesOption,
    SecretOption,
    SeedOption,
    ShowTextsOption,
    SourceArgument,
    SpansOption,
    StoreOption,
    SuiteOption,
    TagsColumnOption,
    TermsOption,
    TextFieldOption,
    TruthSpansOption,
    UtilityOption,
    WorstCaseOption,
)
from sfumato.cli.options.shared import (
    AllowRemoteOption,
    TextColumnOption,
    VectorColumnOption,
    column_names,
    named_concepts,
    reference,
)
from sfumato.cli.output import JsonOption, console
from sfumato.cli.progress import progress
from sfumato.cli.sealed_audit import audit_sealed
from sfumato.cli.tables import attack_table, class_table, concept_table
from sfumato.cli.vectors import AuditTexts
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.numbers import whole_number
from sfumato.reference import place_name
from sfumato.report.words import (
    certificate_words,
    informed_words,
    linkage_words,
    matched_words,
    presence_words,
)
from sfumato.stores.address import parse_address
from sfumato.trials.rows import percent

NAME = "audit"
EXAMPLE = (
    "Examples: sfumato audit notes.jsonl --protector places --fail-above 0.10 -o report.html  |  "
    "sfumato audit notes.jsonl --embeddings stored.parquet --concept disease --json audit.json  |  "
    "sfumato audit --store chroma:db#notes --concept disease  |  "
    "sfumato audit labelled.jsonl --protector people --truth-spans PER --json audit.json"
)
LIMIT = 20_000


def _concepts(
    names: list[str] | None, terms: list[Path] | None, spans: list[str] | None
) -> list[Concept] | None:
    """All that was named, in that order; None leaves it to the protector."""
    return named_concepts(names, terms, spans) if names or terms or spans else None


def show(found: Audit) -> None:
    """Print the verdict and the figures behind it; never a text."""
    screen = console()
    truth = found.truth.words(found.finding)
    for words in filter(None, (certificate_words(found), truth, informed_words(found))):
        screen.print(words, highlight=False, markup=False)
    if found.attacks:
        screen.print(attack_table(found))
    if found.finding is not None and found.finding.found is not None:
        screen.print(class_table(found.finding, found.removal))
    for name, reason in found.left_out:
        screen.print(f"left out: {name}: {reason}", highlight=False, markup=False)
    for line in _summary(found):
        screen.print(line, highlight=False, markup=False)
    if words := matched_words(found):
        screen.print(words)
    if len(found.concepts) > 1:
        screen.print(concept_table(found))
    screen.print(f"\n{found.outcome.upper()}  {found.verdict.reason}", highlight=False)
    for words in found.cautions:
        screen.print(f"Note: {words}", highlight=False)
    promise = found.guarantee
    screen.print(f"Epsilon {_epsilon(promise)} ({promise['metric']}, {promise['proof']})", highlight=False)


def _epsilon(promise: dict[str, Any]) -> str:
    value = promise["epsilon"]
    return "infinite" if value == "inf" else f"{value:.4g}"


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
    if found.membership is not None:
        auc = found.membership.released.auc
        lines.append(f"membership: AUC {auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f}), a guess has 0.500")
    if found.linkage is not None:
        lines.append(f"linkage: {percent(found.linkage.released)} of {linkage_words(found.linkage)}")
    return lines


def teller(bar: Any) -> OnStep:
    """Move a progress bar from 0 to 100."""

    def move(label: str, share: float) -> None:
        bar.update(bar.task_ids[0], description=label, completed=round(100 * share))

    return move


_NOT_REPEATED = ("source", "allow_remote", "show_texts", "out", "json", "sarif", "compare")


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
    text_column: TextColumnOption = None,
    vector_column: VectorColumnOption = None,
    id_column: IdColumnOption = None,
    group_column: GroupColumnOption = None,
    label_column: LabelColumnOption = None,
    tags_column: TagsColumnOption = None,
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
    compare: CompareOption = None,
    sarif: SarifOption = None,
    out: OutOption = None,
    json: JsonOption = None,
) -> None:
    """Attack released vectors, see what is still of use, judge: 0 pass or measured, 1 fail, 3 refused."""
    options = dict(locals())
    _refuse(source, protector, embeddings, store, secret)
    settings = AuditSettings(
        suite=cast("Any", suite), fail_above=fail_above, fail_absolute_above=fail_absolute_above,
        worst_case=worst_case, baselines=baselines, attacks=tuple(attack or ()), rows=rows, seed=seed,
    )  # fmt: skip
    earlier = None if compare is None else read_audit(compare)
    if store is not None:
        audit_sealed(store, settings, _command(source, options), out or sarif or compare, json)
    given = _given(options)
    made = reference(protector, secret=secret, allow_remote=allow_remote).open() if protector else None
    stored = given.released if isinstance(given, Collected) else given.vectors(embeddings, "--embeddings")
    with progress("reading", 100) as bar:
        found = audit(
            given.texts, _concepts(concept, terms, spans), protector=made, released=stored,
            clean=given.vectors(clean, "--clean"), embedder=embedder, spans=given.spans,
            truth_spans=truth_spans, gold=_gold(searches, utility), showable=given.showable,
            groups=given.groups, labels=given.labels, tags=given.tags, settings=settings, on_step=teller(bar),
        )  # fmt: skip
    found = replace(found, settings=found.settings | {"command": _command(source, options)})
    show(found)
    raise typer.Exit(hand_over(found, _place(source, store), earlier, sarif=sarif, page=out, json=json))


def _place(source: Path | None, store: str | None) -> str:
    """What was audited, as it may be shown."""
    return source.name if source is not None else parse_address(str(store)).label


def _gold(searches: Path | None, utility: Path | None) -> list[Gold]:
    """What use is measured by, the main measure first."""
    found: list[Gold] = [] if searches is None else [read_searches(searches)]
    return found + ([] if utility is None else [read_pairs(utility)])


def _given(options: dict[str, Any]) -> Collected | AuditTexts:
    """The texts of a collection or of a file, and what goes with them, by the options of the command."""
    most = whole_number(options["limit"], "--limit", 1, 10**9)
    store, source, everything = options["store"], options["source"], options["show_texts"]
    columns = {name: options[name] for name in ("id_column", "group_column")}
    names = column_names(options["text_column"], options["vector_column"])
    beside = {name: options[name] for name in ("label_column", "tags_column")}
    if store is None:
        return AuditTexts(source, most, everything, **columns, **beside, names=names)
    if any(beside.values()):
        raise InputError("--label-column and --tags-column are of IN. Give --embeddings, not --store.")
    given = {"text_field": options["text_field"], "limit": most, "everything": everything}
    return collect(store, source, **given, **columns, names=names)


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
