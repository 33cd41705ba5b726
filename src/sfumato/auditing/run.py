"""The audit: attacks with their controls, utility, baselines and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.attacks import ATTACKS
from sfumato.auditing.averaging import averaging_row
from sfumato.auditing.comparison import BaselineRow, compare, installed_baselines
from sfumato.auditing.control import works
from sfumato.auditing.examples import READY_MADE, Shown, examples, shown_by
from sfumato.auditing.facts import noise_of, settings_of
from sfumato.auditing.identity import bits_row, linkage_row
from sfumato.auditing.informed import NAME as INFORMED
from sfumato.auditing.informed import informed_row
from sfumato.auditing.material import Material
from sfumato.auditing.reading import (
    Instrument,
    Reading,
    Scale,
    Tell,
    attack,
    calibrate,
    leakage,
    named,
    tokens,
)
from sfumato.auditing.result import Audit
from sfumato.auditing.rows import AttackRow, LeftOut, from_leakage
from sfumato.auditing.settings import AuditSettings, Suite
from sfumato.auditing.steps import Steps
from sfumato.auditing.subject import Gold, Subject, subject
from sfumato.auditing.target import DefenceTarget, Target
from sfumato.auditing.terms import by_term
from sfumato.auditing.utility import ScoredPairs, Searches, Yardstick, yardsticks
from sfumato.auditing.verdict import decide
from sfumato.concepts.concept import Concept
from sfumato.embedders.base import Embedder
from sfumato.errors import SfumatoError
from sfumato.mechanisms.base import one_blas_thread
from sfumato.protector import Protector, RowSpans

MAIN = "tokens"
"""The attack that is always run, and that baselines are attacked with."""
_QUESTIONS = {
    "terms": "Which of the concept's terms are in the text?",
    "text": "Writes the text: do the concept's terms stand in it?",
}


@dataclass(slots=True, eq=False)
class _Bench:
    """One audit while it runs."""

    material: Material
    target: Target
    plan: Suite
    settings: AuditSettings
    steps: Steps
    rows: list[AttackRow] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    read: dict[str, tuple[Scale, Reading]] = field(default_factory=dict)
    shown: dict[str, Shown] = field(default_factory=dict)

    @property
    def query(self) -> bool:
        """Whether the attacker can release texts of his own making."""
        return isinstance(self.target, DefenceTarget)

    def trained(self, name: str) -> None:
        """Run an attack that reads the concept, with its control and its floor."""
        self.steps.begin(name)
        instrument = self._instrument(name)
        seed, seeds = self.settings.seed, self.plan.seeds if instrument.reads == "terms" else 1
        material = self.material
        if instrument.reads == "text":
            material = material.sampled(self.plan.written, seed)
        scale = calibrate(instrument, material, seeds, query=self.query, seed=seed)
        reading = attack(instrument, material, self.target, seeds, query=self.query, seed=seed)
        how = material.resampling()
        note = "" if scale.measured_floor else "No encoder: the prior stands in for the floor."
        if not instrument.learns:
            note = "It learns nothing, so it cannot adapt to a defence."
        self.rows.append(
            from_leakage(
                leakage(scale, reading, material),
                instrument.reads,
                _QUESTIONS[instrument.reads],
                works=works(scale.control, scale.floor, scale.prior, how),
                counts=True,
                note=note,
            )
        )
        self.read[name] = scale, reading
        self.shown[name] = shown_by(material, scale, reading)

    def _instrument(self, name: str) -> Instrument:
        if name == MAIN:
            ATTACKS.get(name)
            return tokens(self.plan, self.material, self.steps.within)
        encoder = self.material.embedder
        if name == READY_MADE and (encoder is None or encoder.name != READY_MADE):
            raise LeftOut("it reads all-MiniLM-L6-v2 vectors only")
        if ATTACKS.entry(name).name in (INFORMED, "linkage", "bits"):
            raise LeftOut("it is always run, and has a row of its own")
        return named(name, self.material, self.steps.within)

    def attempt(self, name: str, run: Callable[[], AttackRow | None]) -> None:
        """Run one attack, or note why it cannot be run here."""
        try:
            found = run()
        except LeftOut as reason:
            self.left_out.append((name, f"{reason}."))
        except SfumatoError as error:
            self.left_out.append((name, str(error)))
        else:
            if found is not None:
                self.rows.append(found)


def audit(
    texts: Sequence[str],
    concept: Concept | None = None,
    *,
    protector: Protector | None = None,
    released: Any = None,
    clean: Any = None,
    embedder: Embedder | str | None = None,
    spans: RowSpans | None = None,
    gold: Sequence[Gold] = (),
    showable: Sequence[bool] | None = None,
    settings: AuditSettings | None = None,
    on_step: Tell | None = None,
) -> Audit:
    """Attack released vectors, measure what they are still good for, and judge.

    Args:
        texts: texts, of which enough hold the concept; some the attacker learns from, others are attacked.
        concept: what is sensitive; the protector's own, if it hides one thing.
        protector: what releases the vectors; nothing is spent from its ledger.
        released: in its place, vectors that somebody else made of the texts, one a text.
        clean: clean vectors of the texts; embedded where they are not given.
        embedder: the encoder, or its name; a protector brings its own.
        spans: labelled spans of each text, for a concept defined by a label.
        gold: searches or scored pairs to measure utility by; clean neighbours, if left out.
        showable: which texts may stand in the result beside what was read of them; none, if left out.
        settings: which suite, and the limit.
        on_step: hears what is going on and which share of all is done.
    """
    chosen = settings or AuditSettings()
    for name in chosen.plan().attacks:
        ATTACKS.entry(name)  # a name that is not in the table is refused before any work is done
    names, lacking = installed_baselines(chosen.plan().baselines) if chosen.baselines else ([], [])
    steps = Steps(on_step, 6 + len(chosen.plan().attacks) + len(names))
    steps.begin("embedding")
    given = subject(
        texts, concept, protector=protector, released=released, clean=clean, embedder=embedder,
        spans=spans, showable=showable, gold=gold, on_batch=steps.embedded,
    )  # fmt: skip
    # The products of an attack are small: threads that meet after each one cost more than they give.
    with one_blas_thread():
        found = _run(given, chosen, names, steps)
    absent = [(name, f"Not installed: {line}") for name, line in lacking]
    return replace(found, left_out=(*found.left_out, *absent))


def _run(given: Subject, chosen: AuditSettings, names: list[str], steps: Steps) -> Audit:
    plan = chosen.plan()
    material = given.material(plan, chosen.seed)
    bench = _Bench(material, given.target(material, plan, chosen.seed), plan, chosen, steps)
    _attacks(bench)
    steps.begin("utility")
    measures = _measures(material, given.gold, plan, chosen.seed)
    utilities = tuple(each.measure(bench.target) for each in measures)
    baselines = _baselines(bench, names, measures[0])
    worst = next((row for row in bench.rows if row.name == INFORMED), None)
    missing = ""
    if chosen.worst_case and worst is None:
        missing = "the worst case was asked for and could not be measured: " + next(
            reason.rstrip(".") for name, reason in bench.left_out if name == INFORMED
        )
    scale, reading = bench.read[MAIN]
    columns = {"control": scale.clean, "floor": scale.bare, "released": reading.guesses}
    return Audit(
        verdict=decide(bench.rows, chosen.fail_above, missing=missing),
        attacks=tuple(bench.rows),
        worst_case=worst,
        left_out=tuple(bench.left_out),
        utilities=utilities,
        baselines=tuple(baselines),
        guarantee=bench.target.guarantee.to_dict(),
        noise=noise_of(given.protector, material.clean.shape[1]),
        terms=tuple(by_term(material, columns)),
        examples=tuple(examples(material, bench.target, bench.shown, given.showable)),
        notes=material.notes,
        settings=settings_of(chosen, given, material, bench.target),
    )


def _attacks(bench: _Bench) -> None:
    material, target, plan, seed = bench.material, bench.target, bench.plan, bench.settings.seed
    bench.trained(MAIN)
    for name in plan.attacks:
        if name != MAIN:
            bench.attempt(name, lambda name=name: bench.trained(name))  # type: ignore[misc]
    bench.steps.begin(INFORMED)
    counts = bench.settings.worst_case
    bench.attempt(INFORMED, lambda: informed_row(material, target, plan, counts=counts, seed=seed))
    bench.steps.begin("linkage")
    bench.attempt("linkage", lambda: linkage_row(material, target, plan, seed=seed))
    bench.attempt("bits", lambda: bits_row(material, target, plan, seed=seed))
    bench.steps.begin("averaging")
    scale = bench.read[MAIN][0]
    bench.attempt("averaging", lambda: averaging_row(material, target, scale, plan.averaged, seed=seed))


def _measures(material: Material, gold: Sequence[Gold], plan: Suite, seed: int) -> list[Yardstick]:
    searches = next((each for each in gold if isinstance(each, Searches)), None)
    pairs = next((each for each in gold if isinstance(each, ScoredPairs)), None)
    return yardsticks(material, searches=searches, pairs=pairs, most=plan.searches, seed=seed)


def _baselines(bench: _Bench, names: list[str], yardstick: Yardstick) -> list[BaselineRow]:
    if not names:
        return []
    scale = bench.read[MAIN][0]
    if not bench.query and bench.material.embedder is not None:
        # Vectors made elsewhere are read by an attacker who cannot query; here he can, as for a protector.
        scale = calibrate(
            scale.instrument, bench.material, bench.plan.seeds, query=True, seed=bench.settings.seed
        )
    return compare(
        bench.material,
        names,
        scale,
        yardstick,
        bench.plan,
        seed=bench.settings.seed,
        on_step=lambda name: bench.steps.begin(f"baseline {name}"),
    )
