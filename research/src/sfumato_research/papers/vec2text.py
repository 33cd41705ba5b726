"""Vec2Text: 7 tables and 7 figures."""

from __future__ import annotations

from sfumato_research.papers.base import DRAWING, Numbered, Paper, PaperCell

_SHIPPED = "Held-back sentences, all-MiniLM-L6-v2, the weights as they ship"
_NOISE = "Gaussian noise in every coordinate"
_SEARCH = "nDCG@10 under Gaussian noise"
_OWN = "held-back sentences"

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
                    for steps in ("0 steps", "1 step", "20 steps", "50 steps")
                ),
                *(
                    PaperCell(f"new weights, {steps}, BLEU", _SHIPPED, (steps,), "BLEU")
                    for steps in ("greedy", "5 steps", "beam 8 by 8, two times 12 steps and edits")
                ),
            ],
            missing="GTR-base needs a hub model, ada-002 a paid service: neither can be had here. Texts of "
            "64 and 128 wordpieces, and wide beams, are on the reader's page. The weights that ship, in the "
            "first rows on a processor (200 sentences).",
        ),
        Numbered(
            "Table",
            2,
            "Token F1 and cosine on 15 sets of BEIR, from short to long texts",
            ("table-2",),
            [
                PaperCell("Quora, token F1", "Other sets", ("quora",), "token F1"),
                PaperCell("SciFact, token F1", "Other sets", ("scifact",), "token F1"),
                PaperCell("FIQA, token F1", "Other sets", ("fiqa",), "token F1"),
            ],
            missing="Of BEIR only Quora, SciFact and a part of FIQA can be had; with them 16 sets of texts, "
            "cut at 32 wordpieces where the paper has up to 128.",
        ),
        Numbered(
            "Table",
            3,
            "Names and entities read from clinical notes of 32 tokens",
            ("table-3", "entities", "why"),
            [
                *(
                    PaperCell(f"{kind}, 20 steps", "Names in medical notes", ("20 steps",), kind)
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
            [
                PaperCell(f"λ {level}, {name}", _SEARCH, (name,), f"lambda {level}")
                for name in ("quora", "fiqa", "scifact")
                for level in ("0", "0.01", "0.1")
            ],
            missing="Five sets: Quora, a part of FIQA and SciFact, and Cranfield and SQuAD, which the paper "
            "does not have; its other 13 cannot be had here.",
        ),
        Numbered(
            "Table",
            7,
            "nDCG@10 and BLEU under Gaussian noise, mean over the sets",
            ("table-7",),
            [
                PaperCell("λ 0.01, kept", _NOISE, (_OWN, "0.01"), "nDCG@10 kept", printed=False),
                *(
                    PaperCell(f"λ {level}, BLEU", _NOISE, (_OWN, level), "BLEU, not told")
                    for level in ("0", "0.01", "0.1")
                ),
                PaperCell("λ 0.01, BLEU, told", _NOISE, (_OWN, "0.01"), "BLEU, told"),
            ],
        ),
        Numbered("Figure", 1, "How hypotheses are corrected towards a target vector", missing=DRAWING),
        Numbered(
            "Figure",
            2,
            "Table 7 as curves over the noise",
            ("table-7",),
            [PaperCell("λ 0.01, kept", _NOISE, (_OWN, "0.01"), "nDCG@10 kept", printed=False)],
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
            [PaperCell("after 20 steps, correlation", "Figure 5", ("20 steps",), "correlation")],
            missing="200 sentences.",
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
            missing="16 sets, as table 2.",
        ),
    ),
)
