"""Vec2Text (Morris et al.): how much of a text its vector gives back, read by the ready-made reader.

The paper's readers are T5-base for GTR and OpenAI vectors, trained for two days on four GPUs; ours is a
decoder of 73 million weights in four bits, trained for minutes, so rows are compared in direction, not level.
"""

from __future__ import annotations

from sfumato.attacks.writers.search import Search
from sfumato_research.studies.base import (
    Cell,
    Entry,
    Finding,
    Picture,
    Setting,
    Study,
    StudyOutcome,
    StudyPart,
    StudyTable,
)
from sfumato_research.studies.draw import Curve, curves
from sfumato_research.vec2text.more import initialisations, names, noise, other_sets
from sfumato_research.vec2text.scratch import adapted, from_scratch
from sfumato_research.vec2text.texts import ReadyMadeReaders, figures, held_back

_STEPS: tuple[tuple[str, Search, int, int, tuple[float | None, ...]], ...] = (
    # label, search, vectors on a CPU and on a GPU, the paper's BLEU, F1, exact, cosine (Table 1, GTR)
    ("0 steps", Search(steps=0, beam=1, first=1), 200, 1000, (31.9, 67, 0.0, 0.91)),
    ("best of 16 samples", Search(steps=0, beam=1, first=16), 30, 1000, (None,) * 4),
    ("best of 64 samples", Search(steps=0, beam=1, first=64), 0, 1000, (None,) * 4),
    ("1 step", Search(steps=1, beam=1), 100, 1000, (50.7, 80, 0.0, 0.96)),
    ("5 steps", Search(steps=5, beam=1), 60, 1000, (None,) * 4),
    ("20 steps", Search(steps=20, beam=1), 30, 1000, (83.9, 96, 40.2, 0.99)),
    ("50 steps", Search(steps=50, beam=1), 12, 1000, (85.4, 97, 40.6, 0.99)),
    ("5 steps, beam 4", Search(steps=5, beam=4), 8, 1000, (None,) * 4),
    ("20 steps, beam 4", Search(steps=20, beam=4), 0, 1000, (None,) * 4),
    ("50 steps, beam 4", Search(steps=50, beam=4), 0, 1000, (97.3, 99, 92.0, 0.99)),
)
_QUICK = ("0 steps", "1 step", "5 steps")
LENGTHS = ((1, 8), (9, 12), (13, 18), (19, 99))


def table_1(setting: Setting) -> StudyOutcome:
    """Sentences held back from training, read with more and more effort."""
    readers = ReadyMadeReaders(setting)
    gpu = setting.device != "cpu"
    chosen = [row for row in _STEPS if (row[0] in _QUICK if setting.quick else gpu or row[2])]
    sentences = held_back(setting.data, setting.pick(1000 if gpu else 200, 12))
    rows: list[list[Entry]] = []
    bleu: dict[str, float] = {}
    dots: Curve | None = None
    by_length: list[list[Entry]] = []
    for label, search, few, many, printed in chosen:
        texts = sentences[: many if gpu else few]
        setting.on_step(label)
        found = readers.read(readers.vectors(texts), search)
        scored = readers.score(texts, found)
        rows.append([label, search.candidates, len(texts), *figures(scored, printed)])
        bleu[label] = float(scored.sentence_bleu.mean())
        assert scored.cosine is not None
        if label in ("5 steps", "20 steps") or dots is None:
            dots = Curve("a text", scored.cosine.tolist(), scored.sentence_bleu.tolist(), joined=False)
        lengths = [len(text.split()) for text in texts]
        shares: list[Entry] = [label]
        for low, high in LENGTHS:
            exact = [
                bool(hit) for hit, size in zip(scored.exact, lengths, strict=True) if low <= size <= high
            ]
            shares.append(Cell(sum(exact) / len(exact), form=".0%") if exact else None)
        by_length.append(shares)
    first, last = rows[0][0], chosen[-1][0]
    drawn = [] if dots is None else [_dots(dots)]
    rises = bleu["1 step"] > bleu["0 steps"]
    return StudyOutcome(
        [
            StudyTable(
                "Held-back sentences of at most 32 wordpieces, all-MiniLM-L6-v2 (in brackets: Table 1, GTR)",
                ["search", "candidates", "vectors", "BLEU", "token F1", "exact %", "cosine"],
                rows,
                "BLEU is the mean over sentences, as in the paper. A CPU reads few vectors and no wide beam.",
            ),
            StudyTable(
                "Exact matches by length",
                ["search", *(f"{low} to {high} words" for low, high in LENGTHS)],
                by_length,
            ),
        ],
        drawn,
        [
            Finding(
                "Table 1",
                "each round of correction helps",
                "BLEU 31.9, 50.7, 83.9, 85.4 after 0, 1, 20, 50 steps",
                ", ".join(f"{label} {value:.1f}" for label, value in bleu.items()),
                rises and max(bleu, key=lambda name: bleu[name]) != first,
                "" if rises else f"the corrector saw too little training; {last} is the last row",
            )
        ],
    )


def _dots(dots: Curve) -> Picture:
    drawn = curves(
        [dots],
        title="Cosine and BLEU of rebuilt sentences",
        x_label="cosine of the rebuilt text's vector with the target",
        y_label="BLEU",
        y_range=(0, 100),
    )
    return Picture("vec2text-figure-5.svg", drawn, "Figure 5: few texts come close and are still wrong")


STUDY = Study(
    "vec2text",
    "Text embeddings reveal (almost) as much as text",
    "Morris et al. 2023",
    [
        StudyPart("table-1", "Table 1 and figure 5: reading held-back sentences", table_1, ("sentences",)),
        StudyPart(
            "table-2", "Table 2: other sets by length", other_sets, ("quora_pairs", "trec6", "ag_news")
        ),
        StudyPart("table-3", "Table 3: names in medical notes", names, ("pii_medical_notes",)),
        StudyPart("table-5", "Table 5: other first hypotheses", initialisations, ("sentences",)),
        StudyPart("table-7", "Tables 6 and 7: Gaussian noise", noise, ("sentences", "retrieval_fiqa_mini")),
        StudyPart(
            "adapted", "A reader that is told of the noise, or practises on it", adapted, ("sentences",)
        ),
        StudyPart(
            "scratch", "A reader trained from nothing on two cores", from_scratch, ("sts12", "sts13", "sts14")
        ),
    ],
)
