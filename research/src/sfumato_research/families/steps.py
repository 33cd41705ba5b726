"""The steps of the study on a machine with many cores and a GPU, each of which can be started again.

    python -m sfumato_research.families found --data D --cache C     # groups, and what our detector finds
    python -m sfumato_research.families vectors use-lite --data D --cache C
    python -m sfumato_research.families cells --data D --cache C --device cuda
    python -m sfumato_research.families cells --data D --cache C --few --cuts 1    # on a processor

Cells are measured cut by cut: the first cut of every concept and encoder, then the second, and so on. A step
of which something failed, or whose encoder is not here, ends with exit code 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from sfumato.accounting.identity import canonical
from sfumato.embedders.fake import Fake
from sfumato.embedders.reach import within_reach
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato_research.families.cells import CUTS, FOLDER, cuts_there, measured
from sfumato_research.families.ground import (
    GROUPED_BY,
    ON_DISK,
    CellGround,
    grouped,
    keep_found,
    stand,
    texts_of,
)
from sfumato_research.frontier.found import informed_texts
from sfumato_research.frontier.measure import arrays_path, cut_texts, sizes
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder
from sfumato_research.studies.encoders import study_encoder

CONCEPTS = ("place", "person")
MODELS = ("use-lite", "smollm2", "minilm", "wordllama", "encoder768", "use-multilingual")
SHARD = 1500
_BEGUN = time.monotonic()


def say(step: str) -> None:
    """A line with the time."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} +{time.monotonic() - _BEGUN:.0f}s {step}\n")
    sys.stdout.flush()


def main() -> None:
    """Read the options and run one step."""
    read = argparse.ArgumentParser(prog="families")
    read.add_argument("step", choices=("found", "vectors", "cells"))
    read.add_argument("models", nargs="*", default=[])
    read.add_argument("--data", type=Path, required=True)
    read.add_argument("--cache", type=Path, required=True)
    read.add_argument("--device", default="cpu")
    read.add_argument("--concepts", nargs="+", default=list(CONCEPTS))
    read.add_argument("--cuts", type=int, default=CUTS)
    read.add_argument("--processes", type=int, default=8)
    read.add_argument("--quick", action="store_true")
    read.add_argument("--few", action="store_true", help="as a processor carries it")
    given = read.parse_args()
    setting = Setting(
        data=given.data, cache=given.cache, quick=given.quick, few=given.few, device=given.device, on_step=say
    )
    if given.step == "found":
        failed = look(setting, given.concepts, given.cuts, given.processes)
    elif given.step == "vectors":
        failed = sum(fill(setting, given.concepts, model, given.processes) for model in given.models)
    else:
        models = given.models or list(MODELS)
        failed = run_cells(setting, given.concepts, models, given.cuts, given.processes)
    if failed:
        say(f"{failed} tasks are not done")
        sys.exit(1)


def look(setting: Setting, concepts: Sequence[str], cuts: int, processes: int) -> int:
    """Work out the groups, then look for the concepts in every text that is known beforehand.

    Returns:
        How many tasks failed.
    """
    tasks: list[Callable[[], object]] = []
    for name in concepts:
        case, use, public = texts_of(name, setting)
        groups = grouped(name, case, setting)
        say(f"{name}: {len(case.texts)} texts in {len(set(groups.tolist()))} groups")
        texts = [*case.texts, *use.every, *public]
        plain = encoder(replace(setting, cache=None), GROUPED_BY)
        texts += within_reach(plain, [canonical(text) for text in texts])
        for cut in range(cuts):
            pool = cut_texts(case, sizes(setting), RememberingEmbedder(Fake(dim=8)), cut, groups)
            texts += informed_texts(pool, sizes(setting), cut)
        different = sorted(dict.fromkeys(texts), key=len, reverse=True)  # the longest first: even loads
        shards = max(1, -(-len(different) // SHARD))
        for shard in range(shards):
            part = different[shard::shards]
            tasks.append(partial(_found, case.looked_for, part, shard, replace(setting, on_step=print)))
        say(f"{name}: {len(different)} texts to look at, {shards} shards")
    return _spread(tasks, processes)


def _found(name: str, texts: list[str], shard: int, setting: Setting) -> None:
    say(f"{name}, shard {shard}: {keep_found(name, texts, shard, setting)} texts looked at")


def fill(setting: Setting, concepts: Sequence[str], model: str, processes: int) -> int:
    """Embed what all cuts share into the file of a slow encoder; return how many processes failed."""
    texts: list[str] = []
    for name in concepts:
        case, use, public = texts_of(name, setting)
        texts += [*case.texts, *use.every, *public]
    different = sorted(dict.fromkeys(texts), key=len, reverse=True)
    encoder(setting, model).embed(different[:1])  # makes the file
    parts = [different[part::processes] for part in range(processes)]
    say(f"{model}: {len(different)} texts to embed")
    plain = replace(setting, on_step=print)
    return _spread([partial(_embedded, model, part, plain) for part in parts], processes)


def _embedded(model: str, texts: list[str], setting: Setting) -> None:
    encoder(setting, model).embed(texts)
    say(f"{model}: {len(texts)} texts embedded")


def run_cells(
    setting: Setting, concepts: Sequence[str], models: Sequence[str], cuts: int, processes: int
) -> int:
    """Every concept and encoder in a process of its own; return how many are not done."""
    plain = replace(setting, on_step=print)
    tasks: list[Callable[[], object]] = []
    for name in concepts:
        for model in models:
            # A slow encoder's cuts are shared between two processes, in turns.
            shares = 2 if model in ON_DISK else 1
            for share in range(min(shares, cuts)):
                tasks.append(partial(cells, name, model, tuple(range(cuts))[share::shares], plain))
    return _spread(tasks, processes)


def cells(name: str, model: str, cuts: Sequence[int], setting: Setting) -> bool:
    """The cuts of one concept and encoder that are not there yet; return whether all of them are then."""
    setting = replace(setting, on_step=say)
    there = cuts_there(name, model, setting)
    left = [cut for cut in cuts if cut not in there]
    if not left or not _present(model):
        say(f"{name}, {model}: {'is not here' if left else 'all there'}")
        return not left
    kept: list[CellGround] = []

    def ground() -> CellGround:
        if not kept:
            kept.append(stand(name, model, setting))
            say(f"{name}, {model}: ready")
        return kept[0]

    for cut in left:
        measured(name, model, cut, setting, ground)
        path = arrays_path(name, model, cut, setting, FOLDER)
        say(f"{name}, {model}, cut {cut}: kept, {0 if path is None else path.stat().st_size} bytes")
    return True


def _present(model: str, wait: float = float(os.environ.get("SFUMATO_WAIT", "0"))) -> bool:
    """Whether an encoder is here, or comes within so many seconds; our own says when it is whole."""
    end = time.monotonic() + wait
    while True:
        chosen = study_encoder(model)
        folder = Path(os.environ.get(chosen.folder, "")) if chosen.folder else None
        if chosen.present and (model != "encoder768" or (folder is not None and (folder / "READY").exists())):
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(2)


def _spread(tasks: Sequence[Callable[[], object]], processes: int) -> int:
    """Run tasks in their order, so many at once; one that fails stops no other. Return how many did."""
    if processes <= 1:
        return sum(not _guarded(task) for task in tasks)
    with get_context("spawn").Pool(processes, maxtasksperchild=None) as pool:
        return sum(not well for well in pool.imap_unordered(_guarded, tasks))


def _guarded(task: Callable[[], object]) -> bool:
    """Whether a task went well; one that did not says so."""
    os.environ["SFUMATO_THREADS"] = "1"
    try:
        return task() is not False
    except Exception:
        say("failed:\n" + traceback.format_exc())
        return False
