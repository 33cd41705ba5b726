"""DPPN: 9 tables and 8 figures."""

from __future__ import annotations

from sfumato_research.papers.base import DRAWING, Numbered, Paper, PaperCell


def _beside(table: str, column: str, *rows: tuple[str | float, ...]) -> list[PaperCell]:
    """One column for several releases."""
    return [PaperCell(f"STS12, ε 2, {row[0]}, {column}", table, row, column) for row in rows]


def _other_sets(column: str) -> list[PaperCell]:
    """One column of table 7 for two sets and two releases."""
    return [
        PaperCell(f"{name.upper()}, ε 2, {kind}, {column}", f"Table 7, {name}", (kind, 2), column)
        for name in ("stsb", "sts14")
        for kind in ("Laplace", "DPPN")
    ]


_TRADE_OFF = [
    *_beside("Table 1, sts12", "leakage", ("Laplace", 2), ("DPPN", 2)),
    *_beside("Table 1, sts12", "leakage, unaware", ("Laplace", 2), ("DPPN", 2)),
    *_beside("Table 1, sts12", "kept", ("Laplace", 2), ("DPPN", 2)),
]

PAPER = Paper(
    "dppn",
    "Detecting and perturbing privacy-sensitive neurons to defend embedding inversion attacks (DPPN)",
    (
        Numbered(
            "Table",
            1,
            "Leakage, confidence and utility of three kinds of noise on STS12 and FIQA, ε 1 to 8",
            ("table1", "ner-sts12", "ner-fiqa"),
            _TRADE_OFF,
            missing="ε 6 lies between two levels that are run. Sensitive words are those of lists, and again "
            "entities that NER finds in the texts.",
        ),
        Numbered(
            "Table",
            2,
            "Laplace, Purkayastha and suppressing noise on all, 10 % or 20 % of the dimensions, ε 2",
            ("table2",),
            [
                PaperCell(
                    f"suppression of {share:.0%}, leakage", "Table 2", ("suppression", share), "leakage"
                )
                for share in (1.0, 0.1, 0.2)
            ],
        ),
        Numbered(
            "Table",
            3,
            "Leakage to Vec2Text, GEIA and a word classifier (MLC) on STS12, ε 1 and 2",
            ("mlc", "table3", "geia"),
            [
                PaperCell(f"ε 2, {attack}, {name}", "Table 3", (attack,), f"{name}, ε 2")
                for attack in ("Vec2Text", "MLC")
                for name in ("Laplace", "DPPN")
            ]
            + [PaperCell(f"GEIA, {what}", "Table 3", ("GEIA",), what) for what in ("clean", "prior")],
            missing="Published weights of Vec2Text cannot be had here: our reader, practised on each defence "
            "for 50 epochs, stands for it; on DPPN at ε 1 that takes a GPU. GEIA is SmolLM2's first blocks, "
            "not GPT-2; with what a processor can teach them they say nothing of releases.",
        ),
        Numbered(
            "Table",
            4,
            "Leakage of eleven categories of words, ε 2",
            ("table4",),
            [
                PaperCell(f"{kind}, {name}", "Table 4", (texts, kind), name)
                for texts, kind in (("PII", "country"), ("medical", "disease"), ("STS12", "name"))
                for name in ("Laplace", "DPPN")
            ],
            missing="PII-300K and MIMIC-III cannot be had here: other public sets stand for them.",
        ),
        Numbered(
            "Table",
            5,
            "GTR-base, Sentence-T5 and SBERT on STS12, ε 2",
            ("table5",),
            [
                PaperCell(f"{model}, {name}", "Table 5: encoders", (model, name), "leakage")
                for model in ("minilm", "wordllama", "use-multilingual")
                for name in ("Laplace", "DPPN")
            ],
            missing="The three encoders need hub models that cannot be had here: five others are run.",
        ),
        Numbered(
            "Table",
            6,
            "Two clinical sentences written back from their vectors, age and disease hidden",
            ("table6",),
            [
                PaperCell(f"age, ε 1, {name}, {column}", "protecting age", (name,), column)
                for column in ("likeness", "age leaked")
                for name in ("Laplace", "DPPN")
            ],
            missing="MIMIC-III cannot be had here: made-up notes stand for it.",
        ),
        Numbered(
            "Table",
            7,
            "The same as table 1 on STSB, STS14, Quora and NFCorpus",
            ("table7",),
            [*_other_sets("leakage"), *_other_sets("kept")],
            missing="NFCorpus cannot be had here, SciFact stands for it; ε 6 is not run.",
        ),
        Numbered(
            "Table",
            8,
            "Sizes, entities and measures of the eight data sets",
            ("table8",),
            [
                PaperCell(f"{name}, {column}", "Table 8", (name,), column)
                for name in ("STS12", "STSB")
                for column in ("texts", "sensitive words")
            ],
            missing="Describes data, claims nothing. NFCorpus, MIMIC-III and PII-300K cannot be had: other "
            "public sets stand for them.",
        ),
        Numbered(
            "Table",
            9,
            "What hiding one word takes from the leakage of it, of words like it and of others, ε 2",
            ("words",),
            [
                PaperCell(f"country, {who}", "Table 9", ("country", "China, Iraq", "unaware"), who)
                for who in ("target", "like it", "other words")
            ],
        ),
        Numbered(
            "Figure",
            1,
            "What inversion gives away, and what noise on all or some dimensions does",
            missing=DRAWING,
        ),
        Numbered(
            "Figure",
            2,
            "How far the top and tail dimensions react to a concept",
            ("sparse/figures",),
            under="Figure 3",
            missing="SPARSE prints the same comparison with the same p as its figure 3, and it is run there.",
        ),
        Numbered(
            "Figure",
            3,
            "Even noise and suppression in a plane: which leaves points easier to tell apart",
            ("figure3",),
            [
                PaperCell(
                    f"STS12, {kind}, told apart",
                    "Figure 3",
                    ("STS12, MiniLM", 1.0, kind),
                    "told apart, learned on releases",
                )
                for kind in ("isotropic", "suppression")
            ],
        ),
        Numbered(
            "Figure",
            4,
            "Dimensions found by the black box, the white box and at random, over the share suppressed",
            ("figure4",),
            [
                PaperCell(f"ε 2, {name}, 20 %, leakage", "Figure 4", (2, name, 0.2), "leakage")
                for name in ("DPPN", "DPPN-Oracle", "DPPN-Rand")
            ],
        ),
        Numbered(
            "Figure",
            5,
            "Share of the top dimensions that black box and white box have in common",
            ("figure4",),
            [
                PaperCell("of the top 10 %", "Figure 5", (0.1,), "black box and white box"),
                PaperCell("of the top 20 %", "Figure 5", (0.2,), "black box and white box"),
            ],
        ),
        Numbered(
            "Figure",
            6,
            "Masks of single words: those of one kind look alike",
            ("words",),
            [
                PaperCell("weekdays, within", "Figure 6", ("weekday",), "within the group"),
                PaperCell("weekdays, with others", "Figure 6", ("weekday",), "with other groups"),
            ],
        ),
        Numbered(
            "Figure",
            7,
            "Table 1 as curves over ε, STS12 and FIQA",
            ("table1",),
            _TRADE_OFF,
            under="Table 1",
        ),
        Numbered(
            "Figure",
            8,
            "Table 7 as curves over ε, the four other sets",
            ("table7",),
            _other_sets("leakage"),
            under="Table 7",
        ),
    ),
)
