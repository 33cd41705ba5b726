"""The state folder: the secret of sticky noise, one ledger a tenant, and a list of all ledgers ever made.

A ledger that is gone would start again with nothing spent, so one that is on the list and missing is refused.
The list only grows: a name is put on it, and taken off by a line with a dash before it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from sfumato.accounting import Guarantee, Ledger
from sfumato.accounting.curves import summed
from sfumato.accounting.ledger_file import Counting
from sfumato.errors import ArtifactError, InputError
from sfumato.promise import counted_loss
from sfumato.protector import Protector
from sfumato.reference import open_ledger, read_secret
from sfumato.server.settings import CLEAN_UNDER_CEILING
from sfumato.server.tenancy.keys import TENANT

SECRET_VARIABLE = "SFUMATO_SECRET"
OLD_FOLDER = Path("sfumato-state")
"""Where version 0.1 kept its state unless it was told otherwise: in the folder it was started from."""
_LIST, _LEDGERS = "ledgers.list", "ledgers"


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """How a tenant's ledger counts, and the most that one text may spend in it."""

    counting: str = "auto"
    ceiling: float | None = None
    ceiling_advantage: float | None = None
    distance: float | None = None
    clean_queries: bool = False


class State:
    """A state folder that is complete; a new one is made, closed to others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            for each in (folder, folder / _LEDGERS):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
            known = _listed(folder)
            for name in _there(folder) - known:  # of a version without a list, or killed before it was on it
                _note(folder, name)
            missing = sorted(known - _there(folder))
        except OSError as error:
            raise InputError(f"The state folder {folder} cannot be made: {error.strerror}.") from None
        if missing:
            raise InputError(
                f"The ledger of {', '.join(missing[:3])} is missing from {folder / _LEDGERS}, and what was "
                f"spent would be forgotten. Put it back, or say --new-ledger {missing[0]} for an empty one."
            )
        stated = bool(os.environ.get(SECRET_VARIABLE))
        self.secret = read_secret(
            f"env:{SECRET_VARIABLE}" if stated else f"file:{folder / 'secret'}", create=True
        )

    def ledger(self, tenant: str, protector: Protector, limits: SpendingLimits) -> Ledger:
        """Open a tenant's ledger, which keeps its way of counting, or make its first one."""
        path = _ledger(self.folder, tenant)
        there = path.exists()
        if not there and tenant in _listed(self.folder):
            raise ArtifactError(f"The ledger {path} is missing. Put it back, or say --new-ledger {tenant}.")
        counting = counted_in(limits.counting, protector.guarantee)
        opened = self._open(path, limits, None if there and counting != "curve" else counting)
        if tenant not in _listed(self.folder):
            _note(self.folder, tenant)
        refuse_ceiling(protector, opened.metric, limits)
        return opened

    def check(self, tenant: str, protector: Protector, limits: SpendingLimits) -> None:
        """Refuse what `ledger` would refuse, without making one."""
        path = _ledger(self.folder, tenant)
        counted = counted_in(limits.counting, protector.guarantee)
        if path.exists() and counted != "curve":
            counted = self._open(path, limits, None).metric
        refuse_ceiling(protector, counted, limits)

    def _open(self, path: Path, limits: SpendingLimits, metric: Counting | None) -> Ledger:
        return open_ledger(
            f"file:{path}",
            self.secret,
            ceiling=limits.ceiling,
            counting=metric,
            ceiling_advantage=limits.ceiling_advantage,
            distance=limits.distance,
        )


def start_anew(folder: Path, tenant: str) -> Path | None:
    """Let a tenant's next ledger be an empty one; one that is there is put aside, and where is returned."""
    path, aside = _ledger(folder, tenant), None
    if not path.exists() and not (folder.is_dir() and tenant in _listed(folder)):
        raise InputError(f"There is no ledger of {tenant!r:.70} in {folder}. Check the name and --state.")
    if path.exists():
        stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        aside = path.with_name(f"{path.name}.until-{stamp}")
        os.rename(path, aside)
    _note(folder, f"-{tenant}")
    return aside


def counted_in(counting: str, guarantee: Guarantee) -> Counting:
    """How a new ledger counts: in the worst case per unit of distance, unless there is none or it is told."""
    if counting == "curve":
        return "curve"
    if counting == "auto":
        return "l2" if guarantee.worst_case_l2 < float("inf") else "own"
    return "own" if counting == "own" else "l2"


def refuse_ceiling(protector: Protector, metric: Counting, limits: SpendingLimits) -> None:
    """Refuse a ceiling under which not even one release fits."""
    if limits.clean_queries and (limits.ceiling is not None or limits.ceiling_advantage is not None):
        raise InputError(f"Clean queries {CLEAN_UNDER_CEILING}")
    guarantee, ceiling = protector.guarantee, limits.ceiling
    if metric == "curve":
        _refuse_advantage(protector, limits)
    elif limits.ceiling_advantage is not None:
        raise InputError(
            "A ceiling of advantage is for a gateway with --accounting curve. Say so, or drop it."
        )
    if ceiling is None:
        return
    if not guarantee.is_private:
        raise InputError("This protector promises nothing, so no release fits under a ceiling. Leave it out.")
    cost = guarantee.worst_case_l2 if metric == "l2" else guarantee.epsilon
    if cost > ceiling * (1 + 1e-9):
        unit = "in the worst case per unit of distance" if metric == "l2" else f"in {guarantee.metric}"
        raise InputError(
            f"One release costs epsilon {cost:.6g}, counted {unit}, so none fits under the ceiling "
            f"{ceiling:g}. Raise the ceiling, leave it out, or choose a stronger protector."
        )


def _refuse_advantage(protector: Protector, limits: SpendingLimits) -> None:
    if limits.ceiling is not None:
        raise InputError(
            "A ceiling adds epsilons up, and curves are counted here. Give --ceiling-advantage in its place."
        )
    dim = protector.dim
    if limits.ceiling_advantage is None or dim is None:
        return
    loss = counted_loss(
        protector.mechanism,
        protector.learned,
        dim,
        distance=limits.distance,
        only_matching=protector.only_matching,
    )
    told = 1.0 if loss is None else summed([(loss, 1)]).advantage
    if told > limits.ceiling_advantage:
        raise InputError(
            f"One release has an advantage of up to {told:.3g} over a coin, so none fits under the ceiling "
            f"{limits.ceiling_advantage:g}. Raise it, leave it out, or choose a stronger protector."
        )


def _ledger(folder: Path, tenant: str) -> Path:
    return folder / _LEDGERS / f"{tenant}.sqlite"


def _there(folder: Path) -> set[str]:
    found = {path.stem for path in (folder / _LEDGERS).glob("*.sqlite")}
    return {name for name in found if TENANT.fullmatch(name)}


def _listed(folder: Path) -> set[str]:
    try:
        lines = (folder / _LIST).read_text("ascii", "replace").split()
    except FileNotFoundError:
        return set()
    state = {line.removeprefix("-"): not line.startswith("-") for line in lines}
    return {name for name, kept in state.items() if kept and TENANT.fullmatch(name)}


def _note(folder: Path, line: str) -> None:
    """Add one line, which the system writes whole even where several processes add theirs."""
    handle = os.open(folder / _LIST, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, f"{line}\n".encode("ascii"))
        os.fsync(handle)
    finally:
        os.close(handle)
