"""The `sfumato` command."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.manners import cost, heard, is_verbose
from sfumato.errors import ParameterError, SfumatoError, place_of
from sfumato.meant import did_you_mean
from sfumato.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

# Newer versions of typer carry their own copy of click.
_click: Any = import_module("typer._click.exceptions" if find_spec("typer._click") else "click.exceptions")

COMMANDS = (
    "demo",
    "learn",
    "protect",
    "migrate",
    "seal",
    "search",
    "erase",
    "verify-erased",
    "attack",
    "audit",
    "explain",
    "card",
    "rewrite",
    "serve",
    "mcp",
    "verify",
    "bench",
    "plan",
    "mechanisms",
    "attacks",
    "embedders",
    "stores",
    "concepts",
)
GROUP = "sfumato.commands"
"""Entry points under which other packages bring commands: modules with `NAME`, `EXAMPLE` and `command`."""
ELSEWHERE = {"study": "pip install -e ./research, in a copy of the project's repository"}
"""Commands of packages beside this one, and how to install them."""
_STOPPED = 130
_NEAR = {
    "train": "learn", "fit": "learn", "embed": "protect", "release": "protect", "privatize": "protect",
    "anonymize": "protect", "encrypt": "seal", "query": "search", "find": "search", "delete": "erase",
    "forget": "erase", "invert": "attack", "report": "audit", "test": "audit", "evaluate": "audit",
    "certify": "explain", "certificate": "explain", "server": "serve", "gateway": "serve", "run": "serve",
    "models": "embedders", "encoders": "embedders", "databases": "stores", "benchmark": "bench",
    "redact": "rewrite", "estimate": "plan", "memory": "mcp", "studies": "study", "example": "demo",
}  # fmt: skip
"""Other words for commands, to ask whether they were meant."""
_NEAR_OPTIONS = {
    "--output": "--out", "--model": "--embedder", "--encoder": "--embedder", "--eps": "--epsilon",
    "--noise": "--noise-ratio", "--column": "--text-column", "--field": "--text-column",
    "--vectors": "--embeddings", "--queries": "--searches", "--limit-above": "--fail-above",
    "--threshold": "--fail-above", "--category": "--concept", "--label": "--spans",
}  # fmt: skip
EPILOG = (
    "Exit codes: 0 success, 1 a failed verdict, 2 bad input, 3 no verdict. Every command takes --quiet "
    "(warnings and errors alone) and --verbose (where an error arose, and what the command cost)."
)

app = typer.Typer(
    name="sfumato",
    help="Blur what is private in a text embedding, keep what is useful, and prove both.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class CommandMissingWarning(UserWarning):
    """A command that another package brings could not be loaded."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Options of the command itself."""


def _register(arguments: list[str]) -> None:
    """Load the command that was named, or all of them for the list: each brings its own imports."""
    named = arguments[0] if arguments and not arguments[0].startswith("-") else None
    app.registered_commands.clear()  # of an earlier run in this process
    app.registered_groups.clear()
    if arguments == ["--version"]:
        return
    for module in _modules(named):
        if (group := getattr(module, "group", None)) is not None:
            app.add_typer(group, name=module.NAME)
        else:
            app.command(module.NAME, epilog=module.EXAMPLE)(module.command)


def _modules(named: str | None) -> Iterator[Any]:
    if named in COMMANDS:
        yield own_module(str(named))
        return
    brought = {point.name: point for point in entry_points(group=GROUP) if point.name not in COMMANDS}
    if named in brought:
        yield brought[named].load()
    elif named in ELSEWHERE:
        line = ELSEWHERE[named]
        raise ParameterError(f"`sfumato {named}` comes with a package of its own. Install it with: {line}.")
    elif named is not None:
        known = (*COMMANDS, *brought, *ELSEWHERE)
        hint = did_you_mean(named, known, _NEAR)
        raise ParameterError(f"There is no command {named!r:.60}.{hint} See: sfumato --help")
    else:
        yield from map(own_module, COMMANDS)
        yield from filter(None, map(_loaded, brought.values()))


def own_module(name: str) -> Any:
    """The module of a command that comes with this package."""
    return import_module(f"sfumato.cli.{name.replace('-', '_')}")


def _loaded(point: EntryPoint) -> Any:
    """A command of another package; one that is broken does not take the others with it."""
    try:
        return point.load()
    except Exception as error:
        what = f"`sfumato {point.name}`, which another package brings, cannot be loaded"
        warnings.warn(f"{what}: {type(error).__name__}.", CommandMissingWarning, stacklevel=2)
        return None


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    """Our own warnings in one line; others as Python shows them."""
    if category.__module__.partition(".")[0] == "sfumato":
        typer.echo(f"sfumato: warning: {message}", err=True)
    else:
        _python_shows(message, category, *rest, **more)


_python_shows: Any = warnings.showwarning


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends in one line on standard error and exit code 2."""
    if arguments is None:  # the program itself; a caller with arguments may listen in his own way
        warnings.showwarning = _show_warning
    code = _code(sys.argv[1:] if arguments is None else arguments)
    if code == _STOPPED:  # newer versions of typer make it of an interrupt themselves
        typer.echo("sfumato: stopped.", err=True)
    if is_verbose():
        typer.echo(f"sfumato: {cost()}", err=True)
    sys.exit(code)


def _code(arguments: list[str]) -> int:
    """Run a command, say what went wrong if something did, and return the exit code."""
    try:
        arguments = heard(arguments)
        _register(arguments)
        code = app(args=arguments, standalone_mode=False)
    except typer.Exit as stop:
        code = stop.exit_code
    except _click.NoSuchOption as error:
        return _refused(error, _no_option(error))
    except _click.ClickException as error:
        return _refused(error, error.format_message())
    except SfumatoError as error:
        return _refused(error, str(error))
    except OSError as error:
        return _refused(error, f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
    except (KeyboardInterrupt, typer.Abort):
        return _STOPPED
    return code if isinstance(code, int) else 0


def _no_option(error: Any) -> str:
    """What was wrong with an option, and which one may have been meant."""
    there = [name for each in error.ctx.command.params for name in each.opts] if error.ctx is not None else []
    hint = did_you_mean(error.option_name, [name for name in there if name.startswith("--")], _NEAR_OPTIONS)
    command = "" if error.ctx is None or not error.ctx.info_name else f" of `sfumato {error.ctx.info_name}`"
    return f"There is no option {error.option_name!r:.60}{command}.{hint} See its --help."


def _refused(error: Exception, line: str) -> int:
    """Say in one line what is wrong, and under `--verbose` where it was found."""
    if not line:  # the list of commands was shown instead
        return 2
    typer.echo(f"sfumato: {line}", err=True)
    if is_verbose():
        typer.echo(f"sfumato: found at {place_of(error)}", err=True)
    return 2
