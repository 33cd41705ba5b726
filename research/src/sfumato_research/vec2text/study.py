"""Vec2Text (Morris et al.): how much of a text its vector gives back, read by the ready-made reader.

The paper's readers are T5-base for GTR and OpenAI vectors, trained for two days on four GPUs; ours is a
decoder of 73 million weights in four bits, trained for minutes, so rows are compared in direction, not level.
What counts as the same direction was written down before the run: research/protocol-vec2text.md.
"""

from __future__ import annotations

from sfumato_research.studies.base import Study, StudyPart
from sfumato_research.vec2text.correcting import initialisations, table_1
from sfumato_research.vec2text.entities import entities
from sfumato_research.vec2text.feedback import figure_3, figure_4, table_4
from sfumato_research.vec2text.name_frames import why
from sfumato_research.vec2text.names import names
from sfumato_research.vec2text.noise import noise
from sfumato_research.vec2text.scratch import adapted, from_scratch
from sfumato_research.vec2text.sets import other_sets
from sfumato_research.vec2text.words import figure_6

_RETRIEVAL = ("quora_pairs", "retrieval_fiqa_mini", "retrieval_scifact", "retrieval_cranfield", "squad_dev")

STUDY = Study(
    "vec2text",
    "Text embeddings reveal (almost) as much as text",
    "Morris et al. 2023",
    [
        StudyPart("table-1", "Table 1 and figure 5: reading held-back sentences", table_1, ("sentences",)),
        StudyPart("figure-3", "Figure 3: feedback against text alone", figure_3, ("sentences",)),
        StudyPart("figure-4", "Figure 4: the first hypothesis", figure_4, ("sentences",)),
        StudyPart("table-4", "Table 4: one sentence over its rounds", table_4),
        StudyPart(
            "table-2",
            "Table 2 and figure 7: other sets by length",
            other_sets,
            ("quora_pairs", "trec6", "ag_news"),
        ),
        StudyPart(
            "figure-6",
            "Figure 6: words by their frequency, sentences by their length",
            figure_6,
            ("sentences", "retrieval_scifact", "retrieval_cranfield"),
        ),
        StudyPart("table-3", "Table 3: names in medical notes", names, ("pii_medical_notes", "sentences")),
        StudyPart("entities", "Table 3: kinds of entities", entities, ("conll2003", "pii_presidio")),
        StudyPart("why", "Table 3: why names are missed", why, ("pii_medical_notes", "sentences")),
        StudyPart("table-5", "Table 5: other first hypotheses", initialisations, ("sentences",)),
        StudyPart("table-7", "Tables 6 and 7: Gaussian noise", noise, ("sentences", *_RETRIEVAL)),
        StudyPart(
            "adapted", "A reader that is told of the noise, or practises on it", adapted, ("sentences",)
        ),
        StudyPart(
            "scratch", "A reader trained from nothing on two cores", from_scratch, ("sts12", "sts13", "sts14")
        ),
    ],
)
