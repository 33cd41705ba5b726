"""SPARSE: 12 tables and 3 figures."""

from __future__ import annotations

from sfumato_research.papers.base import DRAWING, Numbered, Paper, PaperCell


def _beside(where: str, table: str, column: str, *rows: tuple[str | float, ...]) -> list[PaperCell]:
    """One column for several releases."""
    return [PaperCell(f"{where}{row[0]}, {column}", table, row, column) for row in rows]


PAPER = Paper(
    "sparse",
    "Concept-aware privacy mechanisms for defending embedding inversion attacks (SPARSE)",
    (
        Numbered(
            "Table",
            1,
            "Leakage, confidence and utility of three kinds of noise on STS12 and FIQA, ε 5 to 40",
            ("table1", "ner-sts12", "ner-fiqa"),
            [
                *_beside("STS12, ε 10, ", "sts12", "leakage", ("Laplace", 10), ("SPARSE", 10)),
                *_beside("STS12, ε 10, ", "sts12", "kept", ("Laplace", 10), ("SPARSE", 10)),
            ],
            missing="ε 30 lies between two levels that are run. Sensitive words are those of lists, and "
            "again entities that NER finds in the texts.",
        ),
        Numbered(
            "Table",
            2,
            "Leakage to Vec2Text, GEIA and a word classifier (MLC) on STS12, ε 5 and 10",
            ("table2", "geia"),
            [
                PaperCell(f"ε 10, {attack}, {name}", "leakage by attack", (row,), f"{name}, ε 10")
                for attack, row in (("Vec2Text", "Vec2Text (practised)"), ("MLC", "MLC (tokens)"))
                for name in ("Laplace", "SPARSE")
            ]
            + [
                PaperCell(f"GEIA, {what}", "leakage by attack", ("GEIA (language model)",), what)
                for what in ("clean", "prior")
            ],
            missing="Published weights of Vec2Text cannot be had here: our reader, practised on each defence "
            "for 50 epochs, stands for it. GEIA is SmolLM2's first blocks, not GPT-2; with what a "
            "processor can teach them they read too little of clean vectors to say anything of releases.",
        ),
        Numbered(
            "Table",
            3,
            "Leakage of eight categories of personal and medical words, ε 10",
            ("table3",),
            [
                PaperCell("country, Laplace", "leakage by category", ("pii: country",), "Laplace"),
                PaperCell("country, SPARSE", "leakage by category", ("pii: country",), "SPARSE"),
                PaperCell("disease, Laplace", "leakage by category", ("medical: disease",), "Laplace"),
                PaperCell("disease, SPARSE", "leakage by category", ("medical: disease",), "SPARSE"),
            ],
            missing="PII-300K and MIMIC-III cannot be had here: other public sets stand for them.",
        ),
        Numbered(
            "Table",
            4,
            "SPARSE beside a form that knows the attacker's gradients (SPARSE-WB)",
            ("table4",),
            _beside("STS12, ε 10, ", "sts12", "leakage", ("Laplace", 10), ("SPARSE", 10), ("SPARSE-WB", 10)),
            missing="ε 30 is not run.",
        ),
        Numbered(
            "Table",
            5,
            "What hiding one word takes from the leakage of it, of words like it and of others, ε 10",
            ("table5",),
            [
                PaperCell(
                    f"country, {who}",
                    "words near the target",
                    ("country (syria)",),
                    f"SPARSE takes away, {who}",
                )
                for who in ("target", "similar", "other")
            ],
        ),
        Numbered(
            "Table",
            6,
            "Sizes, entities and measures of the eight data sets",
            missing="Describes data, measures nothing; ours stand in DPPN's table 8.",
        ),
        Numbered(
            "Table",
            7,
            "The same as table 1 on STSB, STS14, Quora and NFCorpus",
            ("table7",),
            _beside("STSB, ε 10, ", "stsb", "leakage", ("Laplace", 10), ("SPARSE", 10)),
            missing="NFCorpus cannot be had here, SciFact stands for it; ε 30 is not run.",
        ),
        Numbered(
            "Table",
            8,
            "GTR-base, Sentence-T5 and SBERT on STS12, ε 10",
            ("table8",),
            [
                PaperCell(f"{model}, {name}", "encoders, STS12", (f"{model}: {name}",), "leakage")
                for model in ("minilm", "wordllama", "use-multilingual")
                for name in ("Laplace", "SPARSE")
            ],
            missing="The three encoders need hub models that cannot be had here: five others are run.",
        ),
        Numbered(
            "Table",
            9,
            "SPARSE beside rewriting what is sensitive, by leakage taken for utility lost (R), ε 20",
            ("table9",),
            [
                *_beside("STS12, ", "sts12", "leakage", ("removal",), ("sparse",)),
                *_beside("STS12, ", "sts12", "R", ("removal",), ("sparse",)),
            ],
        ),
        Numbered(
            "Table",
            10,
            "The weight λ of the mask's penalty against leakage and utility, five ε",
            ("table10",),
            _beside("STS12, λ ", "sts12", "leakage", ("0.01, sum",), ("0.0001, sum",)),
            missing="Run at one level of noise, that of ε 10.",
        ),
        Numbered(
            "Table",
            11,
            "Time of one release for each mechanism",
            ("table11",),
            _beside("", "time of a release", "times Laplace", ("Purkayastha",), ("SPARSE",)),
        ),
        Numbered(
            "Table",
            12,
            "Two clinical sentences written back from their vectors, age and disease hidden",
            ("table12",),
            _beside("age, ε 5, ", "protecting age", "likeness", ("Laplace",), ("SPARSE",)),
            missing="MIMIC-III cannot be had here: made-up notes stand for it.",
        ),
        Numbered(
            "Figure", 1, "What inversion gives away, and what even and selective noise do", missing=DRAWING
        ),
        Numbered("Figure", 2, "Masks of single words: those of one kind look alike", ("figures",)),
        Numbered(
            "Figure", 3, "How far the top and bottom tenth of dimensions react to a concept", ("figures",)
        ),
    ),
)
