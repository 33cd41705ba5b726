"""Readers that adapt to noise, and one trained from nothing on a CPU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import monotonic, process_time

from sfumato.attacks.terms.classifier import TokenClassifier, best_of
from sfumato.attacks.writers.decoder import Decoder
from sfumato.attacks.writers.minilm import ReadyMade
from sfumato.concepts import Concept, build_pairs
from sfumato.mechanisms import Gaussian
from sfumato.metrics import Hits, count_leaked
from sfumato.metrics.intervals import ratio_interval
from sfumato_research.studies.base import Cell, Entry, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.corpora import places_in_sts
from sfumato_research.vec2text.gains import above, written
from sfumato_research.vec2text.texts import GREEDY, ReadyMadeReaders, figures, held_back, noisy, trained_on

RATIO = 0.7
PRACTICE = {"cuda": (50_000, 256), "cpu": (1000, 32)}
"""Sentences that a reader practises on, once each, and how many at once, by device."""


def adapted(setting: Setting) -> StudyOutcome:
    """Noise of ratio 0.7: a reader that does not know, one that is told, and one that practises."""
    readers = ReadyMadeReaders(setting)
    texts = held_back(setting.data, setting.pick(1000 if readers.gpu else 200, 8))
    clean = readers.vectors(texts)
    scale = RATIO / math.sqrt(clean.shape[1])
    released = noisy(clean, scale, setting.seed)
    found = {
        "clean vectors": readers.read(clean, GREEDY),
        "not told": readers.read(released, GREEDY),
        "told the noise ratio": readers.read(released, GREEDY, ratio=RATIO),
    }
    practice, batch = PRACTICE[readers.device.type]
    own = trained_on(setting.data, setting.pick(practice, 16))
    if own:
        setting.on_step("practising")
        # The likeliest wordpiece each time, as the other rows write.
        practised = ReadyMade(epochs=1.0, device=setting.device, seed=setting.seed, batch=batch, likeliest=1)
        reader = practised.fit(own, readers.vectors(own), Gaussian(sigma=scale))
        found[f"told, and practised on {len(own):,}"] = [str(row) for row in reader.recover(released).rows]
    scored = {label: readers.score(texts, texts_read, clean) for label, texts_read in found.items()}
    f1 = {label: 100 * each.token_f1 for label, each in scored.items()}
    table: list[list[Entry]] = [[label, len(texts), *figures(each)] for label, each in scored.items()]
    told, blind = f1["told the noise ratio"], f1["not told"]
    return StudyOutcome(
        [
            StudyTable(
                f"Gaussian noise of ratio {RATIO}, one text written and no search",
                ["reader", "vectors", "BLEU", "token F1", "exact %", "cosine"],
                table,
            )
        ],
        findings=[
            Finding(
                "adapted",
                "a reader that knows of the noise reads far more than one that does not",
                "prototype: token F1 34.7 without, 54.9 after 35 s of practice on a GPU",
                ", ".join(f"{label} {each.mean():.1f}" for label, each in f1.items())
                + f"; told against not told {written(told, blind)}",
                above(told, blind),
            )
        ],
    )


def from_scratch(setting: Setting) -> StudyOutcome:
    """A decoder trained from nothing on 20,000 sentences, beside the token classifier and the ready-made."""
    own = _own_places(setting)
    readers = ReadyMadeReaders(setting)
    embedder = readers.encoder
    setting.on_step("embedding")
    vectors, unseen = embedder.embed(own.texts), embedder.embed(own.attacked)
    setting.on_step("the decoder")
    wall, processor = monotonic(), process_time()
    asked = Decoder(seed=setting.seed, epochs=setting.pick(4.0, 1.0), device=setting.device)
    decoder = asked.fit(own.texts, vectors)
    took = monotonic() - wall, process_time() - processor
    setting.on_step("the token classifier")
    started = monotonic(), process_time()
    classifier = best_of(
        TokenClassifier(
            vocabulary=own.concept, epochs=setting.pick(40, 5), seed=setting.seed, device=setting.device
        ),
        own.texts,
        vectors,
    )
    spent = monotonic() - started[0], process_time() - started[1]
    setting.on_step("reading")
    read = {
        "decoder, trained from nothing": [str(row) for row in decoder.recover(unseen).rows],
        "ready-made reader": readers.read(unseen, GREEDY),
    }
    hits = {"token classifier": count_leaked(own.truth, classifier.recover(unseen).rows)}
    hits |= {label: count_leaked(own.truth, found) for label, found in read.items()}
    times = {"token classifier": spent, "decoder, trained from nothing": took}
    table: list[list[Entry]] = []
    for label, found in hits.items():
        scores = figures(readers.score(own.attacked, read[label])) if label in read else [None] * 4
        clock = times.get(label, (None, None))
        table.append([label, _rate(found), *scores, *(Cell(value, form=".0f") for value in clock)])
    columns = [
        "attack", "leakage", "BLEU", "token F1", "exact %", "cosine", "seconds", "processor seconds"
    ]  # fmt: skip
    title = f"Places in {len(own.attacked):,} held-out sentences of STS 2012 to 2014, clean vectors"
    note = f"{len(own.texts):,} texts to learn from, {own.made:,} of them made by putting in other places."
    share = hits["decoder, trained from nothing"].rate / hits["token classifier"].rate
    return StudyOutcome([StudyTable(title, columns, table, note)], findings=[_half(share, took)])


def _half(share: float, took: tuple[float, float]) -> Finding:
    """Whether the decoder finds half of what the classifier does, soon enough."""
    return Finding(
        "scratch",
        "from nothing, in under ten minutes on two cores: half the places the classifier finds",
        "goal",
        f"{share:.0%} of them after {took[0]:.0f} s ({took[1]:.0f} s of processor time)",
        share >= 0.5 and took[1] < 1200,
        "" if share >= 0.5 else "a decoder has to write the place, the classifier only to name it",
    )


@dataclass(frozen=True, slots=True, eq=False)
class _HeldOutPlaces:
    """Sentences to learn from, and others whose places are to be found."""

    concept: Concept
    texts: list[str]
    made: int
    """How many of the texts were made by putting in another place."""
    attacked: list[str]
    truth: list[tuple[str, ...]]


def _own_places(setting: Setting) -> _HeldOutPlaces:
    corpus = places_in_sts(setting.data)
    copies = setting.pick(8, 1)
    pairs = build_pairs(
        corpus.texts, corpus.concept, kinds=("removal", "substitution"), copies=copies, test_share=0.4,
        seed=1, limit=setting.pick(4000, 200),
    )  # fmt: skip
    tested = [pairs.rows[position] for position in pairs.test][: setting.pick(1000, 40)]
    held = {pairs.rows[position] for position in pairs.test}
    made = [pairs.substitutes[at + copy * len(pairs)] for copy in range(copies) for at in pairs.train]
    own = [text for row, text in enumerate(corpus.texts) if row not in held]
    return _HeldOutPlaces(
        corpus.concept,
        [*own[: setting.pick(len(own), 300)], *made][: setting.pick(20_000, 500)],
        len(made),
        [corpus.texts[row] for row in tested],
        [pairs.terms[at] for at in pairs.test][: len(tested)],
    )


def _rate(hits: Hits) -> Cell:
    return Cell.between(hits.rate, ratio_interval(hits.found, hits.total))
