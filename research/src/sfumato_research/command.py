"""`sfumato study`: run a paper's tables again and set them beside the printed numbers."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.output import JsonOption, console, results_folder, write_json
from sfumato.cli.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato_research.studies import Setting, Study, StudyPart
    from sfumato_research.studies.choice import CellChoice
    from sfumato_research.studies.running import StudyRun

NAME = "study"
EXAMPLE = "Example: sfumato study sparse --data datasets --quick -o results"


def _list() -> dict[str, Any]:
    from sfumato_research.studies import STUDIES, load_study

    out, found = console(), {}
    for study in map(load_study, STUDIES):
        out.print(f"[bold]{study.name}[/] {study.title} ({study.paper})", highlight=False)
        for part in study.parts:
            out.print(f"  {part.name}: {part.title}", highlight=False, markup=False)
        parts = {part.name: part.title for part in study.parts}
        found[study.name] = {"title": study.title, "paper": study.paper, "parts": parts}
    return found


def _run(study: Study, setting: Setting, output: Path, parts: list[str], again: bool) -> StudyRun:
    from dataclasses import replace

    from sfumato_research.studies.running import run_study

    with progress(study.name, len(parts or study.parts)) as bar:
        task = bar.tasks[0].id

        def on_part(part: StudyPart, state: str) -> None:
            bar.update(task, description=f"{study.name} {part.name}", advance=int(state != "running"))

        loud = replace(setting, on_step=lambda step: bar.update(task, description=f"{study.name} {step}"))
        return run_study(study, loud, output, only=parts, again=again, on_part=on_part)


def _together(
    studies: list[Study], setting: Setting, output: Path, parts: list[str], again: bool, jobs: int
) -> Iterator[tuple[Study, StudyRun]]:
    from sfumato_research.studies.together import run_together

    with progress(studies[0].name, len(parts or studies[0].parts)) as bar:
        tasks = {studies[0].name: bar.tasks[0].id}
        for study in studies[1:]:
            tasks[study.name] = bar.add_task(study.name, total=len(parts or study.parts))

        def on_event(study: Study, step: str, ended: int) -> None:
            bar.update(tasks[study.name], description=f"{study.name} {step}", advance=ended)

        yield from run_together(
            studies, setting, output, jobs=jobs, only=parts, again=again, on_event=on_event
        )


def _results(
    studies: list[Study], setting: Setting, output: Path, parts: list[str], again: bool, jobs: int | None
) -> dict[str, Any]:
    """Run studies, and read what they wrote."""
    from sfumato.blocks import thread_count
    from sfumato_research.studies.running import read_result

    found: dict[str, Any] = {}
    able = min(len(studies), jobs or (thread_count(None) if setting.device == "cpu" else 1))
    with results_folder(output), nullcontext() if setting.cache is None else results_folder(setting.cache):
        if able > 1:
            ended = _together(studies, setting, output, parts, again, able)
        else:
            ended = ((study, _run(study, setting, output, parts, again)) for study in studies)
        for study, done in ended:
            found[study.name] = read_result(done.path)
            console().print(f"{study.name}: {len(done.ran)} parts run, {len(done.kept)} kept. {done.path}")
    if setting.quick or setting.choice:
        for study in studies:
            _show(found[study.name])
    return found


def _show(result: dict[str, Any]) -> None:
    """A quick run, or one of some cells, is to be looked at: print what the page of a study would hold."""
    from sfumato_research.studies.page import whole

    console().print(whole(result["parts"], "."), markup=False, highlight=False, soft_wrap=True)


def _fill(page: Path, output: Path) -> bool:
    """Fill a page, and say whether there was anything in it to fill."""
    from sfumato.files import write_atomic
    from sfumato_research.leaderboard.page import board_page, fill_board, has_board
    from sfumato_research.studies.page import fill, has_marks

    if page.suffix == ".html":
        write_atomic(page, board_page(output).encode())
        return True
    found = has_marks(page) or has_board(page)
    if found:
        write_atomic(page, fill_board(fill(page, output), page, output).encode())
    return found


def _chosen(studies: list[Study], **given: list[str] | None) -> CellChoice:
    """Which cells of studies that have some."""
    from sfumato.errors import ParameterError
    from sfumato_research.studies.choice import CellChoice

    choice = CellChoice(**{kind: tuple(each or ()) for kind, each in given.items()})
    other = [study.name for study in studies if not study.by_cell]
    if choice and other:
        raise ParameterError(
            "--encoder, --defence and --attack choose rows of the leaderboard or cells of attackers. "
            f"Found the study {other[0]}."
        )
    return choice


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="sparse, dppn and so on, or all; without one, a list."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the public data sets.", file_okay=False)
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for NAME.json and drawings.", file_okay=False)
    ] = Path("study-results"),
    part: Annotated[list[str] | None, typer.Option(help="Only this part; may be given again.")] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer texts and settings, one seed; prints the tables."),
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Run parts anew that are there already.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Studies run side by side; one a core, and one on cuda, if left out."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Keep vectors of texts here between runs.", file_okay=False)
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(help="Leaderboard: only this encoder, by name or folder; may be given again."),
    ] = None,
    defence: Annotated[
        list[str] | None,
        typer.Option(help="Leaderboard, attackers: only this defence; may be given again."),
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(help="Leaderboard, attackers: only this attack; may be given again."),
    ] = None,
    page: Annotated[
        list[Path] | None,
        typer.Option(
            help="Fill this Markdown page, or the leaderboard's HTML, with the results; may be given again.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Run every table of a paper again on public data, and set it beside the printed numbers.

    A study goes on where it was stopped. With --page and no name nothing is run: the pages are filled from
    the results in the output folder.
    """
    from sfumato.errors import ParameterError
    from sfumato_research.leaderboard.page import has_board
    from sfumato_research.studies import STUDIES, Setting, load_study
    from sfumato_research.studies.page import require_marks

    out = console()
    if not names and not page:
        write_json(json, {"studies": _list()})
        return
    for each in (page or []) if names else []:
        if each.suffix != ".html" and not has_board(each):
            require_marks(each)  # before hours of work
    results: dict[str, Any] = {}
    if names:
        studies = [load_study(name) for name in dict.fromkeys(STUDIES if names == ["all"] else names)]
        if data is None:
            raise ParameterError("A study reads public data sets: name their folder with --data. Found none.")
        choice = _chosen(studies, encoders=encoder, defences=defence, attacks=attack)
        setting = Setting(data, quick, seed, device, cache, choice=choice)
        results = _results(studies, setting, output, part or [], again, jobs)
    for each in page or []:
        filled = _fill(each, output)
        out.print(
            f"Filled {each}" if filled else f"{each} has no mark to fill, such as <!-- study sparse -->"
        )
    write_json(json, {name: results[name] for name in STUDIES if name in results})
