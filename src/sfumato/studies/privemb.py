"""PRIVEMB: a random projection, then noise. Figures 1 to 7 and table 1."""

from __future__ import annotations

from sfumato.studies.base import Part, Study
from sfumato.studies.privemb_geometry import geometry
from sfumato.studies.privemb_linear import linear, training
from sfumato.studies.privemb_modes import modes
from sfumato.studies.privemb_tasks import PRINTED, tasks

_WORDS = ("glove_100d", "sentences")

STUDY = Study(
    "privemb",
    "PRIVEMB: private release of text embedding vectors",
    "Feyisetan and Kasiviswanathan 2021",
    (
        Part("geometry", "Figures 1, 2, 5, 6: distances and inner products", geometry, _WORDS),
        Part("linear", "Figures 3 and 7: a linear model of words", linear, (*_WORDS, "opinion_lexicon")),
        Part("training", "Figure 4: fewer dimensions while training", training, (*_WORDS, "opinion_lexicon")),
        Part("tasks", "Table 1: sentence classification", tasks, (*_WORDS, *PRINTED)),
        Part("modes", "Three grounds for the stretch, compared", modes, (*_WORDS, "opinion_lexicon")),
    ),
)
