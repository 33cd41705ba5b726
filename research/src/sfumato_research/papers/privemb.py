"""PRIVEMB: 1 table and 7 figures."""

from __future__ import annotations

from sfumato_research.papers.base import Numbered, Paper, PaperCell

_OFF = {1: "Figures 1 and 5", 2: "Figures 2 and 6"}
_VECTORS = {"GloVe": "GloVe, 100d", "trained here": "trained here, 300d"}
_SMALL = "GloVe has 100 dimensions here, not 300: the larger file cannot be had."
_FASTTEXT = "fastText's vectors cannot be had here: vectors of 300 dimensions trained here stand for them."


def _geometry(which: int, vectors: str) -> list[PaperCell]:
    return [
        PaperCell(f"{name}, ε 1", _OFF[which], (_VECTORS[vectors], 1.0), name)
        for name in ("M1", "M2, beta 0.5", "M2, beta 0.7")
    ]


def _linear(vectors: str) -> list[PaperCell]:
    return [
        PaperCell(
            f"{name}, ε 10, accuracy",
            "Figures 3 and 7: good words from bad ones, accuracy",
            (_VECTORS[vectors], 10.0),
            name,
        )
        for name in ("M1", "M2, beta 0.5", "M2, beta 0.9")
    ]


PAPER = Paper(
    "privemb",
    "Private release of text embedding vectors (PRIVEMB)",
    (
        Numbered(
            "Table",
            1,
            "Accuracy on MR, CR, MPQA, SST-5 and TREC-6 from word vectors released by M1 and M2, ε 10, β 0.9",
            ("tasks", "sizes", "encoders"),
            [
                PaperCell(
                    f"{data}, 300d, fresh noise, {name[:2]}",
                    "Table 1",
                    (data, "trained here, 300d", "fresh noise on every word"),
                    name,
                )
                for data in ("MR", "TREC-6")
                for name in ("M1, test", "M2, test")
            ]
            + [
                PaperCell(
                    f"M2 less M1, mean of the five sets, 300d, {name}",
                    "Better than M1 by",
                    ("trained here, 300d", "fresh noise on every word", name),
                    "mean of the sets",
                )
                for name in ("M2, beta 0.93", "M2, beta 0.468")
            ],
            missing="InferSent and SkipThought, printed without noise, need models that cannot be had here: "
            "all-MiniLM-L6-v2 and Universal Sentence Encoder Lite stand in their place.",
        ),
        Numbered(
            "Figure",
            1,
            "Error of distances, M1 and M2, ε 1, 2 and 5, β 0.5 to 0.7 (GloVe)",
            ("geometry",),
            _geometry(1, "GloVe"),
            missing=_SMALL,
        ),
        Numbered(
            "Figure",
            2,
            "Error of inner products, M1 and M2, ε 1, 2 and 5, β 0.5 to 0.7 (GloVe)",
            ("geometry",),
            _geometry(2, "GloVe"),
            missing=_SMALL,
        ),
        Numbered(
            "Figure",
            3,
            "A linear model that tells good words from bad ones: accuracy and AUC over ε and β (GloVe)",
            ("linear",),
            _linear("GloVe"),
            missing=_SMALL,
        ),
        Numbered(
            "Figure",
            4,
            "Vectors trained in 50, 100 and 200 dimensions (A1) beside 300 dimensions projected (M2)",
            ("training",),
            [
                PaperCell(f"100 dimensions, ε 10, {name}", "Figure 4", (100, 10.0), f"{name}: accuracy")
                for name in ("A1", "M2")
            ],
            missing="GloVe of 50 and 200 dimensions cannot be had here: all sizes are trained here.",
        ),
        Numbered(
            "Figure",
            5,
            "Figure 1 with fastText",
            ("geometry",),
            _geometry(1, "trained here"),
            missing=_FASTTEXT,
        ),
        Numbered(
            "Figure",
            6,
            "Figure 2 with fastText",
            ("geometry",),
            _geometry(2, "trained here"),
            missing=_FASTTEXT,
        ),
        Numbered(
            "Figure", 7, "Figure 3 with fastText", ("linear",), _linear("trained here"), missing=_FASTTEXT
        ),
    ),
)
