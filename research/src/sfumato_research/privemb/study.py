"""PRIVEMB: a random projection, then noise. Figures 1 to 7 and table 1."""

from __future__ import annotations

from sfumato_research.privemb.encoders import encoders
from sfumato_research.privemb.geometry import geometry
from sfumato_research.privemb.linear import linear, training
from sfumato_research.privemb.modes import modes
from sfumato_research.privemb.sizes import sizes
from sfumato_research.privemb.tasks import PRINTED, tasks
from sfumato_research.studies.base import Study, StudyPart

_WORDS = ("glove_100d", "sentences")

STUDY = Study(
    "privemb",
    "PRIVEMB: private release of text embedding vectors",
    "Feyisetan and Kasiviswanathan 2021",
    (
        StudyPart("geometry", "Figures 1, 2, 5, 6: distances and inner products", geometry, _WORDS),
        StudyPart("linear", "Figures 3 and 7: a linear model of words", linear, (*_WORDS, "opinion_lexicon")),
        StudyPart(
            "training", "Figure 4: fewer dimensions while training", training, (*_WORDS, "opinion_lexicon")
        ),
        StudyPart("tasks", "Table 1: sentence classification", tasks, (*_WORDS, *PRINTED)),
        StudyPart("sizes", "Table 1 at the published projection sizes", sizes, (*_WORDS, *PRINTED)),
        StudyPart("encoders", "Table 1 with sentence encoders", encoders, (*_WORDS, *PRINTED)),
        StudyPart("modes", "Three grounds for the stretch, compared", modes, (*_WORDS, "opinion_lexicon")),
    ),
)
