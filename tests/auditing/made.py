"""An audit made by hand, to test what is written about it without running one."""

from __future__ import annotations

from sfumato.auditing.cautions import cautions
from sfumato.auditing.result import Audit
from sfumato.auditing.truth import Truth
from sfumato.auditing.verdict import Limits, decide
from sfumato.mechanisms import Laplace
from sfumato.metrics.utility import Utility
from sfumato.trials.rivals import BaselineRow
from sfumato.trials.rows import AttackRow
from sfumato.trials.touched import Use


def row(name="tokens", *, control=0.9, floor=0.3, prior=0.05, released=0.33, counts=True, works=True, **more):
    """One attack; its excess and its absolute leakage follow from the figures."""
    excess = (released - floor) / (control - floor) if floor is not None and control > floor else None
    absolute = (released - prior) / (control - prior) if control > prior else None
    given = {
        "interval": None if excess is None else (excess - 0.03, excess + 0.03),
        "absolute_interval": None if absolute is None else (absolute - 0.03, absolute + 0.03),
        "floor_is": None if floor is None else "removed", "separates": works and floor is not None,
        "question": "which?", "reads": "terms", "rows": 400, **more,
    }  # fmt: skip
    return AttackRow(
        name=name, control=control, floor=floor, prior=prior, released=released, excess=excess,
        absolute=absolute, works=works, counts=counts, **given,
    )  # fmt: skip


def informed(**more):
    """The attacker who chooses among fifty candidates."""
    return row("informed", **{"control": 1.0, "floor": 0.02, "counts": False, "floor_is": "chance", **more})


def utility(kept=0.97):
    return Utility("search nDCG@10", 0.6, 0.6 * kept, kept, 300, 0.95, (kept - 0.02, kept + 0.02))


def baseline(name, setting, excess, kept):
    return BaselineRow(
        name=name, setting=setting, released=0.5, excess=excess, interval=(excess - 0.04, excess + 0.04),
        absolute=excess, utility=utility(kept), guarantee=f"{name}: no promise.", keyed=name == "rotation",
    )  # fmt: skip


def made_audit(*, rows=None, fail_above=0.1, fail_absolute_above=None, source="terms", **more):
    """An audit with everything in it."""
    attacks = [row(), informed(released=0.05)] if rows is None else rows
    limits = Limits(fail_above, fail_absolute_above)
    verdict = decide(attacks, limits)
    worst = next((each for each in attacks if each.name == "informed"), None)
    settings = {
        "suite": "quick", "fail_above": fail_above, "fail_absolute_above": fail_absolute_above,
        "worst_case": False, "baselines": True, "attacks": [], "protector": "0" * 64, "truth_labels": [],
        "rows": None, "seed": 0, "target": "protector", "parameters": {"epsilon": 100.0}, "neutral": 8,
        "neutral_by": "copies",
        "concept": {"name": "disease", "source": source, "found_by": "2 listed terms", "terms": 2},
        "embedder": "model@1", "dim": 64, "texts": 900, "pool": 800, "learned_from": 500, "attacked": 400,
        "groups": 390, "releases_read": 3, "texts_embedded": 4000, "coverage": 0.95, "margin": 0.05,
        "sfumato": "0.1.0",
    }  # fmt: skip
    named = source == "terms"
    given = {
        "verdict": verdict, "truth": Truth("detector", "2 listed terms", own=True),
        "cautions": cautions(verdict, worst, None, limits, attacks),
        "attacks": tuple(attacks), "worst_case": worst,
        "left_out": (("minilm", "Not installed: pip install 'sfumato[minilm-inverter]'"),),
        "uses": (Use(utility(), utility(0.9), utility(0.99)),),
        "baselines": (
            baseline("laplace", "noise ratio 0.7", 0.93, 0.85), baseline("laplace", "ratio 1.4", 0.6, 0.3),
            baseline("leace", "terms erased", 0.4, 0.98), baseline("rotation", "", 1.0, 1.0),
        ),
        "guarantee": Laplace(epsilon=100.0).guarantee.to_dict(), "noise": {"ratio": 0.64, "cosine": 0.84},
        "terms": (
            {"term": "asthma" if named else None, "count": 30, "control": 0.9, "floor": 0.3, "released": 0.4},
            {"term": "gout" if named else None, "count": 20, "control": 0.8, "floor": None, "released": 0.1},
        ),
        "examples": (), "notes": (), "settings": settings, **more,
    }  # fmt: skip
    return Audit(**given)
