"""The texts of STAMP's table 1: what is asked of them, what is sensitive, how private ones are scored."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts import Concept
from sfumato.concepts.base import Span
from sfumato.concepts.spans import merge, relabel
from sfumato.embedders import load_embedder
from sfumato.embedders.base import Embedder
from sfumato.metrics import classify
from sfumato.randomness import generator
from sfumato.text.chat import Chat
from sfumato.types import Floats, Vectors
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder, rows
from sfumato_research.text.fantasy import Passage, passages
from sfumato_research.text.judge import Judge
from sfumato_research.text.reader import Example, Reader, exact_match

SENSITIVE = ("person", "location", "organisation", "identifier", "email", "phone")
"""The paper's: people, places, organisations, numeric identifiers (section 5.1)."""
TASKS = {
    "ag_news": "Which topic is this news about: world politics, sports, business, or science and technology?",
    "yelp5": "How many stars does this review give: terrible, bad, okay, good or excellent food and service?",
}
LABELS = {"ag_news": "label", "yelp5": "stars"}
JUDGE = "SFUMATO_JUDGE"
"""MODEL@URL in this variable asks a chat model in the place of the offline reader."""
_MOST_WORDS = 60

Spans = list[Span]
Made = Mapping[str, Sequence[str]]
"""Private texts by the name of what made them."""
Scores = dict[str, dict[str, Floats]]
"""Metric, then name, then one figure a text."""


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts of one set, ready to be rewritten and scored."""

    texts: Sequence[str]
    tasks: Sequence[str]
    spans: Sequence[Spans]
    groups: NDArray[np.int64]
    """`[n]` which texts are the same one: they are drawn together for intervals."""
    score: Callable[[Made], Scores]
    metric: str
    """The one of the paper's table."""
    how: str
    """Who scores, in words."""
    answer_inside: NDArray[np.bool_] | None = None
    """`[n]` whether every right answer touches something sensitive."""
    others: Sequence[str] = ()
    """Clean texts of the same kind that are not scored."""
    examples: Sequence[Example] = ()
    """Questions with their answers, where the set asks some."""


class _Answers(Protocol):
    def answer(self, context: str, question: str) -> str: ...


def find_sensitive(texts: Sequence[str]) -> list[Spans]:
    """What the paper treats as sensitive in every text, found by the detectors of the catalogue."""
    found = [Concept.named(name).find_all(texts) for name in SENSITIVE]
    return [
        relabel(merge(span for spans in each for span in spans), "sensitive")
        for each in zip(*found, strict=True)
    ]


def _shuffled(seed: int, items: Sequence[Any]) -> list[Any]:
    order = generator(seed).permutation(len(items))
    return [items[row] for row in order.tolist()]


def _squad(setting: Setting, tested: bool, count: int) -> list[Example]:
    """Questions about the articles that are tested, or about the others."""
    contexts = {row["context_id"]: row for row in rows(setting.data, "squad_dev", "contexts")}
    asked = _shuffled(0, list(rows(setting.data, "squad_dev", "questions")))
    titles = _shuffled(1, sorted({row["title"] for row in contexts.values()}))
    held_out = set(titles[: len(titles) // 2])
    found = (row for row in asked if (contexts[row["context_id"]]["title"] in held_out) == tested)
    return [
        Example(contexts[row["context_id"]]["context"], row["question"], tuple(row["answers"]))
        for row, _ in zip(found, range(count), strict=False)
    ]


def untested_questions(setting: Setting) -> list[Example]:
    """Questions about articles of SQuAD that are not tested, one a context."""
    found = _squad(setting, False, setting.pick(3000, 600))
    return list({one.context: one for one in reversed(found)}.values())[::-1]


def squad(setting: Setting) -> Texts:
    """Questions of SQuAD's development set; the reader learns from articles that are not asked about."""
    learned = _squad(setting, False, setting.pick(3000, 600))
    test = _squad(setting, True, setting.pick(80, 15))
    return _questions(test, find_sensitive_once(test), _reader(learned), encoder(setting), learned)


def fantasy(setting: Setting) -> Texts:
    """Fictional passages: no reader knows the answers, no detector the names, which are given as spans."""

    def examples(made: Sequence[Passage]) -> list[Example]:
        return [Example(one.text, q.text, (q.answer,)) for one in made for q in one.questions]

    asked = passages(setting.pick(24, 3), seed=2)
    names = {one.text: one.names for one in asked}
    test = examples(asked)
    found = find_sensitive_once(test)
    for text, spans in found.items():
        places = {
            Span(text.index(name), text.index(name) + len(name), "sensitive") for name in names.get(text, ())
        }
        found[text] = sorted({*spans, *places})
    learned = examples(passages(setting.pick(200, 60), seed=1))
    return _questions(test, found, _reader(learned), encoder(setting), learned)


def _reader(examples: Sequence[Example]) -> _Answers:
    asked = os.environ.get(JUDGE)
    return Judge(Chat.parse(asked, temperature=0.0)) if asked else Reader.fit(examples)


def find_sensitive_once(examples: Sequence[Example]) -> dict[str, Spans]:
    """What is sensitive in every different context."""
    different = list(dict.fromkeys(one.context for one in examples))
    return dict(zip(different, find_sensitive(different), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class AnswerScorer:
    """Compares answers with the right ones: cosine of an encoder, and word for word."""

    examples: Sequence[Example]
    embedder: Embedder
    gold: Sequence[Vectors]
    """Vectors of each question's right answers."""

    @classmethod
    def of(cls, examples: Sequence[Example], embedder: Embedder) -> AnswerScorer:
        """Embed the right answers."""
        return cls(examples, embedder, [embedder.embed(list(dict.fromkeys(one.answers))) for one in examples])

    def scores(self, answers: Sequence[str]) -> dict[str, Floats]:
        """One figure a question by either measure; an empty answer counts as a question mark."""
        said = [each or "?" for each in answers]
        different = list(dict.fromkeys(said))
        vectors = dict(zip(different, self.embedder.embed(different), strict=True))
        pairs = zip(self.gold, said, strict=True)
        right = [exact_match(one, example.answers) for one, example in zip(said, self.examples, strict=True)]
        return {
            "answer cosine": np.array([float((own @ vectors[one]).max()) for own, one in pairs]),
            "exact match": np.array(right, np.float64),
        }


def _questions(
    examples: Sequence[Example],
    sensitive: Mapping[str, Spans],
    reader: _Answers,
    embedder: Embedder,
    learned: Sequence[Example],
) -> Texts:
    """Exact match and answer cosine, as in the paper."""
    scorer = AnswerScorer.of(examples, embedder)

    def score(made: Made) -> Scores:
        out: Scores = {"answer cosine": {}, "exact match": {}}
        for name, texts in made.items():
            said = [reader.answer(text, one.question) for text, one in zip(texts, examples, strict=True)]
            for metric, values in scorer.scores(said).items():
                out[metric][name] = values
        return out

    texts = [one.context for one in examples]
    spans = [sensitive[text] for text in texts]
    how = "a chat model" if isinstance(reader, Judge) else "an extractive reader trained on clean passages"
    return Texts(
        texts,
        [one.question for one in examples],
        spans,
        np.unique(texts, return_inverse=True)[1],
        score,
        "answer cosine",
        f"answers by {how}, compared by all-MiniLM-L6-v2",
        np.array([_inside(one, found) for one, found in zip(examples, spans, strict=True)], bool),
        list(dict.fromkeys(one.context for one in learned)),
        examples,
    )


def _inside(example: Example, spans: Spans) -> bool:
    """Whether no right answer stands clear of everything sensitive, at the place where it is found first."""
    for answer in example.answers:
        start = example.context.find(answer)
        clear = all(span.end <= start or start + len(answer) <= span.start for span in spans)
        if start >= 0 and clear:
            return False
    return True


def classes(setting: Setting, name: str) -> Texts:
    """AG News or Yelp: a classifier trained on clean text reads private text."""
    found = [row for row in rows(setting.data, name, name) if row["text"].strip()]
    if "split" in found[0]:
        train = [row for row in found if row["split"] == "train"]
        test = [row for row in found if row["split"] == "test"]
    else:
        mixed = _shuffled(0, found)
        train, test = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
    train = _shuffled(1, train)[: setting.pick(6000, 1500)]
    test = _shuffled(2, test)[: setting.pick({"ag_news": 300, "yelp5": 150}[name], 40)]
    texts = [" ".join(row["text"].split()[:_MOST_WORDS]) for row in test]
    embedder = load_embedder("wordllama")
    others = [" ".join(row["text"].split()[:_MOST_WORDS]) for row in train]
    learned = embedder.embed(others)
    label = LABELS[name]

    def score(made: Made) -> Scores:
        everything = [text for found in made.values() for text in found]
        vectors = embedder.embed(everything)
        wanted = np.tile([row[label] for row in test], len(made))
        done = classify(learned, np.array([row[label] for row in train]), vectors, wanted)
        return {"accuracy": dict(zip(made, done.correct.reshape(len(made), -1), strict=True))}

    return Texts(
        texts,
        [TASKS[name]] * len(texts),
        find_sensitive(texts),
        np.arange(len(texts)),
        score,
        "accuracy",
        f"a logistic regression on WordLlama vectors of {len(train):,} clean texts; at most "
        f"{_MOST_WORDS} words of a text",
        others=others,
    )
