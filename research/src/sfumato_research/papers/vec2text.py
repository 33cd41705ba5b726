"""Vec2Text: 7 tables and 7 figures."""

from __future__ import annotations

from sfumato_research.papers.base import DRAWING, Numbered, Paper, PaperCell

_SHIPPED = "Held-back sentences, all-MiniLM-L6-v2, the weights as they ship"
_NOISE = "Gaussian noise in every coordinate"

PAPER = Paper(
    "vec2text",
    "Text embeddings reveal (almost) as much as text (Vec2Text)",
    (
        Numbered(
            "Table",
            1,
            "BLEU, token F1, exact matches and cosine over rounds of correction, GTR and OpenAI vectors",
            ("table-1", "reader/reader"),
            [
                *(
                    PaperCell(f"{steps}, BLEU", "Held-back sentences of", (steps,), "BLEU")
                    for steps in ("0 steps", "1 step", "5 steps", "20 steps")
                ),
                *(
                    PaperCell(f"new weights, {steps}, BLEU", _SHIPPED, (steps,), "BLEU")
                    for steps in ("greedy", "5 steps", "beam 8 by 8, two times 12 steps and edits")
                ),
            ],
            missing="GTR-base needs a hub model, ada-002 a paid service: neither can be had here. Texts of "
            "64 and 128 wordpieces are on the reader's page. In the first rows (first weights, a CPU) more "
            "rounds read fewer texts, so that they compare roughly.",
        ),
        Numbered(
            "Table",
            2,
            "Token F1 and cosine on 15 sets of BEIR, from short to long texts",
            ("table-2",),
            [
                PaperCell("Quora, token F1", "Other sets", ("quora_pairs",), "token F1"),
                PaperCell("SciFact, token F1", "Other sets", ("retrieval_scifact",), "token F1"),
            ],
            missing="Of BEIR only Quora and SciFact are among the seven sets; texts have 32 wordpieces.",
        ),
        Numbered(
            "Table",
            3,
            "Names and entities read from clinical notes of 32 tokens",
            ("table-3", "entities", "why"),
            [
                *(
                    PaperCell(f"{kind}, 5 steps", "Names in medical notes", ("5 steps",), kind)
                    for kind in ("first names", "last names", "full names")
                ),
                *(
                    PaperCell(
                        f"{kind} in {where}, 20 steps", "Entities that were read", (kind, where), "20 steps"
                    )
                    for kind, where in (
                        ("places", "CoNLL-2003"),
                        ("diseases", "medical reports"),
                        ("dates", "medical notes"),
                    )
                ),
            ],
            missing="MIMIC-III cannot be had here: notes of a public set with made-up names, and kinds of "
            "entities in four public sets.",
        ),
        Numbered(
            "Table",
            4,
            "One sentence as it gets closer over four rounds",
            ("table-4",),
            [PaperCell("first hypothesis, cosine", "One sentence over its rounds", ("round 1",), "cosine")],
            missing="A sentence of our own generator: texts of the data sets are not shown.",
        ),
        Numbered(
            "Table",
            5,
            "Twenty rounds from other first hypotheses",
            ("table-5",),
            [
                PaperCell(f"{start}, token F1", "20 steps of correction", (start,), "token F1")
                for start in ("random wordpieces", "its own hypothesis")
            ],
        ),
        Numbered(
            "Table",
            6,
            "nDCG@10 of GTR-base under Gaussian noise on 16 retrieval sets, 32 tokens",
            ("table-7",),
            [PaperCell("λ 0.01, kept on FIQA", _NOISE, ("0.01",), "kept", printed=False)],
            missing="FIQA alone, cut down; four more sets are in the study, not run; others cannot be had.",
        ),
        Numbered(
            "Table",
            7,
            "nDCG@10 and BLEU under Gaussian noise, mean over the sets",
            ("table-7",),
            [
                PaperCell("λ 0.01, nDCG@10", _NOISE, ("0.01",), "nDCG@10"),
                PaperCell("λ 0.01, BLEU", _NOISE, ("0.01",), "BLEU, not told"),
                PaperCell("λ 0.1, BLEU", _NOISE, ("0.1",), "BLEU, not told"),
            ],
        ),
        Numbered("Figure", 1, "How hypotheses are corrected towards a target vector", missing=DRAWING),
        Numbered(
            "Figure",
            2,
            "Table 7 as curves over the noise",
            ("table-7",),
            [PaperCell("λ 0.01, kept", _NOISE, ("0.01",), "kept", printed=False)],
            under="Table 7",
        ),
        Numbered(
            "Figure",
            3,
            "Rounds of correction with and without the vector of the last hypothesis",
            ("figure-3",),
            [
                PaperCell(
                    f"{rounds} rounds, {label}, exact %",
                    "Rounds of correction",
                    (rounds,),
                    f"exact %, {label}",
                )
                for rounds in (1, 50)
                for label in ("with feedback", "without feedback")
            ],
            missing="One corrector that is not shown the vector, not a second one trained without it.",
        ),
        Numbered(
            "Figure",
            4,
            "Cosine of the first hypothesis with its target over the training data, mean 0.924",
            ("figure-4",),
            [
                PaperCell(f"{which}, mean", "Cosine of the first hypothesis", (which,), "mean cosine")
                for which in ("trained on", "held back")
            ],
        ),
        Numbered(
            "Figure",
            5,
            "BLEU over cosine of 1,000 rebuilt texts",
            ("table-1",),
            missing="A picture of fewer sentences; no correlation is computed yet.",
        ),
        Numbered(
            "Figure",
            6,
            "Correctness on samples from arXiv",
            ("reader/reader", "figure-6"),
            [
                PaperCell(
                    f"{words} words, exact %",
                    "By words in the sentence",
                    (words,),
                    "exact %, beam 4 by 8, 20 steps",
                )
                for words in ("1-8", "9-12", "13-18", "19-25")
            ],
            above="shorter texts are read exactly more often",
            missing="There is no arXiv set here: by length on held-back sentences and on sentences of "
            "scientific abstracts, by frequency of words on the latter.",
        ),
        Numbered(
            "Figure",
            7,
            "Table 2 as points over the length of texts, 19 sets of BEIR",
            ("table-2",),
            under="Table 2",
            missing="Seven sets, as table 2; the points are not drawn.",
        ),
    ),
)
