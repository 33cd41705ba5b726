"""The rows of the table: each attack, what its attacker holds, and how it is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.attacks import ATTACKS
from sfumato_research.attackers import knowing, naming, pooling, practising
from sfumato_research.attackers.ground import Ground
from sfumato_research.attackers.knowing import KEPT, KNOWING, MEMBER, TOLD
from sfumato_research.attackers.naming import LINKED, NAMED, WRITTEN, registered
from sfumato_research.attackers.stolen import Measure

QUESTIONS: Mapping[str, str] = {
    NAMED: "names the hidden term",
    KNOWING: "names it, knowing the rest",
    WRITTEN: "writes the text",
    LINKED: "names the row",
    MEMBER: "is it there?",
    TOLD: "tells an attribute",
    KEPT: "finds the same neighbours",
}
"""In the order of the table; each has one scale. The last is no attack's: it says what is left of use."""


@dataclass(frozen=True, slots=True)
class Attacker:
    """One row, or one for each question it answers."""

    attack: str
    """Its name in the product's table; a row whose attack is not there or not installed is left out. None
    stands for a row that attacks nothing."""
    holds: str
    measure: Measure
    answers: tuple[str, ...]
    beside: str = ""
    """The row whose control and floor are its own, where it has none."""
    recent: bool = False
    """Whether it was added in 2026."""
    quick: bool = True
    """Whether a quick run has it."""
    on_cpu: str = ""
    """What it is called where it was run with the settings of a CPU, if its name says the ones of a GPU."""
    leads: bool = False
    """Whether it was the strongest on clean vectors before: without it, who is strongest is open."""

    @property
    def able(self) -> bool:
        """Whether the product has the attack, and all it needs."""
        return not self.attack or (self.attack in ATTACKS.names() and ATTACKS.installed(self.attack))


_TEXTS = "texts like these, released alike"
_PUBLIC = f"{_TEXTS}; public sentences"
_STORED = "all that is stored; other news"
_READS = (NAMED, WRITTEN)

ATTACKERS: Mapping[str, Attacker] = {
    "tokens": Attacker("tokens", _TEXTS, naming.tokens, (NAMED,)),
    "tokens, mean of 16": Attacker(
        "tokens", f"{_TEXTS}; 16 releases of each", naming.averaged, (NAMED,), beside="tokens", quick=False
    ),
    "decoder": Attacker(
        "decoder",
        _PUBLIC,
        registered(
            "decoder", public=True, epochs=(6.0, 4.0, 0.5), width=(384, 192, 64), layers=(4, 2, 1),
            wordpieces=(12_000, 6000, 800), longest=(48, 32, 32), held_back=(0.02, 0.02, 0.05),
        ),
        _READS,
        quick=False,
    ),
    "corrector": Attacker(
        "corrector",
        f"{_PUBLIC}; the encoder",
        registered(
            "corrector", public=True, epochs=(6.0, 3.0, 0.5), width=(384, 192, 64), layers=(4, 2, 1),
            wordpieces=(12_000, 6000, 800), longest=(48, 32, 32), held_back=(0.02, 0.02, 0.05),
            corrections=(3.0, 1.0, 0.5), steps=(10, 3, 1), rows=(300, 150, 10),
        ),
        _READS,
        quick=False,
    ),
    "minilm": Attacker(
        "minilm", "nothing", registered("minilm", likeliest=(4, 4, 1), rows=(600, 600, 12)), _READS
    ),
    "minilm, 20 steps": Attacker(
        "minilm",
        "the encoder",
        registered("minilm", steps=(20, 5, 1), branch=(8, 4, 1), beam=(4, 4, 1), rows=(300, 80, 5)),
        _READS,
        quick=False,
        on_cpu="minilm, 5 steps",
    ),
    "practised": Attacker(
        "practised",
        _PUBLIC,
        practising.at_once,
        _READS,
        recent=True,
        quick=False,
    ),
    "practised, 10 steps": Attacker(
        "practised",
        f"{_PUBLIC}; the encoder",
        practising.with_steps,
        _READS,
        recent=True,
        quick=False,
        on_cpu="practised, 2 steps",
        leads=True,
    ),
    "zero-shot": Attacker(
        "zero-shot",
        "the encoder; a language model",
        registered("zero-shot", queries=(2000, 500, 100), rows=(30, 5, 2)),
        _READS,
        recent=True,
        quick=False,
    ),
    "denoising": Attacker("denoising", _STORED, pooling.denoised, _READS, recent=True, quick=False),
    "neighbours": Attacker("neighbours", _PUBLIC, pooling.neighbours, _READS, recent=True, quick=False),
    "pooling": Attacker(
        "pooling",
        f"{_TEXTS}; 3 near-duplicates of each",
        pooling.pooled,
        (NAMED,),
        beside="tokens",
        recent=True,
        quick=False,
    ),
    "alignment": Attacker(
        "alignment", "1,000 pairs", naming.aligned, (*_READS, LINKED), quick=False
    ),
    "unpaired": Attacker(
        "unpaired", _STORED, naming.unpaired, (*_READS, LINKED), recent=True, quick=False
    ),
    "structure": Attacker(
        "structure", _STORED, naming.structure, _READS, recent=True, quick=False
    ),
    "informed": Attacker("informed", "the text but for its term", knowing.informed, (KNOWING,)),
    "oracle": Attacker(
        "oracle", "the same; asks the victim", knowing.oracle, (KNOWING,), recent=True, quick=False
    ),
    "linkage": Attacker("linkage", "1,000 known texts", knowing.linkage, (LINKED,)),
    "bits": Attacker("bits", "1,000 known texts", knowing.bits, (LINKED,)),
    "nearest release": Attacker("linkage", "the text itself", knowing.near_release, (MEMBER,)),
    "membership": Attacker("membership", "the text itself", knowing.membership, (MEMBER,), recent=True),
    "attributes": Attacker(
        "attributes", _TEXTS, knowing.attributes, (TOLD,), recent=True, quick=False
    ),
}  # fmt: skip
"""By the name of the row."""
OF_CPU: Mapping[str, str] = {each.on_cpu: name for name, each in ATTACKERS.items() if each.on_cpu}
"""Rows by what they are called on a CPU."""


def attackers(ground: Ground) -> list[str]:
    """Those of a full or a quick run that the product has."""
    quick = ground.setting.quick
    return [name for name, row in ATTACKERS.items() if row.able and (row.quick or not quick)]
