"""The certificate of whatever it is asked of: a protector, a protected store, or a sealed collection."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from sfumato.certificates.detection import MissRate
from sfumato.certificates.protecting import certificate_of
from sfumato.certificates.shown import shown_code, shown_geometry, shown_nothing
from sfumato.certificates.statement import ANY_GUESS, Certificate
from sfumato.errors import InputError, ParameterError
from sfumato.learned import Learned
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.sealing.inspection.snapshot import Snapshot, look_at
from sfumato.sealing.store import SealedStore
from sfumato.stores.base import Store
from sfumato.stores.protected import ProtectedStore
from sfumato.stores.provenance import PROVENANCE, provenance_of

Explained = Protector | ProtectedStore | SealedStore | Snapshot
_AT_ONCE = 1000
_NAMED = 6
_SHOWN: dict[str, tuple[str, ...]] = {"multimap": (), "codes": ("vectors",), "noise": ("vectors",)}
"""Handles of which something is certified, and what of a snapshot they do not keep."""
_LOOKED_AT = "looked at: ids, contents and vectors are like random ones, as far as {} checks can tell"


def certificate_for(target: Explained, **asked: Any) -> dict[str, Any]:
    """The certificate of a protector or a store as a dictionary ready for JSON.

    It holds `attacker`, `prior`, `success` {`median`, `p95`, `worst`}, `total_variation`, `bits` and
    `conditions`, and beside them what docs/certificates.md lists.

    Args:
        target: a protector, a `ProtectedStore`, a `SealedStore`, or what `look_at` saw of a sealed one.
        asked: what `explain` takes.
    """
    return explain(target, **asked).to_dict()


def explain(
    target: Explained,
    *,
    candidates: int = 10,
    guess: float = ANY_GUESS,
    distance: float | None = None,
    detector: MissRate | None = None,
    trials: int = 0,
    seed: int | None = None,
) -> Certificate:
    """Say what an attacker can do with what he is shown of a target; `certificate_of` has the arguments."""
    asked: dict[str, Any] = {"candidates": candidates, "guess": guess}
    noise: dict[str, Any] = {"distance": distance, "detector": detector, "trials": trials, "seed": seed}
    if isinstance(target, Protector):
        return certificate_of(target, **asked, **noise)
    if isinstance(target, ProtectedStore):
        found = certificate_of(target.protector, **asked, **noise)
        return replace(found, conditions=(*found.conditions, *_of_rows(target)))
    if isinstance(target, Snapshot):
        return _of_snapshot(target, asked)
    if isinstance(target, SealedStore):
        return _of_sealed(target, asked, noise)
    raise ParameterError(
        "The target must be a protector, a protected store or a sealed collection. "
        f"Found {type(target).__name__}."
    )


def _of_rows(target: ProtectedStore) -> list[str]:
    """What holds of the rows that really are in the store, and what stands beside their vectors."""
    own, fields = _survey(target.store, provenance_of(target.protector))
    if own[False] and not own[True]:
        raise InputError(
            f"No row of {target.store.label} carries the mark of this protector and key. Give the protector, "
            "--secret, --tenant and --collection that its rows were released with."
        )
    said = [
        f"holds for the {own[True]} rows that carry the mark of this protector; marks are not signed, and "
        "whoever may write to the store can write them"
    ]
    if own[False]:
        said.append(f"rows of the store without it: {own[False]}; nothing is certified for those")
    if fields:
        named = ", ".join(sorted(fields)[:_NAMED]) + (", …" if len(fields) > _NAMED else "")
        said.append(f"metadata stands beside the vectors as it is and is not covered: {named}")
    if target.queries == "clean":
        said.append("queries are sent as they are: who watches them reads their vectors")
    return said


def _survey(store: Store, mark: str) -> tuple[Counter[bool], set[str]]:
    """How many rows carry a mark and how many do not, and which other fields there are."""
    own: Counter[bool] = Counter()
    fields: set[str] = set()
    for rows in store.batches(_AT_ONCE):
        for metadata in rows.metadata:
            own[metadata.get(PROVENANCE) == mark] += 1
            fields |= set(metadata) - {PROVENANCE}
    return own, fields


def _of_snapshot(target: Snapshot, asked: dict[str, Any]) -> Certificate:
    sees = f"{target.records} records of {len(target.sizes)} sizes"
    broken = _beyond_sizes(target)
    if broken:
        hint = "what a handle such as codes shows is bounded where the key is given (--key)"
        return shown_geometry(sees, **asked, conditions=(*broken, hint))
    return shown_nothing(sees, **asked, conditions=(_LOOKED_AT.format(len(target.checks)),))


def _beyond_sizes(seen: Snapshot, allowed: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What a store shows beside counts and sizes; checks that a handle does not keep are allowed to fail."""
    return tuple(
        f"shows more than counts and sizes: {each.name}: {each.words}"
        for each in seen.checks
        if not each.holds and each.name not in allowed
    )


def _of_sealed(target: SealedStore, asked: dict[str, Any], noise: dict[str, Any]) -> Certificate:
    """By its handle, and by what is really in the store: whoever has the key may be wrong about that."""
    settings, sees = target.settings, target.sees
    options = settings.options
    if settings.handle not in _SHOWN:
        said = "which rows share cells says how near they are to each other: nothing bounds that"
        return shown_geometry(sees, **asked, conditions=(said,))
    seen = look_at(target.store)
    if broken := _beyond_sizes(seen, _SHOWN[settings.handle]):
        return shown_geometry(sees, **asked, conditions=broken)
    if settings.handle == "multimap":
        return shown_nothing(sees, **asked, conditions=(_LOOKED_AT.format(len(seen.checks)),))
    if settings.handle == "codes":
        taken = "rows are taken to show what this version writes: their codes are not looked at one by one"
        return shown_code(sees, int(options["bits"]), **asked, conditions=(taken,))
    if "noise_ratio" not in options:
        raise InputError("These rows were sealed with a release of your own. Explain that protector itself.")
    if not settings.dim:
        raise InputError("There is no row yet, and so no noise to speak of. Seal some first.")
    mechanism = Laplace.from_noise_ratio(options["noise_ratio"], dim=settings.dim)
    made = Protector(mechanism, learned=Learned(dim=settings.dim))
    found = certificate_of(made, **asked, **noise)
    sticky = "noise is sticky: a row that is sealed again shows the same vector; a query goes as it is"
    return replace(found, sees=sees, conditions=(*found.conditions, sticky))
