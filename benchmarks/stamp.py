"""STAMP on SQuAD, AG News, Yelp and fictional passages: utility at the paper's budgets.

    python benchmarks/stamp.py DATA --json FILE [--sets squad,fantasy,ag_news,yelp] [--texts 300]

The paper's budget table is read in three ways. `epsilon` is kappa, as theorem 3 has it; `epsilon/pi` is what
the published code draws; `epsilon/6` is smaller still. Laplace is run with density ~ exp(-epsilon ||z||) on
unit vectors, the metric and the epsilon of polar, and as the published code has it: coordinate by coordinate,
with the range of the whole table as sensitivity. `uniform` is polar with the mean budget for every word.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.accounting.guarantee import Guarantee
from sfumato.concepts import Concept
from sfumato.concepts.spans import merge
from sfumato.embedders import load_embedder
from sfumato.evaluation import classify
from sfumato.mechanisms import Mechanism
from sfumato.randomness import Source, generator
from sfumato.sampling import exponentials
from sfumato.text import Budgets, Group, Rewriter, load_vocabulary
from sfumato.text.budgets import PAPER_ROWS
from sfumato.text.chat import Chat
from sfumato.text.fantasy import passages
from sfumato.text.groups import count_groups
from sfumato.text.importance import WordImportance
from sfumato.text.reader import Example, Reader, exact_match

SCALES = {"epsilon": 1.0, "epsilon/pi": 1 / math.pi, "epsilon/6": 1 / 6}
SENSITIVE = ("person", "location", "organisation", "identifier", "email", "phone")
TASKS = {
    "ag_news": "Which topic is this news about: world politics, sports, business, or science and technology?",
    "yelp": "How many stars does this review give: terrible, bad, okay, good or excellent food and service?",
}
JUDGE = (
    "You are a helpful assistant that answers questions based on the provided context. "
    "Limit your answer to one word."
)
"""The paper's evaluator (appendix C)."""
THRESHOLD = 0.2
"""Cosines of these vectors are smaller than those of the paper's: at its 0.5 next to nothing is important."""


class CoordinateLaplace(Mechanism):
    """The published baseline: noise a coordinate, its scale the l1 range of the table over epsilon."""

    name, paper, summary = "coordinate laplace", "STAMP's code", "independent noise in every coordinate"

    def __init__(self, epsilon: float, span: float) -> None:
        super().__init__()
        self.epsilon, self.span = epsilon, span

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.name, self.epsilon, "bounded", "proved")

    def parameters(self):
        return {"epsilon": self.epsilon, "span": self.span}

    def noise_sd(self, dim: int) -> float:
        return math.sqrt(2) * self.span / self.epsilon

    def noise_ratio(self, dim: int | None = None) -> float:
        return self.noise_sd(dim or 1) * math.sqrt(dim or 1)

    def _release(self, vectors, draws, step):
        two = exponentials(draws, 2 * vectors.shape[1])
        noise = (two[:, ::2] - two[:, 1::2]) * (self.span / self.epsilon)
        return (vectors + noise) / step


@dataclass
class Task:
    """Texts, what is asked of each, where they are sensitive, and how private texts are scored."""

    texts: list[str]
    tasks: list[str]
    spans: list[list[tuple[int, int, str]]]
    score: Callable[[dict[str, list[str]]], dict[str, dict[str, np.ndarray]]]


def rows_of(path: Path):
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        if ".jsonl" in path.name:
            yield from map(json.loads, handle)
        else:
            yield from csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)


def find_sensitive(texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
    found = [Concept.named(name).find_all(texts) for name in SENSITIVE]
    return [
        [(span.start, span.end, "sensitive") for span in merge(span for spans in each for span in spans)]
        for each in zip(*found, strict=True)
    ]


def question_task(examples: list[Example], answer: Callable[[str, str], str], embedder) -> Task:
    """Exact match and answer cosine, as in the paper."""

    def score(made: dict[str, list[str]]):
        out: dict[str, dict[str, np.ndarray]] = {"exact match": {}, "answer cosine": {}}
        gold = [embedder.embed(list(dict.fromkeys(one.answers))) for one in examples]
        for name, texts in made.items():
            said = [answer(text, one.question) or "?" for text, one in zip(texts, examples, strict=True)]
            vectors = embedder.embed(said)
            cosines = [float((right @ own).max()) for right, own in zip(gold, vectors, strict=True)]
            right = [exact_match(found, one.answers) for found, one in zip(said, examples, strict=True)]
            out["answer cosine"][name], out["exact match"][name] = np.array(cosines), np.array(right, float)
        return out

    texts = [one.context for one in examples]
    different = list(dict.fromkeys(texts))
    where = dict(zip(different, find_sensitive(different), strict=True))
    return Task(texts, [one.question for one in examples], [where[text] for text in texts], score)


def squad(data: Path, count: int, embedder, judge: Chat | None) -> Task:
    contexts = {row["context_id"]: row for row in rows_of(data / "squad_dev" / "contexts.jsonl.gz")}
    asked = list(rows_of(data / "squad_dev" / "questions.jsonl.gz"))
    rng = generator(0)
    rng.shuffle(asked)
    titles = sorted({row["title"] for row in contexts.values()})
    rng.shuffle(titles)
    held_out = set(titles[: len(titles) // 2])

    def examples(inside: bool) -> list[Example]:
        chosen = [row for row in asked if (contexts[row["context_id"]]["title"] in held_out) == inside]
        return [
            Example(contexts[row["context_id"]]["context"], row["question"], tuple(row["answers"]))
            for row in chosen
        ]

    reader = Reader.fit(examples(False)[:3000])
    return question_task(examples(True)[:count], asking(reader, judge), embedder)


def fantasy(count: int, embedder, judge: Chat | None) -> Task:
    def examples(number: int, seed: int) -> list[Example]:
        made = passages(number, seed=seed)
        return [Example(one.text, q.text, (q.answer,)) for one in made for q in one.questions]

    reader = Reader.fit(examples(300, 1))
    task = question_task(examples(max(1, count // 5), 2), asking(reader, judge), embedder)
    # No detector knows invented names: they are sensitive by construction.
    names = {one.text: one.names for one in passages(max(1, count // 5), seed=2)}
    for text, spans in zip(task.texts, task.spans, strict=True):
        places = [(text.index(name), text.index(name) + len(name), "sensitive") for name in names[text]]
        spans[:] = sorted({*spans, *places})
    return task


def asking(reader: Reader, judge: Chat | None) -> Callable[[str, str], str]:
    if judge is None:
        return reader.answer
    return lambda text, question: judge.ask(
        JUDGE, f"Context: {text}\nQuestion: {question}", most_tokens=5
    ).strip()


def classes(data: Path, name: str, count: int, embedder) -> Task:
    if name == "ag_news":
        rows = list(rows_of(data / "ag_news" / "ag_news.tsv.gz"))
        train = [row for row in rows if row["split"] == "train"]
        test = [row for row in rows if row["split"] == "test"]
        label = "label"
    else:
        rows = [row for row in rows_of(data / "yelp5" / "yelp5.tsv.gz") if row["text"].strip()]
        generator(0).shuffle(rows)
        train, test, label = rows[: len(rows) // 2], rows[len(rows) // 2 :], "stars"
    generator(1).shuffle(train)
    generator(2).shuffle(test)
    train, test = train[:3000], test[:count]
    # The encoder reads 256 pieces; what lies beyond only costs time.
    texts = [" ".join(row["text"].split()[:120]) for row in test]
    learned = embedder.embed([row["text"] for row in train])

    def score(made: dict[str, list[str]]):
        texts = [text for found in made.values() for text in found]
        different = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        vectors = embedder.embed(list(different))[[different[text] for text in texts]]
        wanted = np.tile([row[label] for row in test], len(made))
        done = classify(learned, np.array([row[label] for row in train]), vectors, wanted)
        return {"accuracy": dict(zip(made, done.correct.reshape(len(made), -1), strict=True))}

    return Task(texts, [TASKS[name]] * len(texts), find_sensitive(texts), score)


def interval(values: np.ndarray) -> list[float]:
    rng = generator(0)
    means = values[rng.integers(len(values), size=(2000, len(values)))].mean(axis=1)
    return [float(values.mean()), *map(float, np.quantile(means, [0.025, 0.975]))]


def compare(task: Task, vocabulary, seed: int) -> dict:
    """Rewrite the texts in every configuration, score them and pair them text by text."""
    span = float((vocabulary.vectors.max(axis=0) - vocabulary.vectors.min(axis=0)).sum())
    options = {
        "sensitive": [Concept.from_spans("sensitive")],
        "importance": WordImportance(vocabulary),
        "threshold": THRESHOLD,
        "keep_case": True,
    }
    polar = Rewriter(vocabulary, mechanism="polar", **options)
    machines = {
        "polar": polar,
        "laplace": Rewriter(vocabulary, mechanism="laplace", decoder=polar.channel.decoder, **options),
        "published laplace": Rewriter(
            vocabulary,
            mechanism=lambda epsilon: CoordinateLaplace(epsilon, span),
            decoder=polar.channel.decoder,
            **options,
        ),
    }
    source = Source.seeded(seed)
    counts = count_groups(polar.groups.group(task.texts, task.tasks, task.spans))
    made: dict[str, list[str]] = {"clean": task.texts}
    facts: dict[str, dict] = {}
    for scale, factor in SCALES.items():
        for row, printed in enumerate(PAPER_ROWS, 1):
            budgets = Budgets(*printed).scaled(factor)
            runs = {name: (m, budgets) for name, m in machines.items() if factor == 1 or "pub" not in name}
            runs["uniform"] = (polar, Budgets.uniform(budgets.mean(counts)))
            for name, (machine, spent) in runs.items():
                done = machine.with_budgets(spent).rewrite(
                    task.texts, tasks=task.tasks, spans=task.spans, rng=source
                )
                key = f"{scale}|{row}|{name}"
                made[key] = [each.text for each in done]
                changed = Counter(
                    one.group
                    for text, each in zip(task.texts, done, strict=True)
                    for one in each.positions
                    if one.written.lower() != text[one.start : one.end].lower()
                )
                facts[key] = {
                    "budgets": [spent.of(group) for group in Group],
                    "replaced": {str(int(group)): changed[group] / max(1, counts[group]) for group in Group},
                }
    figures = task.score(made)
    out = {
        "texts": len(task.texts),
        "words": {str(int(group)): number for group, number in counts.items()},
        "facts": facts,
        "figures": {m: {k: interval(v) for k, v in found.items()} for m, found in figures.items()},
        "pairs": {},
    }
    for metric, found in figures.items():
        out["pairs"][metric] = {
            f"{head}|polar - {name}": interval(found[f"{head}|polar"] - values)
            for key, values in found.items()
            for head, _, name in [key.rpartition("|")]
            if head and name != "polar"
        }
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--sets", default="squad,fantasy,ag_news,yelp")
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--judge", help="MODEL@URL: ask this model in place of the offline reader")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    embedder = load_embedder("minilm")
    vocabulary = load_vocabulary("minilm", pieces=True)
    judge = Chat.parse(given.judge) if given.judge else None
    done = json.loads(given.json.read_text()) if given.json.exists() else {}
    for name in given.sets.split(","):
        started = time.monotonic()
        if name == "squad":
            task = squad(given.data, given.texts, embedder, judge)
        elif name == "fantasy":
            task = fantasy(given.texts, embedder, judge)
        else:
            task = classes(given.data, name, given.texts, embedder)
        done[name] = compare(task, vocabulary, given.seed)
        given.json.write_text(json.dumps(done, indent=1))
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
