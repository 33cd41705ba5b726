"""Attacks that write texts, trained anew on each defence: rows of SPARSE's table 2 and of DPPN's table 3.

Both papers fine-tune Vec2Text for 50 epochs on each defence, and GEIA. They print the same levels of noise
under two names (epsilon 5 and 1, 10 and 2), so that Laplace and Purkayastha cells are measured once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from sfumato.devices import chosen_device
from sfumato.embedders import load_embedder
from sfumato.evaluation import Defence
from sfumato.trials.reading import AttackMethod, named
from sfumato_research.sparse.data import cells_of, corpus
from sfumato_research.sparse.geia import QUICK, SIZES, LanguageModelAttack, TunedSizes
from sfumato_research.studies.base import Setting
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.data import encoder
from sfumato_research.studies.measured import Measured, sizes

READ = 200
"""Attacked texts that are written back."""
EPOCHS = 50
"""Of fine-tuning, over the texts that are not attacked (SPARSE, appendix I.1; DPPN, appendix D)."""
NOT_COUNTED = "no verdict: {} does not read clean vectors well enough to count"
LITTLE = "too little training for a language model"
CONTROL = 0.1
"""How far above the floor an attack must read clean vectors, or what it reads of others says nothing."""
WRITERS = ("Vec2Text", "GEIA")


@lru_cache(maxsize=2)
def reading_comparison(setting: Setting) -> Comparison:
    """STS12 for an attacker who learns from every text that is not attacked."""
    suite = sizes(setting, rows=800, pool=3000, searches=400, epochs=15, copies=0, seeds=1, draws=1)
    kept = cells_of(setting, suite, "sts12", "readers")
    made = corpus(setting.data, "sts12")
    whole = Comparison(made, encoder(setting), suite, kept=kept, seed=setting.seed)
    return whole.narrowed(setting.pick(READ, 20)).widened()


def tuned_sizes(setting: Setting) -> TunedSizes:
    """How much the language model learns, on the study's device."""
    chosen: TunedSizes = setting.pick(SIZES[chosen_device(setting.device).type], QUICK)
    return chosen


def _learned_little(setting: Setting, attacks: Sequence[str]) -> bool:
    """Whether the language model is among them, and no GPU there for all that it is to learn and read."""
    return "GEIA" in attacks and chosen_device(setting.device).type != "cuda" and not setting.quick


def levels_read(setting: Setting, attacks: Sequence[str], epsilons: Sequence[int]) -> Sequence[int]:
    """The printed levels that attacks read: the language model, without a GPU, the weakest noise alone."""
    return (max(epsilons),) if _learned_little(setting, attacks) else epsilons


def says_nothing(setting: Setting, name: str, clean: Measured) -> bool:
    """Whether releases need not be read: the language model, without a GPU, where it does not read clean."""
    return _learned_little(setting, (name,)) and not reads_clean(clean)


@lru_cache(maxsize=4)
def writer(setting: Setting, name: str) -> AttackMethod:
    """One of the two attacks under the papers' name for it."""
    on = reading_comparison(setting)
    attacked = [on.split.texts[row] for row in on.split.attacked]
    plain = load_embedder("minilm")  # keeps nothing: hundreds of thousands of texts are made up
    if name == "GEIA":
        return LanguageModelAttack(setting, plain, attacked, tuned_sizes(setting)).method
    practice = setting.pick(EPOCHS * len(on.split.learn), 32)
    small: dict[str, Any] = {"batch": 16, "likeliest": 1} if setting.quick else {}
    return named("practised", on.split, embedder=plain, device=setting.device, practice=practice, **small)


def written(setting: Setting, name: str, release: str, make: Callable[[Comparison], Defence]) -> Measured:
    """What an attack writes back of a release."""
    on = reading_comparison(setting)
    setting.on_step(f"{name}, {release}")
    cell = f"{_sized(setting, name)}, {release}"
    return on.cells.measured(cell, lambda: on.measure(make(on), writer(setting, name)))


def written_clean(setting: Setting, name: str) -> Measured:
    """What it writes back of clean vectors, beside its floor and prior."""
    on = reading_comparison(setting)
    setting.on_step(f"{name}, clean")
    return on.cells.measured(f"{_sized(setting, name)}, clean", lambda: on.clean(writer(setting, name)))


def _sized(setting: Setting, name: str) -> str:
    """An attack as its cells are called: the language model learns less without a GPU."""
    sizes = tuned_sizes(setting)
    return f"{name} {sizes.public} {sizes.tuned}" if name == "GEIA" else name


def reads_clean(clean: Measured) -> bool:
    """Whether an attack counts: its control lies above its prior by its interval, and well above a floor."""
    leakage = clean.leakage
    low = (leakage.intervals["control"] or (leakage.control, leakage.control))[0]
    return low > leakage.prior and leakage.control > leakage.floor + CONTROL


def told_sizes(setting: Setting, attacks: Sequence[str]) -> str:
    """How long the writers among some attacks learn, for a note; nothing where none writes."""
    if not set(WRITERS) & set(attacks):
        return ""
    on = reading_comparison(setting)
    learned, tuned = len(on.split.learn), tuned_sizes(setting)
    practice = setting.pick(EPOCHS * learned, 32)
    steps = -(-tuned.tuned * (learned + tuned.beside) // tuned.batch)
    told = {
        "Vec2Text": f"Vec2Text: the ready-made reader, practised on {practice:,} fresh releases of each "
        f"defence ({EPOCHS} epochs over those texts, 60 % of them whole texts, the others parts of them or "
        "two joined); one attacker, one release.",
        "GEIA": f"GEIA: the first {tuned.blocks} of SmolLM2-135M's 30 blocks, taught with clean vectors of "
        f"{tuned.public:,} public sentences (epochs: {tuned.epochs}), then tuned to each defence for "
        f"{steps:,} steps of {tuned.batch}, {tuned.tuned} epochs over the texts and {tuned.beside:,} public "
        "sentences; one attacker, one release.",
    }
    read = (
        f"Attacks that write texts read {len(on.split.test)} texts and learn from the {learned:,} others of "
        "the pool."
    )
    left_out = "Without a GPU the weaker noise alone, and releases where it reads clean vectors well enough."
    cut = [left_out] if _learned_little(setting, attacks) else []
    return " ".join([read, *(told[name] for name in attacks if name in told), *cut])
