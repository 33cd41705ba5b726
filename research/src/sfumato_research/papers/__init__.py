"""The numbered tables and figures of the five papers: which are run here, and why the others are not."""

from __future__ import annotations

from sfumato.errors import InputError
from sfumato_research.papers import dppn, privemb, sparse, stamp, vec2text
from sfumato_research.papers.base import Numbered, Paper, PaperCell

PAPERS: tuple[Paper, ...] = (sparse.PAPER, dppn.PAPER, privemb.PAPER, vec2text.PAPER, stamp.PAPER)


def load_paper(name: str) -> Paper:
    """The list of the paper that the study of this name runs again."""
    for paper in PAPERS:
        if paper.name == name:
            return paper
    known = ", ".join(paper.name for paper in PAPERS)
    raise InputError(f"The paper must be one of {known}. Found {name!r:.40}.")


__all__ = ["PAPERS", "Numbered", "Paper", "PaperCell", "load_paper"]
