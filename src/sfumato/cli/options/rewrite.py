"""The options of `sfumato rewrite`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import checked_output

SourceArgument = Annotated[
    Path, typer.Argument(metavar="IN", help="Texts: .txt, .jsonl, .csv, .tsv, .parquet, or - .")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="OUT",
        help="Where to: .txt or .jsonl; else the screen.",
        dir_okay=False,
        callback=checked_output,
    ),
]
TaskOption = Annotated[str, typer.Option(help="What the texts are for, in words: a question, a purpose.")]
TaskColumnOption = Annotated[str | None, typer.Option(metavar="NAME", help="A column with each text's task.")]
IdColumnOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="A column of ids, to be written into OUT (.jsonl) as well.")
]
EpsilonOption = Annotated[
    float | None, typer.Option(help="Budget of sensitive words; the groups get 3 : 1 : 9 : 7 of it.")
]
UniformOption = Annotated[float | None, typer.Option(help="The same budget for every word.")]
BudgetsOption = Annotated[
    str | None, typer.Option(metavar="A,B,C,D", help="One budget a group; 0 hides, inf keeps (not A, B).")
]
PaperRowOption = Annotated[int | None, typer.Option(help="A row of the paper's table, 1 to 5.")]
ConceptOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Sensitive: a concept of `sfumato concepts`.")
]
TermsOption = Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Sensitive: terms, one a line.")]
SpansOption = Annotated[
    list[str] | None, typer.Option(metavar="LABEL", help="Sensitive: spans in the file with this label.")
]
LabelsOption = Annotated[
    bool, typer.Option(help="Sensitive: every span labelled in the file, unless --spans names labels.")
]
PresidioOption = Annotated[bool, typer.Option(help="Sensitive: what Presidio finds.")]
VocabularyOption = Annotated[
    str | None,
    typer.Option(metavar="SPEC", help="minilm, wordllama, glove:FILE, encoder:FOLDER or lm:MODEL."),
]
WordsOption = Annotated[int | None, typer.Option(help="Only so many of the most frequent words.")]
PiecesOption = Annotated[bool, typer.Option(help="Word pieces in place of whole words.")]
ThresholdOption = Annotated[float, typer.Option(help="Cosine to the task from which a word is important.")]
GroupsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A group for some words: a term, a tab, 1 to 4 a line.")
]
MechanismOption = Annotated[str, typer.Option(help="polar, polar+radius, laplace or another.")]
DecoderOption = Annotated[str, typer.Option(help="exact, torch (on a GPU), or hnsw: the same privacy.")]
UnknownOption = Annotated[str, typer.Option(help="Words outside the vocabulary: blur, hide or keep.")]
PlaceholderOption = Annotated[str, typer.Option(help="What stands for hidden words.")]
KeepCaseOption = Annotated[bool, typer.Option(help="Keep the capitals of sensitive words too.")]
RepairOption = Annotated[
    str | None, typer.Option(metavar="MODEL@URL", help="Mend the private text by a chat model.")
]
ExplanationOption = Annotated[bool, typer.Option("--explain", help="Show what became of every word.")]
PageOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The same as an HTML page.", dir_okay=False, callback=checked_output),
]
SeedOption = Annotated[int | None, typer.Option(help="Repeatable noise, which protects nobody.")]
