"""STAMP: 1 table and 6 figures."""

from __future__ import annotations

from sfumato_research.papers.base import DRAWING, Numbered, Paper, PaperCell

_FIRST = ("epsilon/pi", "{150, 50, 450, 350}")
_COSINE = "Answer cosine at the paper's budgets"
_GROUPS = "Figure 6, squad"
_SETS = ("squad", "fantasy", "agnews", "yelp")
_MATCHED = "Figure 6 at matched totals, squad: answer cosine"
_JUDGED = "The judge, squad: answer cosine"

PAPER = Paper(
    "stamp",
    "STAMP: selective task-aware mechanism for text privacy",
    (
        Numbered(
            "Table",
            1,
            "Polar beside Laplace noise at five rows of budgets: SQuAD, Yelp and AG News",
            (*_SETS, *(f"{name}-lm" for name in _SETS), "judge-squad", "judge-fantasy"),
            [
                PaperCell("SQuAD, first budgets, polar", _COSINE, _FIRST, "STAMP, polar (printed)"),
                PaperCell("Laplace as published", _COSINE, _FIRST, "Laplace, published code (printed)"),
                PaperCell("polar less Laplace of the same metric", _COSINE, _FIRST, "polar - Laplace"),
                PaperCell(
                    "in SmolLM2's table",
                    f"{_COSINE}, SmolLM2's table",
                    _FIRST,
                    "STAMP, polar (printed)",
                    printed=False,
                ),
                PaperCell(
                    "a small judge, clean less no text", _JUDGED, ("not private",), "more than no text"
                ),
            ],
            missing="GPT-4 answers and fine-tuned transformers classify there; neither can be had here, so "
            "that a reader and classifiers of ours score. The paper's prompts are asked of a language model "
            "of 135 million weights.",
        ),
        Numbered(
            "Figure", 1, "The idea, and the grid of four groups by importance and privacy", missing=DRAWING
        ),
        Numbered(
            "Figure",
            2,
            "Not known",
            missing="The text at hand does not mention it nor hold its caption; its number says it exists.",
        ),
        Numbered("Figure", 3, "The steps from grouping words to decoding them", missing=DRAWING),
        Numbered("Figure", 4, "Polar noise turns a vector and keeps its length", missing=DRAWING),
        Numbered(
            "Figure",
            5,
            "Cosine of a text with its private form over the threshold of importance",
            ("threshold",),
            [
                PaperCell(f"threshold {value}", "Threshold of importance", (value,), "cosine, row 1")
                for value in ("0.2", "0.5", "0.7")
            ],
        ),
        Numbered(
            "Figure",
            6,
            "STAMP beside a uniform budget, and utility as more groups are blurred",
            (
                "groups",
                *_SETS,
                *(f"{name}-lm" for name in _SETS),
                *(f"{name}-matched" for name in _SETS),
                *(f"{name}-matched-lm" for name in _SETS),
            ),
            [
                PaperCell("SQuAD, κ 60, group 2 blurred", _GROUPS, ("60",), "group 2"),
                PaperCell("all blurred", _GROUPS, ("60",), "all (uniform)"),
                PaperCell(
                    "SQuAD, the same total in every text, STAMP less even budgets",
                    _MATCHED,
                    ("by cosine", "all levels"),
                    "STAMP - even",
                ),
            ],
            missing="Printed as curves without figures.",
        ),
    ),
)
