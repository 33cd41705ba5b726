"""What every command shares: one console, one rule for outputs, one way to write JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from sfumato.cli.manners import is_quiet
from sfumato.errors import ArtifactError, InputError
from sfumato.files import require_room, write_atomic

STANDARD_OUTPUT = "-"
_json_on_standard_output = False


def checked_output(place: Any) -> Any:
    """Refuse, before any work is done, an output that cannot be written: the callback of options for one."""
    if place is not None and "://" not in str(place):
        if str(place) == STANDARD_OUTPUT:
            raise InputError("Standard output (-) is for --json alone. Name a file.")
        require_room(place)
    return place


def _json_output(place: Path | None) -> Path | None:
    global _json_on_standard_output
    _json_on_standard_output = place is not None and str(place) == STANDARD_OUTPUT
    return place if _json_on_standard_output else checked_output(place)


JsonOption = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the results as JSON to FILE as well; - for standard output, and the rest to the screen.",
        dir_okay=False,
        callback=_json_output,
    ),
]


def json_on_standard_output() -> bool:
    """Whether standard output is for JSON, so that all else goes to standard error."""
    return _json_on_standard_output


def console(*, aside: bool = False) -> Console:
    """Standard output, or standard error if told so or beside `--json -`; plain when it is not a terminal."""
    aside = aside or json_on_standard_output()
    return Console(stderr=aside, soft_wrap=not Console(stderr=aside).is_terminal, quiet=is_quiet())


def as_json(data: Any) -> str:
    """The form in which commands write their results."""
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def write_json(path: Path | None, data: Any) -> None:
    """Write `data` to `path` if one was given, or to standard output if that is `-`."""
    if path is None:
        return
    written = as_json(data)
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.write(written)
        sys.stdout.flush()
    else:
        write_atomic(path, written.encode())


@contextmanager
def kept_elsewhere(place: Path, save: Callable[[Path], object]) -> Iterator[None]:
    """Where the block cannot write to its place after all, save to a folder that only the user reads.

    What took long to make is not lost to a full disk; the error that ends the command says where it is.
    """
    try:
        yield
    except ArtifactError as error:
        try:
            other = Path(tempfile.mkdtemp(prefix="sfumato-")) / place.name
            save(other)
        except (ArtifactError, OSError):
            raise error from None
        raise ArtifactError(f"{error} It was kept at `{other}`.") from None


def write_result(path: Path, data: bytes) -> None:
    """Write a result that took long to make."""
    with kept_elsewhere(path, lambda other: write_atomic(other, data, permissions=0o600)):
        write_atomic(path, data)


def make_folder(folder: Path) -> None:
    """Make a folder for results, in one that is there."""
    checked_output(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"`{folder}` has to be a folder. Found a file. Choose another name.")
    folder.mkdir(exist_ok=True)


@contextmanager
def results_folder(folder: Path) -> Iterator[None]:
    """Make a folder for the results of a block; it goes again if nothing was put there."""
    make_folder(folder)
    try:
        yield
    finally:
        with suppress(OSError):  # it is not empty
            folder.rmdir()
