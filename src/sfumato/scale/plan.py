"""The plan of a release: its inputs, its parts, what is settled for all of them, and what is already done.

A part is some rows of one input file. It becomes one file, with a record of it in `_sfumato/`. The file is
there or it is not; when it is, the part is done. A plan goes on where it stopped, and under the same settings
alone; what came before its first part leaves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Protocol

from sfumato.errors import ArtifactError, InputError
from sfumato.inputs.names import USUAL, ColumnNames
from sfumato.protector import Protector
from sfumato.scale.places import Folder

OWN = "_sfumato"
PLAN = f"{OWN}/plan.json"
PIECES = f"{OWN}/pieces"
"""What is done of parts that are not finished."""
Record = dict[str, Any]
"""What a finished part is: its file, digest, rows, and where they came from."""


@dataclass(frozen=True, slots=True)
class ReleasePart:
    """Consecutive rows of one input file, released into one file."""

    name: str
    source: str
    groups: tuple[int, ...] = ()
    """Row groups, where the input is a Parquet file that is read at any place."""
    first_row: int = 0
    rows: int | None = None
    """None where only the released file knows."""

    @property
    def record(self) -> str:
        """Where the part is described once it is done."""
        return f"{OWN}/{self.name}.json"


@dataclass(frozen=True, slots=True)
class ReleaseJob:
    """All that a worker has to know beside its protector."""

    source: str
    """The folder of the input files."""
    output: str
    """The folder of the parts."""
    keep_columns: tuple[str, ...] = ()
    id_column: str | None = None
    names: ColumnNames = USUAL
    stamp: str = ""
    """A digest of the plan: written into every part, so that those of another run are told apart."""


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """Everything that decides the output."""

    inputs: Mapping[str, Any]
    """The input files, with what tells one version of each from another."""
    settings: Mapping[str, Any]
    """What is settled for all parts."""
    parts: tuple[ReleasePart, ...] = ()
    """None where the input is cut while it is read."""

    @classmethod
    def of(
        cls,
        protector: Protector,
        source: Folder,
        inputs: Collection[str],
        parts: Collection[ReleasePart] = (),
        *,
        keep_columns: Collection[str],
        id_column: str | None = None,
        names: ColumnNames = USUAL,
        part_rows: int,
    ) -> ReleasePlan:
        """Plan to release files of a folder with a protector that holds its secret."""
        encoder = protector.embedder
        settings: dict[str, Any] = {
            "protector": protector.settings_digest(),
            "embedder": encoder if isinstance(encoder, str) or encoder is None else encoder.name,
            "keep_columns": list(keep_columns),
            "id_column": id_column,
            "part_rows": part_rows,
            "sticky": protector.noise_id,
            "tenant": protector.tenant,
            "collection": protector.collection,
        }
        if given := names.to_dict():
            settings["columns"] = given
        return cls({name: source.state(name) for name in sorted(inputs)}, settings, tuple(parts))

    @classmethod
    def read(cls, place: Folder) -> ReleasePlan | None:
        """The plan of an earlier run, if there was one."""
        if place.state(PLAN) is None:
            return None
        with place.open(PLAN) as handle:
            settings = dict(json.loads(handle.read()))
        parts = settings.pop("parts")
        made = (ReleasePart(name, source, tuple(groups), *rows) for name, source, groups, *rows in parts)
        return cls(settings.pop("inputs"), settings, tuple(made))

    def write(self, place: Folder) -> None:
        """Keep it beside the parts."""
        place.write(PLAN, json.dumps(self._all(), sort_keys=True).encode())

    @property
    def stamp(self) -> str:
        """A digest of what is settled for all parts: correcting one input leaves parts of others valid."""
        # Without the encoder, as in earlier versions: released files hold it, and keep their bytes.
        return _digest({**self.settings, "embedder": None})

    @property
    def digest(self) -> str:
        """A digest of all of it."""
        return _digest(self._all())

    def differing(self, other: ReleasePlan) -> set[str]:
        """The settings in which two plans are not the same."""
        own, others = json.loads(json.dumps(self._all())), json.loads(json.dumps(other._all()))
        return {key for key in {*own, *others} if own.get(key) != others.get(key)}

    def _all(self) -> dict[str, Any]:
        return {
            "inputs": self.inputs,
            **self.settings,
            "parts": [list(asdict(part).values()) for part in self.parts],
        }


class Parts(Protocol):
    """Where the parts of a release are."""

    name: str
    """Of the output, for messages."""

    @property
    def place(self) -> Folder:
        """The folder that they and their records are in."""

    def published(self, plan: ReleasePlan) -> list[ReleasePart]:
        """The parts of a plan whose file is there."""

    def abandon(self, plan: ReleasePlan) -> None:
        """Delete every trace of a run."""

    def makes_way(self, before: ReleasePlan, plan: ReleasePlan) -> bool:
        """Whether what was done under an earlier plan can be drawn again under this one, unseen by anyone."""

    def refused(self) -> None:
        """Note that an input was refused: the release can never be finished as it was begun."""

    def prepare(self, plan: ReleasePlan, before: ReleasePlan | None) -> None:
        """Refuse what others left in the place of a first run, and remove what killed runs left."""

    def close(self, plan: ReleasePlan, done: dict[str, Record], protector: Protector) -> str:
        """Make the output of its parts, and its manifest last; return where that is."""


def begin(parts: Parts, plan: ReleasePlan, *, restart: bool) -> None:
    """Begin or resume; refuse to go on with other settings than a release was begun with."""
    before = ReleasePlan.read(parts.place)
    done = [] if before is None else parts.published(before)
    same = before is not None and not before.differing(plan)
    begun = done or (same and parts.place.holds(PIECES))
    if before is not None and (restart or not begun or parts.makes_way(before, plan)):
        parts.abandon(before)
        before = None
    if before is not None and not _corrected(before, plan, done):
        changed = before.differing(plan)
        if changed:
            raise InputError(
                f"An unfinished release to {parts.name} has other settings ({', '.join(sorted(changed))}). "
                "Finish it with those, or start again with --restart."
            )
    parts.prepare(plan, before)
    if not same:
        parts.place.empty(PIECES)  # they may be of rows that were corrected since
    plan.write(parts.place)


def recorded(parts: Parts, plan: ReleasePlan) -> Iterator[tuple[str, Record]]:
    """The records of the parts that are done; a part with its file and no record is left to a worker."""
    for part in parts.published(plan):
        if parts.place.state(part.record) is None:
            continue
        with parts.place.open(part.record) as handle:
            record = json.loads(handle.read())
        if record["bytes"] != (parts.place.state(part.name) or {}).get("bytes"):
            raise InputError(f"{part.name} in {parts.name} was changed after its release. Use --restart.")
        yield part.name, record


@contextmanager
def nothing_left(parts: Parts, plan: ReleasePlan, *, elsewhere: bool) -> Iterator[None]:
    """Delete the plan of a run that fails before its first part, and note that an input was refused."""
    try:
        yield
    except BaseException as error:
        refused = isinstance(error, InputError) and not isinstance(error, ArtifactError)
        kept = parts.published(plan) or (not refused and parts.place.holds(PIECES))
        # A worker elsewhere may still be writing one, which the plan has to account for.
        if not elsewhere and not kept:
            parts.abandon(ReleasePlan({}, {}))
        elif refused:
            parts.refused()
        raise


def _corrected(before: ReleasePlan, plan: ReleasePlan, done: list[ReleasePart]) -> bool:
    """Whether all that changed are input files of which nothing has been released, such as a refused one."""
    was, now = before.inputs, plan.inputs
    changed = {name for name in now if was.get(name) != now[name]}
    same_files = was.keys() == now.keys() and before.differing(plan) <= {"inputs", "parts"}
    return same_files and not any(part.source in changed for part in done)


def _digest(value: Mapping[str, Any]) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
