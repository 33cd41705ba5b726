"""`sfumato rewrite`: private text out (STAMP)."""

from __future__ import annotations

import io
import json as json_format
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from sfumato.cli.options.rewrite import (
    BudgetsOption,
    ConceptOption,
    DecoderOption,
    EpsilonOption,
    ExplanationOption,
    GroupsOption,
    IdColumnOption,
    KeepCaseOption,
    LabelsOption,
    MechanismOption,
    OutOption,
    PageOption,
    PaperRowOption,
    PiecesOption,
    PlaceholderOption,
    PresidioOption,
    RepairOption,
    SeedOption,
    SourceArgument,
    SpansOption,
    TaskColumnOption,
    TaskOption,
    TermsOption,
    ThresholdOption,
    UniformOption,
    UnknownOption,
    VocabularyOption,
    WordsOption,
)
from sfumato.cli.options.shared import TextColumnOption, column_names, named_concepts
from sfumato.cli.output import (
    JsonOption,
    console,
    json_on_standard_output,
    write_json,
)
from sfumato.cli.progress import progress
from sfumato.cli.rewritten import Totals, report, results
from sfumato.concepts.base import Detector
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.files import atomic_file, write_atomic
from sfumato.inputs import ColumnNames, count, read
from sfumato.inputs.base import RowBatch
from sfumato.text import VOCABULARIES, Budgets, Rewriter, TermGroups, load_vocabulary
from sfumato.text.chat import Chat
from sfumato.text.explain import as_page, as_table, as_text, explain
from sfumato.text.repair import Repair
from sfumato.text.rewriter import PLACEHOLDER
from sfumato.text.streams import read_stream

NAME = "rewrite"
EXAMPLE = (
    "Examples: sfumato rewrite notes.txt --task 'Which illness is it?' --epsilon 50 -o private.txt  |  "
    "cat notes.txt | sfumato rewrite - --concept person --budgets 150,0,450,350 --explain"
)
SENSITIVE = ("person", "location", "organisation", "identifier", "email", "phone")
"""What is sensitive unless something is named: the paper's people, places, organisations and identifiers."""

_BATCH = 64


def _budgets(epsilon: float | None, uniform: float | None, budgets: str | None, row: int | None) -> Budgets:
    named = {"--epsilon": epsilon, "--uniform": uniform, "--budgets": budgets, "--paper-row": row}
    asked = [name for name, value in named.items() if value is not None]
    if len(asked) != 1:
        found = " and ".join(asked) or "none"
        raise InputError(f"Give one of --epsilon, --uniform, --budgets and --paper-row. Found {found}.")
    if epsilon is not None:
        return Budgets.proportional(epsilon)
    if uniform is not None:
        return Budgets.uniform(uniform)
    return Budgets.parse(budgets) if budgets is not None else Budgets.paper(cast("int", row))


def _sensitive(
    concept: list[str] | None, terms: list[Path] | None, spans: list[str] | None, presidio: bool
) -> list[Concept | Detector]:
    found: list[Concept | Detector] = []
    if presidio:
        from sfumato.concepts import DETECTORS
        from sfumato.concepts.detectors.spacy import best_model

        kind: Any = DETECTORS.get("presidio")
        found.append(kind(best_model()))
    if concept or terms or spans or not presidio:
        chosen = concept if concept or terms or spans else list(SENSITIVE)
        found += named_concepts(chosen, terms, spans)
    return found


def _vocabulary(spec: str | None) -> str:
    if spec is not None:
        return spec
    for name in ("minilm", "wordllama"):
        if VOCABULARIES.installed(name):
            return name
    raise InputError(
        "No vocabulary is installed. Give --vocabulary glove:FILE, or: "
        + VOCABULARIES.install_line("wordllama")
    )


@contextmanager
def _output(out: Path | None) -> Iterator[BinaryIO]:
    if out is None:
        # Beside `--json -` the texts are in the JSON.
        yield io.BytesIO() if json_on_standard_output() else sys.stdout.buffer
        return
    if out.suffix.lower() not in (".txt", ".jsonl"):
        raise InputError(f"{out.name} has to end in .txt or .jsonl. Choose another name.")
    with atomic_file(out) as handle:
        yield handle


def _line(text: str, record: dict[str, Any] | None) -> bytes:
    """A line of output: the text, or a JSON object of it and what goes with it."""
    if record is not None:
        return (json_format.dumps({**record, "text": text}, ensure_ascii=False, default=str) + "\n").encode()
    return (text.replace("\r", " ").replace("\n", " ") + "\n").encode()


@dataclass(frozen=True, slots=True)
class _Texts:
    """Which texts, and which columns go with them."""

    source: Path
    names: ColumnNames
    task: str
    task_column: str | None
    id_column: str | None

    def batches(self) -> Iterator[RowBatch]:
        """Read them, a few at a time."""
        columns = [name for name in (self.task_column, self.id_column) if name is not None]
        if str(self.source) != "-":
            return read(self.source, batch=_BATCH, need="text", columns=columns, names=self.names)
        if columns:
            raise InputError("Standard input has no columns. Use --task, or give a file.")
        return read_stream(cast("Any", sys.stdin.buffer), batch=_BATCH)


def _tasks(batch: RowBatch, task: str, column: str | None) -> list[str]:
    if column is None:
        return [task] * len(batch)
    return [str(value if value is not None else task) for value in batch.columns[column]]


def command(
    source: SourceArgument,
    out: OutOption = None,
    task: TaskOption = "",
    task_column: TaskColumnOption = None,
    text_column: TextColumnOption = None,
    id_column: IdColumnOption = None,
    epsilon: EpsilonOption = None,
    uniform: UniformOption = None,
    budgets: BudgetsOption = None,
    paper_row: PaperRowOption = None,
    concept: ConceptOption = None,
    terms: TermsOption = None,
    spans: SpansOption = None,
    labels: LabelsOption = True,
    presidio: PresidioOption = False,
    vocabulary: VocabularyOption = None,
    words: WordsOption = None,
    pieces: PiecesOption = False,
    threshold: ThresholdOption = 0.5,
    groups: GroupsOption = None,
    mechanism: MechanismOption = "polar",
    decoder: DecoderOption = "exact",
    unknown: UnknownOption = "blur",
    placeholder: PlaceholderOption = PLACEHOLDER,
    keep_case: KeepCaseOption = False,
    repair: RepairOption = None,
    explanation: ExplanationOption = False,
    page: PageOption = None,
    seed: SeedOption = None,
    json: JsonOption = None,
) -> None:
    """Rewrite texts word by word: more noise where it protects, less where the task needs the words."""
    rewriter = Rewriter(
        load_vocabulary(_vocabulary(vocabulary), limit=words, pieces=pieces),
        _budgets(epsilon, uniform, budgets, paper_row),
        sensitive=_sensitive(concept, terms, spans, presidio),
        task=task,
        threshold=threshold,
        mechanism=mechanism,
        decoder=decoder,
        unknown=cast("Any", unknown),
        placeholder=placeholder,
        keep_case=keep_case,
        grouping=None if groups is None else TermGroups.from_file(groups),
    )
    mender = None if repair is None else Repair(Chat.parse(repair), placeholder=placeholder)
    totals = Totals([] if json is not None else None)
    _run(
        rewriter, mender, totals,
        _Texts(source, column_names(text_column), task, task_column, id_column),
        out, explanation, page is not None, seed, labels or spans is not None,
    )  # fmt: skip
    screen = console(aside=out is None)
    report(screen, totals, rewriter.budgets, explanation or page is not None)
    if page is not None:
        write_atomic(page, as_page(totals.explained).encode("utf-8", "replace"))
    write_json(json, results(totals, rewriter))


def _run(
    rewriter: Rewriter, mender: Repair | None, totals: Totals, given: _Texts, out: Path | None,
    showing: bool, paging: bool, seed: int | None, labels: bool,
) -> None:  # fmt: skip
    from sfumato.randomness import Source

    rng = None if seed is None else Source.seeded(seed)
    piped = str(given.source) == "-"
    batches, records = given.batches(), out is not None and out.suffix.lower() == ".jsonl"
    # Texts go to standard output unless a file was named; everything else then goes beside them.
    screen = console(aside=out is None)
    with progress(NAME, None if piped else count(given.source)) as bar, _output(out) as handle:
        for batch in batches:
            texts = batch.texts or []
            marked = totals.marked(batch, rewriter.groups) if labels else None
            made = rewriter.rewrite(
                texts, tasks=_tasks(batch, given.task, given.task_column), spans=marked, rng=rng
            )
            ids = batch.columns.get(given.id_column or "")
            for row, (text, each) in enumerate(zip(texts, made, strict=True)):
                written = each.text if mender is None else _mended(mender, each.text, totals)
                own = {} if ids is None else {str(given.id_column): ids[row]}
                handle.write(_line(written, own if records else None))
                totals.add(each)
                if totals.texts is not None:
                    totals.texts.append(written)
                if showing or paging:
                    shown = explain(rewriter, text, each)
                    totals.explained += [shown] if paging else []
                    if showing:
                        handle.flush()
                        screen.print(as_text(shown), as_table(shown))
            handle.flush()
            bar.advance(bar.task_ids[0], len(texts))


def _mended(mender: Repair, text: str, totals: Totals) -> str:
    done = mender.repair(text, row=totals.rows)
    totals.refused += not done.accepted
    return done.text
