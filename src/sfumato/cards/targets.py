"""What a card is of: a protector, or a sealed collection as its store shows it; described, and certified."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.certifying import CANDIDATES, miss_rate_of
from sfumato.errors import InputError
from sfumato.explaining import certificate_for
from sfumato.protector import Protector
from sfumato.sealing.inspection.snapshot import Snapshot

_PROMISE = ("mechanism", "metric", "proof", "delta", "worst_case_l2", "epsilon")
_SEALED = {
    "mechanism": "sealed", "metric": "none", "proof": "conditional", "delta": 0.0, "worst_case_l2": "inf",
    "epsilon": "inf",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CardTarget:
    """What a card is of, opened."""

    opened: Protector | Snapshot
    described: dict[str, Any]

    def certificate(self, known: Mapping[str, Any] | None, candidates: int | None = None) -> dict[str, Any]:
        """The certificate, with what an audit or a card counted of the detector's misses.

        Args:
            known: the certificate of the audit or of the card; None where it has none.
            candidates: how many equally likely terms there are; as in the known one, if left out.
        """
        try:
            rate = None if known is None else known.get("detector")
            missed = None if rate is None else miss_rate_of(int(rate["texts"]), int(rate["missed"]))
            count = candidates or (CANDIDATES if known is None else int(known["candidates"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                "The audit's certificate is not one of this version. Run the audit again."
            ) from None
        return certificate_for(self.opened, candidates=count, detector=missed)


def open_target(target: str, allow_remote: Collection[str] = ()) -> CardTarget:
    """Open a protector's folder, or look at the sealed collection that a store's address names."""
    if Path(target).exists() or ":" not in target:
        from sfumato.saving import load_protector, protector_digest

        made = load_protector(target, allow_remote=allow_remote)
        return CardTarget(
            made, describe_protector(made, Path(target).resolve().name, protector_digest(target))
        )
    from sfumato.sealing.inspection.snapshot import is_sealed, look_at
    from sfumato.stores.opening import open_store

    with open_store(target, create=False) as store:
        if not is_sealed(store):
            raise InputError(
                f"{store.label} is not sealed. Make a card of the protector that released its rows."
            )
        seen = look_at(store)
    return CardTarget(seen, describe_store(seen))


def describe_protector(protector: Protector, name: str, digest: str) -> dict[str, Any]:
    """Which protector it is: what it hides and how, its digests, and its promise in epsilons.

    Args:
        protector: what releases.
        name: of its folder.
        digest: SHA-256 of the folder.
    """
    promise = protector.guarantee.to_dict()
    return {
        "kind": "protector",
        "name": name,
        "sha256": digest,
        "settings_digest": protector.settings_digest(),
        "embedder": protector.learned.model_id,
        "dim": protector.dim,
        "learned_from": protector.learned.source,
        "concepts": [
            {"name": each.name, "source": each.source, "found_by": each.found_by, "terms": len(each.terms)}
            for each in protector.concepts
        ],
        "neutral": protector.neutral_copies,
        "neutral_by": protector.neutral_by if protector.embeds_neutral else None,
        "only_matching": protector.only_matching,
        "sealed": None,
        "promise": {key: promise[key] for key in _PROMISE},
    }


def describe_store(seen: Snapshot) -> dict[str, Any]:
    """What a sealed collection shows: how many records there are of each size, and whether anything else."""
    return {
        "kind": "sealed collection",
        "name": seen.label,
        "sha256": None,
        "settings_digest": None,
        "embedder": None,
        "dim": None,
        "learned_from": None,
        "concepts": [],
        "neutral": 0,
        "neutral_by": None,
        "only_matching": False,
        "sealed": {
            "records": seen.records,
            "sizes": len(seen.sizes),
            "checks": len(seen.checks),
            "broken": sum(not each.holds for each in seen.checks),
        },
        "promise": dict(_SEALED),
    }
