"""Values for the names in braces that a plan leaves open: `{DATA}` is what `--set DATA=FOLDER` says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sfumato.errors import InputError
from sfumato_research.queue.plan import QueuedJob, refuse

_OPEN = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
"""Capitals alone, so that braces of code and JSON stay what they are."""


def read_values(given: Sequence[str]) -> dict[str, str]:
    """What `--set NAME=VALUE`, given again and again, says."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not value or _OPEN.fullmatch(f"{{{name}}}") is None or name in found:
            raise InputError(
                f"--set must be NAME=VALUE, a name of capitals and each name once. Found {each!r:.80}."
            )
        found[name] = value
    return found


def open_names(jobs: Sequence[QueuedJob]) -> dict[str, list[str]]:
    """The names that jobs leave open, each with the jobs that do."""
    found: dict[str, list[str]] = {}
    for job in jobs:
        for name in dict.fromkeys(_OPEN.findall("\n".join([*job.run, *job.environment.values()]))):
            found.setdefault(name, []).append(job.name)
    return found


def filled(
    jobs: Sequence[QueuedJob], values: Mapping[str, str], plan: Sequence[QueuedJob]
) -> list[QueuedJob]:
    """Jobs with their values put in, or refuse: one has none, or one stands nowhere in the whole plan."""
    known = open_names(plan)
    wrong = [
        f"--set must give a name that the plan leaves open ({', '.join(known) or 'none is'}). "
        f"Found {name}. Leave it out."
        for name in values
        if name not in known
    ]
    wrong += [
        f"Job `{users[0]}`: {{{name}}} must have a value ({len(users)} jobs use it). Found none. "
        f"Add --set {name}=VALUE."
        for name, users in open_names(jobs).items()
        if name not in values
    ]
    refuse(wrong)

    def put(text: str) -> str:
        return _OPEN.sub(lambda match: values[match[1]], text)

    return [
        replace(
            job,
            run=tuple(map(put, job.run)),
            environment={key: put(each) for key, each in job.environment.items()},
        )
        for job in jobs
    ]
