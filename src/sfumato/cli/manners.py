"""How much a command says: `--quiet` and `--verbose`, before its name or behind it."""

from __future__ import annotations

import sys
import time

from sfumato.errors import ParameterError

QUIET, VERBOSE = ("--quiet", "-q"), ("--verbose", "-v")
_FLAGS = {"quiet": QUIET, "verbose": VERBOSE}
_said: set[str] = set()
_began = time.monotonic()


def heard(arguments: list[str]) -> list[str]:
    """Take the two options out of a command line, wherever they stand before `--`, and keep to them."""
    global _began
    _began = time.monotonic()
    stop = arguments.index("--") if "--" in arguments else len(arguments)
    before, after = arguments[:stop], arguments[stop:]
    _said.clear()
    _said.update(name for name, flags in _FLAGS.items() if any(flag in before for flag in flags))
    if len(_said) > 1:
        raise ParameterError("A command is --quiet or --verbose. Found both. Leave one of them out.")
    return [word for word in before if word not in QUIET + VERBOSE] + after


def is_quiet() -> bool:
    """Whether nothing is to be said but warnings and errors."""
    return "quiet" in _said


def is_verbose() -> bool:
    """Whether more is to be said."""
    return "verbose" in _said


def cost() -> str:
    """What the command has used so far, in one line."""
    import resource  # Unix alone has it

    used = resource.getrusage(resource.RUSAGE_SELF)
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kibibytes elsewhere
    seconds, processor = time.monotonic() - _began, used.ru_utime + used.ru_stime
    return f"{seconds:.1f} s, {processor:.1f} s of processor, at most {used.ru_maxrss / unit:,.0f} MiB"
