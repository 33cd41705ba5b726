"""An audit made by hand, to test what is written about it without running one."""

from __future__ import annotations

from sfumato.auditing.comparison import BaselineRow
from sfumato.auditing.result import Audit
from sfumato.auditing.rows import AttackRow
from sfumato.auditing.verdict import decide
from sfumato.evaluation.utility import Utility
from sfumato.mechanisms import Laplace


def row(name="tokens", *, control=0.9, floor=0.3, released=0.33, counts=True, works=True, **more):
    """One attack; its excess follows from the figures."""
    excess = (released - floor) / (control - floor) if control > floor else None
    given = {
        "interval": None if excess is None else (excess - 0.03, excess + 0.03), "question": "which?",
        "prior": 0.05, "reads": "terms", "rows": 400, **more,
    }  # fmt: skip
    return AttackRow(
        name=name, control=control, floor=floor, released=released, excess=excess, works=works, counts=counts,
        **given,
    )  # fmt: skip


def utility(kept=0.97):
    return Utility("search nDCG@10", 0.6, 0.6 * kept, kept, 300, 0.95, (kept - 0.02, kept + 0.02))


def baseline(name, setting, excess, kept):
    return BaselineRow(
        name=name, setting=setting, released=0.5, excess=excess, interval=(excess - 0.04, excess + 0.04),
        utility=utility(kept), guarantee=f"{name}: no promise.", keyed=name == "rotation",
    )  # fmt: skip


def made_audit(*, rows=None, fail_above=0.1, source="terms", **more):
    """An audit with everything in it."""
    attacks = rows or [row(), row("informed", control=1.0, floor=0.02, released=0.05, counts=False)]
    settings = {
        "suite": "quick", "fail_above": fail_above, "worst_case": False, "baselines": True, "attacks": [],
        "rows": None, "seed": 0, "target": "protector", "parameters": {"epsilon": 100.0}, "neutral": 8,
        "concept": {"name": "disease", "source": source, "found_by": "2 listed terms", "terms": 2},
        "embedder": "model@1", "dim": 64, "texts": 900, "pool": 800, "learned_from": 500, "attacked": 400,
        "groups": 390, "releases_read": 3, "texts_embedded": 4000, "coverage": 0.95, "margin": 0.05,
        "sfumato": "0.1.0",
    }  # fmt: skip
    named = source == "terms"
    given = {
        "verdict": decide(attacks, fail_above), "attacks": tuple(attacks),
        "worst_case": next((each for each in attacks if each.name == "informed"), None),
        "left_out": (("minilm", "Not installed: pip install 'sfumato[minilm-inverter]'"),),
        "utilities": (utility(),),
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
