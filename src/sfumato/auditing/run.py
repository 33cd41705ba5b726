"""The audit: attacks with their controls, utility, baselines and a verdict, for one concept or several."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import OnStep
from sfumato.auditing.cautions import cautions
from sfumato.auditing.examples import by_term, examples, shown_first
from sfumato.auditing.result import Audit
from sfumato.auditing.settings import AuditSettings
from sfumato.auditing.several import Unaudited, together
from sfumato.auditing.subject import Gold, Subject, noise_of, settings_of, subject
from sfumato.auditing.truth import Truth
from sfumato.auditing.verdict import Verdict, decide
from sfumato.concepts.concept import Concept
from sfumato.embedders.base import Embedder
from sfumato.errors import InputError
from sfumato.mechanisms.base import one_blas_thread
from sfumato.preparing import RowSpans
from sfumato.protector import Protector
from sfumato.trials.experiment import MAIN, Experiment
from sfumato.trials.progress import Steps
from sfumato.trials.removal import removal_row
from sfumato.trials.rivals import BaselineRow, installed_baselines
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import Target
from sfumato.trials.touched import measure_use
from sfumato.trials.utility import RowMeasure, ScoredPairs, Searches, utility_measures

if TYPE_CHECKING:
    from sfumato.auditing.readable import AlsoReadable, WrittenTexts


def audit(
    texts: Sequence[str],
    concept: Concept | Sequence[Concept] | None = None,
    *,
    protector: Protector | None = None,
    released: Any = None,
    clean: Any = None,
    embedder: Embedder | str | None = None,
    spans: RowSpans | None = None,
    truth_spans: str | None = None,
    labels: Sequence[object] | None = None,
    tags: Sequence[Sequence[str]] | None = None,
    gold: Sequence[Gold] = (),
    showable: Sequence[bool] | None = None,
    groups: Sequence[Hashable] | None = None,
    settings: AuditSettings | None = None,
    on_step: OnStep | None = None,
) -> Audit:
    """Attack released vectors, measure what they are still good for, and judge.

    Args:
        texts: texts, of which enough hold the concept; some the attacker learns from, others are attacked.
        concept: what is sensitive; of several each is audited, and the worst decides; all that the protector
            hides, if left out.
        protector: what releases the vectors; nothing is spent from its ledger.
        released: in its place, vectors that somebody else made of the texts, one a text.
        clean: clean vectors of the texts; embedded where they are not given.
        embedder: the encoder, or its name; a protector brings its own.
        spans: labelled spans of each text, for a concept defined by a label.
        truth_spans: in place of a concept, the label (or several between commas) that decides what is
            sensitive; the protector finds by its own means, misses included.
        labels: a label of each text, or None, such as its topic or its author's sex: what the attack
            `attributes` of the full suite is after.
        tags: of each text, tags of its row that the store shows and rows share: what `structure` reads.
        gold: searches or scored pairs to measure utility by; clean neighbours, if left out.
        showable: which texts may stand in the result beside what was read of them; none, if left out.
        groups: for each text what it belongs to, such as a person or a note, or None: no group is learned
            from and attacked as well, nor is a pair of `gold` whose texts are both given.
        settings: which suite, and the limits.
        on_step: hears what is going on and which share of all is done.
    """
    chosen = settings or AuditSettings()
    for name in chosen.plan().attacks:
        ATTACKS.entry(name)  # a name that is not in the table is refused before any work is done
    names, lacking = installed_baselines(chosen.plan().baselines) if chosen.baselines else ([], [])
    steps = Steps(on_step, 4 + len(chosen.plan().attacks) + len(names))
    steps.begin("embedding")
    given = subject(
        texts, concept, protector=protector, released=released, clean=clean, embedder=embedder,
        spans=spans, truth_spans=truth_spans, showable=showable, gold=gold, groups=groups,
        labels=labels, tags=tags, on_batch=steps.embedded,
    )  # fmt: skip
    steps.total = 1 + (steps.total - 1) * len(given.concepts)
    # The products of an attack are small: threads that meet after each one cost more than they give.
    with one_blas_thread():
        found = together([_attempt(given, each, chosen, names, steps) for each in given.concepts])
    absent = [(name, f"Not installed: {line}") for name, line in lacking]
    return replace(found, left_out=(*found.left_out, *absent))


def _attempt(
    given: Subject, concept: Concept, chosen: AuditSettings, names: list[str], steps: Steps
) -> Audit | Unaudited:
    """Audit one concept; of several, one that cannot be audited does not stop the others."""
    try:
        return _run(given, concept, chosen, names, steps)
    except InputError as error:
        if len(given.concepts) == 1:
            raise
        return Unaudited(concept.name, error)


def _run(given: Subject, concept: Concept, chosen: AuditSettings, names: list[str], steps: Steps) -> Audit:
    plan, limits = chosen.plan(), chosen.limits()
    split = given.split(concept, plan, chosen.seed)
    target = given.target(concept, split, plan, chosen.seed)
    experiment = Experiment(
        split, target, given.protector, plan, steps, seed=chosen.seed, worst_case=chosen.worst_case,
        beside=given.beside(split),
    )  # fmt: skip
    measures = _measures(split, given.gold, plan, chosen.seed)
    wrong = _misfit(given, split, chosen.seed)
    baselines: list[BaselineRow] = []
    terms: list[dict[str, Any]] = []
    removal = written = readable = None
    if wrong:
        verdict = Verdict("refused", f"No verdict: {wrong}", None)
    else:
        experiment.attack()
        steps.begin("utility")
        baselines = experiment.compare(names, measures[0])
        asked = "" if experiment.oracle is None else experiment.oracle.verdict()
        verdict = decide(experiment.rows, limits, missing=experiment.missing, asked=asked)
        row = verdict.trained(experiment.rows)
        removal = None if row is None else removal_row(row, split, measures[0], seed=chosen.seed)
        calibration, reading = experiment.read[MAIN]
        columns = {"control": calibration.clean, "floor": calibration.bare, "released": reading.guesses}
        terms = by_term(split, columns)
        steps.begin("reading texts")
        written, readable = _read_anew(given, split, target)
    return Audit(
        verdict=verdict,
        truth=Truth.of(concept, given.protector),
        cautions=(
            *cautions(verdict, experiment.worst, experiment.oracle, limits, experiment.rows),
            *_languages(given, concept),
        ),
        attacks=tuple(experiment.rows),
        worst_case=experiment.worst,
        oracle=experiment.oracle,
        certificate=_certificate(given, concept, experiment, verdict),
        membership=experiment.membership,
        presence=experiment.presence,
        left_out=tuple(experiment.left_out),
        uses=tuple(measure_use(each, split, target) for each in measures),
        baselines=tuple(baselines),
        removal=removal,
        guarantee=target.guarantee.to_dict(),
        noise=noise_of(given.protector, split.clean.shape[1]),
        terms=tuple(terms),
        examples=tuple(examples(split, experiment.read, given.showable, written)) if experiment.read else (),
        readable=readable,
        notes=split.notes,
        settings=settings_of(chosen, given, split, target),
    )


def _read_anew(
    given: Subject, split: Split, target: Target
) -> tuple[WrittenTexts | None, AlsoReadable | None]:
    """Some of the attacked texts as the ready-made reader writes them, and what else it names in them."""
    from sfumato.auditing.readable import MOST_TEXTS, also_readable, write_anew

    written = write_anew(split, target, shown_first(split, given.showable)[:MOST_TEXTS])
    hidden = () if given.protector is None else given.protector.concepts
    return written, also_readable(written, split, hidden)


def _certificate(
    given: Subject, concept: Concept, experiment: Experiment, verdict: Verdict
) -> dict[str, Any] | None:
    """What is certified of the release, with as many candidates as the informed attacker chooses from.

    Nothing is of a concept that the protector was not learned for; labels stand for what it should find, and
    say how often it does not.
    """
    labelled = concept.source == "spans"
    if given.protector is None or not (labelled or concept in given.protector.concepts):
        return None
    from sfumato.certifying import CANDIDATES, certificate_or_none, miss_rate_of

    worst, row, missed = experiment.worst, verdict.trained(experiment.rows), None
    if labelled and row is not None and row.finding is not None and row.finding.missed is not None:
        missed = miss_rate_of(row.finding.every.count, row.finding.missed.count)
    candidates = CANDIDATES if worst is None or not worst.floor else round(1 / worst.floor)
    return certificate_or_none(given.protector, candidates, missed)


def _languages(given: Subject, concept: Concept) -> list[str]:
    """What is said of texts in a language that the protector, or what decides the truth, does not read."""
    from sfumato.concepts.languages.coverage import unread

    own = () if given.protector is None else given.protector.concepts
    found = unread(given.texts, dict.fromkeys((concept, *own)))
    return [str(found)] if found else []


def _misfit(given: Subject, split: Split, seed: int) -> str:
    """Why vectors made elsewhere are not those of the texts; nothing where they are, or were made here."""
    if given.released is None:
        return ""
    from sfumato.trials.questions.belonging import misfit

    return misfit(given.released, split, seed=seed)


def _measures(split: Split, gold: Sequence[Gold], plan: Suite, seed: int) -> list[RowMeasure]:
    searches = next((each for each in gold if isinstance(each, Searches)), None)
    pairs = next((each for each in gold if isinstance(each, ScoredPairs)), None)
    return utility_measures(split, searches=searches, pairs=pairs, most=plan.searches, seed=seed)
