"""Runs a study part by part; each finished part is written down at once, so a stopped study goes on."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, process_time
from typing import Any

from sfumato.blocks import thread_count
from sfumato.errors import InputError, ParameterError
from sfumato.files import write_atomic
from sfumato.version import __version__
from sfumato_research.studies.base import Setting, Study, StudyPart

OnPart = Callable[[StudyPart, str], object]
"""A part and what happens to it: running, done, or kept from an earlier run."""


@dataclass(frozen=True, slots=True)
class StudyRun:
    """Where the results of a study are."""

    path: Path
    ran: tuple[str, ...]
    kept: tuple[str, ...]


def run_study(
    study: Study,
    setting: Setting,
    folder: Path,
    *,
    only: Collection[str] = (),
    again: bool = False,
    on_part: OnPart | None = None,
) -> StudyRun:
    """Run the parts that are not there yet.

    Args:
        study: the study.
        setting: how to run it.
        folder: where NAME.json and its drawings are written.
        only: names of parts; all, if left out.
        again: run parts anew that are there already.
        on_part: hears what is going on.
    """
    chosen = check_data(study, setting, only)
    path = folder / f"{study.name}.json"
    empty: dict[str, Any] = {"study": study.name, "parts": {}}
    result = read_result(path) if path.exists() else empty
    ran, kept = [], []
    for part in chosen:
        found = result["parts"].get(part.name)
        there = found and found["setting"]["quick"] == setting.quick
        if there and not again and not setting.choice:
            kept.append(part.name)
            _tell(on_part, part, "kept")
            continue
        _tell(on_part, part, "running")
        result = _kept(path, study, part.name, _run(part, setting, folder))
        ran.append(part.name)
        _tell(on_part, part, "done")
    return StudyRun(path, tuple(ran), tuple(kept))


def check_data(study: Study, setting: Setting, only: Collection[str] = ()) -> list[StudyPart]:
    """Return the chosen parts, or refuse: one is unknown, or data sets they read are missing."""
    chosen = _chosen(study, only)
    missing = sorted({need for part in chosen for need in part.needs if not (setting.data / need).is_dir()})
    if missing:
        raise InputError(
            f"The study {study.name} reads {', '.join(missing)}, not found in {setting.data}. "
            "Name the folder of the data sets with --data."
        )
    return chosen


def _kept(path: Path, study: Study, name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Add a part to the file, beside those that another run may have written meanwhile."""
    empty: dict[str, Any] = {"study": study.name, "parts": {}}
    result = read_result(path) if path.exists() else empty
    before = result["parts"].get(name)
    if (
        study.merge is not None
        and before is not None
        and before["setting"]["quick"] == found["setting"]["quick"]
    ):
        found = study.merge(before, found)
    parts = {**result["parts"], name: found}
    result["parts"] = {each.name: parts[each.name] for each in study.parts if each.name in parts}
    write_atomic(path, (json.dumps(result, indent=1, ensure_ascii=False) + "\n").encode())
    return result


def read_result(path: Path) -> dict[str, Any]:
    """The results of a study as they were written."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{path} must hold the JSON of a study. Found something else.") from None
    if not isinstance(result, dict) or "parts" not in result:
        raise InputError(f"{path} must hold the JSON of a study. Found no parts in it.")
    return result


def _chosen(study: Study, only: Collection[str]) -> list[StudyPart]:
    names = [part.name for part in study.parts]
    unknown = sorted(set(only) - set(names))
    if unknown:
        raise ParameterError(
            f"Parts of the study {study.name} are {', '.join(names)}. Found {', '.join(unknown)}."
        )
    return [part for part in study.parts if not only or part.name in only]


def _run(part: StudyPart, setting: Setting, folder: Path) -> dict[str, Any]:
    wall, processor = monotonic(), process_time()
    outcome = part.run(setting)
    for figure in outcome.figures:
        write_atomic(folder / figure.name, figure.svg.encode())
    return {
        "title": part.title,
        "setting": {"quick": setting.quick, "seed": setting.seed, "device": setting.device},
        "machine": machine(),
        "seconds": round(monotonic() - wall, 1),
        "processor_seconds": round(process_time() - processor, 1),
        **outcome.to_dict(),
    }


def machine() -> dict[str, Any]:
    """What a part ran on."""
    return {
        "cores": os.cpu_count(),
        "threads": thread_count(None),
        "architecture": platform.machine(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "sfumato": __version__,
    }


def _tell(on_part: OnPart | None, part: StudyPart, state: str) -> None:
    if on_part is not None:
        on_part(part, state)
