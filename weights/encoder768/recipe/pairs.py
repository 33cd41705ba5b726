"""Pairs of texts that belong together, out of public data sets, without any text that an evaluation uses."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato_research.studies.data import rows

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Pair:
    left: str
    right: str
    key: str
    """Pairs of one key answer each other too, and are no negatives for each other."""


def told_apart(text: str) -> str:
    """A text as it is compared: without case, punctuation and space."""
    return _SAME.sub("", text.lower())


def held_out(data: Path) -> set[str]:
    """Every sentence that similarity is measured on."""
    found = set()
    for name in ("sts12", "sts13", "sts14", "stsb"):
        for row in rows(data, name, name):
            if name != "stsb" or row["split"] != "train":
                found |= {told_apart(row["sentence1"]), told_apart(row["sentence2"])}
    return found


def quora(data: Path) -> Iterator[Pair]:
    for row in rows(data, "quora_pairs", "quora_pairs"):
        if row["split"] == "dev" and row["is_duplicate"] == "1":
            yield Pair(row["question1"], row["question2"], row["question1"])


def squad(data: Path) -> Iterator[Pair]:
    """Two thirds of the articles, by their titles' digests."""
    contexts = {row["context_id"]: row for row in rows(data, "squad_dev", "contexts")}
    for row in rows(data, "squad_dev", "questions"):
        context = contexts[row["context_id"]]
        if hashlib.sha256(context["title"].encode()).digest()[0] % 3:
            yield Pair(row["question"], context["context"], row["context_id"])


def searched(data: Path, folder: str) -> Iterator[Pair]:
    """Queries of the part `train`, without documents that answer a query of another part."""
    documents = {row["_id"]: f"{row.get('title', '')} {row['text']}".strip()
                 for row in rows(data, folder, "corpus")}  # fmt: skip
    queries = {row["_id"]: row["text"] for row in rows(data, folder, "queries")}
    judged = [row for row in rows(data, folder, "qrels") if float(row["score"]) > 0]
    others = {row["corpus-id"] for row in judged if row["split"] != "train"}
    asked = {row["query-id"] for row in judged if row["split"] != "train"}
    for row in judged:
        query, document = row["query-id"], row["corpus-id"]
        if row["split"] == "train" and document not in others and query not in asked:
            if query in queries and document in documents:
                yield Pair(queries[query], documents[document], document)


def sick(data: Path) -> Iterator[Pair]:
    for row in rows(data, "sick_r", "sick"):
        if row["split"] == "train" and row["entailment"] == "ENTAILMENT":
            yield Pair(row["sentence1"], row["sentence2"], row["sentence1"])


def halves(data: Path) -> Iterator[Pair]:
    for number, row in enumerate(rows(data, "paragraphs", "paragraphs")):
        sentences = _SENTENCE.split(row["text"])
        middle = len(sentences) // 2
        if middle:
            yield Pair(" ".join(sentences[:middle]), " ".join(sentences[middle:]), str(number))


def itself(data: Path) -> Iterator[Pair]:
    """Every fifth sentence of the sentence set; dropout makes its two vectors differ."""
    for number, row in enumerate(rows(data, "sentences", "sentences")):
        if number % 5 == 0:
            yield Pair(row["text"], row["text"], row["text"])


SOURCES = {
    "quora": (quora, 5),
    "squad": (squad, 5),
    "scifact": (lambda data: searched(data, "retrieval_scifact"), 1),
    "fiqa": (lambda data: searched(data, "retrieval_fiqa_mini"), 1),
    "sick": (sick, 2),
    "halves": (halves, 6),
    "itself": (itself, 4),
}
"""Where pairs come from, and how often a batch is drawn from there."""


def read_pairs(data: Path) -> dict[str, list[Pair]]:
    """The pairs of every source, without those that hold a held-out sentence."""
    out = held_out(data)
    return {
        name: [pair for pair in make(data)
               if told_apart(pair.left) not in out and told_apart(pair.right) not in out]
        for name, (make, _) in SOURCES.items()
    }  # fmt: skip
