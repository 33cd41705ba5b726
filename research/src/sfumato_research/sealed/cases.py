"""What is searched: sets with judgements, and a pool of sentences that grows to a million."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.randomness import generator
from sfumato.sealing.cells.filing import sentences_in
from sfumato_research.studies.data import rows, searches, sts

POOL = "pool"
SMALL = ("scifact", "cranfield", "fiqa", "quora")
PAIRED = ("sts12", "sts13", "sts14")
NEEDS = (
    *PAIRED,
    "retrieval_scifact",
    "retrieval_cranfield",
    "retrieval_fiqa_mini",
    "quora_pairs",
    "sentences",
)
FURTHER = (
    "ag_news", "conll2003", "cr", "mpqa", "mr", "mtsamples", "paragraphs", "pii_ai4privacy_style",
    "pii_contextual", "pii_medical_notes", "pii_presidio", "quora_pairs", "retrieval_cranfield",
    "retrieval_fiqa_mini", "retrieval_scifact", "sick_r", "squad_dev", "sst5", "subj", "trec6", "yelp5",
)  # fmt: skip
"""Sets whose sentences fill the pool up; not those of STS, whose sentences are the queries' own."""
SMALLEST, MOST = 100_000, 1_000_000
"""Rows of the smallest and of the largest pool; the one between is the pool of sentences itself."""
_FILES = {
    "pii_ai4privacy_style": ("pii",), "pii_contextual": ("contextual",), "pii_medical_notes": ("notes",),
    "pii_presidio": ("presidio",), "retrieval_cranfield": ("corpus",), "retrieval_fiqa_mini": ("corpus",),
    "retrieval_scifact": ("corpus",), "sick_r": ("sick",), "squad_dev": ("contexts", "questions"),
}  # fmt: skip
_LEAST_SCORE, _QUERIES, _SHORTEST = 4.0, 1500, 20


@dataclass(frozen=True, slots=True, eq=False)
class SearchCase:
    """Texts, queries, and for each query the rows that answer it."""

    name: str
    texts: list[str]
    queries: list[str]
    judged: list[dict[int, float]]

    def first(self, count: int) -> SearchCase:
        """The case with its first rows alone; every judged row must be among them."""
        return SearchCase(f"{self.name} {count:,}", self.texts[:count], self.queries, self.judged)


def small_case(data: Path, name: str) -> SearchCase:
    """One of the sets with judgements."""
    if name == "quora":
        return _quora(data)
    folder = {"fiqa": "retrieval_fiqa_mini"}.get(name, f"retrieval_{name}")
    found = searches(data, folder)
    return SearchCase(name, found.documents, found.queries, found.judged)


def _quora(data: Path) -> SearchCase:
    pairs = list(rows(data, "quora_pairs", "quora_pairs"))
    texts = list(dict.fromkeys(row["question2"] for row in pairs))
    places = {text: place for place, text in enumerate(texts)}
    judged: dict[str, dict[int, float]] = {}
    for row in pairs:
        if row["is_duplicate"] == "1" and row["question1"] != row["question2"]:
            judged.setdefault(row["question1"], {})[places[row["question2"]]] = 1.0
    return _drawn("quora", texts, judged)


def pool_case(data: Path) -> SearchCase:
    """Partners of STS pairs, then the pool of sentences in random order: its beginnings are pools too."""
    scored = sts(data, *PAIRED)
    wanted: dict[str, set[str]] = {}
    for (one, other), score in zip(scored.pairs, scored.scores, strict=True):
        query, target = scored.texts[one], scored.texts[other]
        if score >= _LEAST_SCORE and query.strip().lower() != target.strip().lower():
            wanted.setdefault(query, set()).add(target)
    targets = sorted({text for each in wanted.values() for text in each})
    places = {text: place for place, text in enumerate(targets)}
    rest = [row["text"] for row in rows(data, "sentences", "sentences")]
    order = generator(2).permutation(len(rest))
    judged = {query: {places[text]: 1.0 for text in found} for query, found in wanted.items()}
    return _drawn(POOL, targets + [rest[row] for row in order], judged)


def _drawn(name: str, texts: list[str], judged: dict[str, dict[int, float]]) -> SearchCase:
    known = sorted(judged)
    picked = np.sort(generator(1).choice(len(known), min(_QUERIES, len(known)), replace=False))
    queries = [known[place] for place in picked]
    return SearchCase(name, texts, queries, [judged[query] for query in queries])


Run = tuple[int, ...]
"""Numbers of sentences that stood side by side."""


def further_sentences(data: Path, case: SearchCase) -> tuple[list[str], list[Run]]:
    """Sentences of other sets, none of which is in the case; and runs of two, then of three of them."""
    known = {text.casefold() for text in (*case.texts, *case.queries)}
    found: dict[str, int] = {}
    texts: list[str] = []
    runs: dict[int, dict[Run, None]] = {2: {}, 3: {}}
    for value in (each for folder in FURTHER if (data / folder).is_dir() for each in _values(data, folder)):
        last: Run = ()
        for sentence in sentences_in(value):
            key = sentence.casefold()
            if len(sentence) < _SHORTEST or key in known:
                last = ()
                continue
            place = found.setdefault(key, len(texts))
            if place == len(texts):
                texts.append(sentence)
            last = (*last[-2:], place)
            for length, held in runs.items():
                if len(last) >= length:
                    held[last[-length:]] = None
    rng, out = generator(3), list[Run]()
    for held in runs.values():
        every = list(held)
        out += [every[row] for row in rng.permutation(len(every))]
    return texts, out


def filled_up(case: SearchCase, further: list[str], runs: Sequence[Sequence[int]], most: int) -> SearchCase:
    """The case with further sentences and, where those are too few, runs of neighbours, up to `most` rows."""
    texts = [*case.texts, *further][:most]
    known = set(texts)
    for run in runs:
        if len(texts) >= most:
            break
        joined = " ".join(further[each] for each in run)
        if joined not in known:
            known.add(joined)
            texts.append(joined)
    return SearchCase(POOL, texts, case.queries, case.judged)


def _values(data: Path, folder: str) -> Iterator[str]:
    for name in _FILES.get(folder, (folder,)):
        for row in rows(data, folder, name):
            yield from (value for value in row.values() if isinstance(value, str) and len(value) >= _SHORTEST)
