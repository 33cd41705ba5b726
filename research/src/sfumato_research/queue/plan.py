"""A plan: a JSON list of jobs, the most important first, checked whole before anything starts.

    [{"name": "train", "run": ["python", "train.py"], "memory": 24, "cores": 4, "minutes": 10},
     {"name": "read", "run": ["python", "read.py"], "memory": 8, "cores": 2, "minutes": 5,
      "after": ["train"]}]

`memory` is of the GPU, in GB, and `minutes` an upper estimate. A job may also have `environment`, variables
that are set for it, and be `exclusive`: nothing else runs on the GPU beside it.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from sfumato.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """One command, what it may take, and what has to be done before it."""

    name: str
    run: tuple[str, ...]
    memory: float
    """GB of the GPU."""
    cores: int
    minutes: float
    """At most, by estimate."""
    after: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    exclusive: bool = False


def read_jobs(path: Path) -> list[QueuedJob]:
    """The jobs of a plan, or refuse it with a line for each error."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} must be JSON. Found an error: {error}. Correct it there.") from None
    if not isinstance(whole, list) or not whole:
        raise InputError(f"{path} must hold a list of jobs. Found {_shown(whole)}. Write one job at least.")
    wrong = [line for place, given in enumerate(whole, 1) for line in _wrong_in(place, given)]
    refuse(wrong or list(_wrong_between(whole)))
    return [
        QueuedJob(
            **{**given, "run": tuple(given["run"]), "after": tuple(dict.fromkeys(given.get("after", ())))}
        )
        for given in whole
    ]


def refuse(wrong: Sequence[str]) -> None:
    """Raise what is wrong, a line each, if anything is."""
    if wrong:
        raise InputError("\n".join(wrong))


def chosen_jobs(jobs: Sequence[QueuedJob], names: Sequence[str]) -> list[QueuedJob]:
    """Those of some names or patterns and all that they come after, in the plan's order; all for no name."""
    unknown = [name for name in names if not any(fnmatchcase(job.name, name) for job in jobs)]
    refuse(
        [
            f"--only must name a job of the plan, or be a pattern such as 'read-*'. Found {name!r:.80}. "
            "See the names with --list."
            for name in unknown
        ]
    )
    if not names:
        return list(jobs)
    by_name = {job.name: job for job in jobs}
    wanted: set[str] = set()
    left = [job.name for job in jobs if any(fnmatchcase(job.name, name) for name in names)]
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += by_name[name].after
    return [job for job in jobs if job.name in wanted]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and "\0" not in each for each in value)


def _is_environment(value: Any) -> bool:
    return isinstance(value, dict) and all(
        key and "=" not in key and _are_strings([key, each]) for key, each in value.items()
    )


_FIELDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "name": (
        "made of letters, digits, dots, dashes and underscores",
        lambda value: isinstance(value, str) and _NAME.fullmatch(value) is not None,
    ),
    "run": (
        "a list of words, the program first",
        lambda value: _are_strings(value) and bool(value) and bool(value[0]),
    ),
    "memory": ("a number of GB, 0 or more", lambda value: _is_number(value) and value >= 0),
    "cores": (
        "a whole number, 1 or more",
        lambda value: _is_number(value) and isinstance(value, int) and value >= 1,
    ),
    "minutes": ("a number above 0", lambda value: _is_number(value) and value > 0),
    "after": ("a list of names", _are_strings),
    "environment": ("an object of names and their values, all of them strings", _is_environment),
    "exclusive": ("true or false", lambda value: isinstance(value, bool)),
}
"""What each field must be."""
_NEEDED = ("name", "run", "memory", "cores", "minutes")


def _wrong_in(place: int, given: Any) -> Iterator[str]:
    """What is wrong with one job."""
    if not isinstance(given, dict):
        yield f"Job {place} must be an object. Found {_shown(given)}. Write its {', '.join(_NEEDED)}."
        return
    name = given.get("name")
    who = f"Job {place}" if not isinstance(name, str) or not name else f"Job `{name:.100}`"
    for key in given:
        if key not in _FIELDS:
            yield f"{who}: fields are {', '.join(_FIELDS)}. Found {key!r:.60}. Leave it out."
    for key, (rule, holds) in _FIELDS.items():
        if key in given and not holds(given[key]):
            yield f"{who}: `{key}` must be {rule}. Found {_shown(given[key])}. Correct it."
        elif key not in given and key in _NEEDED:
            yield f"{who}: `{key}` must be {rule}. Found none. Add it."


def _wrong_between(whole: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What is wrong with jobs that are right each by itself."""
    counts = Counter(given["name"] for given in whole)
    for name, count in counts.items():
        if count > 1:
            yield f"Job `{name}`: a name must stand for one job. Found {count} of them. Rename the others."
    graph: dict[str, list[str]] = {}
    for given in whole:
        known = [each for each in given.get("after", ()) if each in counts]
        for each in given.get("after", ()):
            if each not in counts:
                yield (
                    f"Job `{given['name']}`: `after` must name jobs of the plan. Found {each!r:.60}. "
                    "Correct it, or add that job."
                )
        graph.setdefault(given["name"], []).extend(known)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " after ".join(f"`{name}`" for name in reversed(error.args[1]))
        yield f"Jobs must not wait for each other. Found {circle}. Take one `after` out."


def _shown(value: Any) -> str:
    return f"{json.dumps(value):.60}"
