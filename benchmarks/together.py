"""What releases that belong together tell: parts of one note, question and passage of one session.

    python benchmarks/together.py --data DATA --json together.json

Pooling reads each release alone and multiplies the odds of its group. Half of the notes and of the passages
are learned from and the others attacked; texts are embedded with all-MiniLM-L6-v2.

- The sex and the age of a patient, as the note's own words say, from 1, 2, 4 and 8 sentences of a note, and
  from the whole note in one vector.
- The subject of a session (20 articles of SQuAD), from a question, from its passage, and from both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks.base import fresh_releases
from sfumato.attacks.known_texts.pooling import Pooling
from sfumato.attacks.terms.attributes import Attributes
from sfumato.embedders import load_embedder
from sfumato.mechanisms import Laplace
from sfumato.metrics.intervals import share
from sfumato.randomness import generator

RATIOS = (0.0, 0.7, 1.4)
SENTENCES, SUBJECTS, PASSAGES = 8, 20, 50
_SHE, _HE = r"\b(she|her|female|woman|girl|lady)\b", r"\b(he|his|him|male|man|boy|gentleman)\b"
_AGE = re.compile(r"\b(\d{1,3})[- ]year[- ]old")
_AGES = ((18, "under 18"), (40, "18 to 39"), (65, "40 to 64"), (130, "65 and over"))

Told = tuple[str, list[str], str]
"""What belongs together by its name, its texts, and the label they share."""


def rows(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows of a JSONL file."""
    with gzip.open(data / name, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def sex(note: str) -> str | None:
    """As the words say that stand in it at least three times as often as the others."""
    she, he = (len(re.findall(words, note, re.I)) for words in (_SHE, _HE))
    return "female" if she > 2 and she >= 3 * he else "male" if he > 2 and he >= 3 * she else None


def age(note: str) -> str | None:
    """Of the first age that it names."""
    found = _AGE.search(note)
    return None if found is None else next((name for most, name in _AGES if int(found[1]) < most), None)


def notes(data: Path, label: Callable[[str], str | None], seed: int) -> list[Told]:
    """Sentences of notes with a label, so many of each, drawn by the seed; and the whole note."""
    random, made = generator(seed), list[Told]()
    for number, row in enumerate(rows(data, "mtsamples/mtsamples.jsonl.gz")):
        note = str(row["transcription"])
        parts = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", note)]
        parts = list(dict.fromkeys(part for part in parts if len(part.split()) >= 6))
        said = label(note)
        if said is not None and len(parts) >= SENTENCES:
            chosen = random.permutation(len(parts))[:SENTENCES]
            made.append((f"note {number}", [*(parts[row] for row in chosen), note], said))
    return made


def sessions(data: Path, seed: int) -> list[Told]:
    """A question and the passage that answers it, under the subject of the passage."""
    asked = {
        str(row["context_id"]): str(row["question"]) for row in rows(data, "squad_dev/questions.jsonl.gz")
    }
    passages = [row for row in rows(data, "squad_dev/contexts.jsonl.gz") if row["context_id"] in asked]
    largest = [title for title, _ in Counter(row["title"] for row in passages).most_common(SUBJECTS)]
    made = list[Told]()
    for title in largest:
        own = [row for row in passages if row["title"] == title]
        for at in generator(seed).permutation(len(own))[:PASSAGES]:
            name = str(own[at]["context_id"])
            made.append((name, [asked[name], str(own[at]["context"])], title))
    return made


def measure(
    told: Sequence[Told], taken: dict[str, Sequence[int]], embed: Callable[[list[str]], Any], seed: int
) -> list[dict[str, Any]]:
    """Accuracy from the texts at some places of each group, by noise ratio; `taken` names the places."""
    order = generator(seed).permutation(len(told))
    learned, attacked = (
        [told[at] for at in part] for part in (order[: len(order) // 2], order[len(order) // 2 :])
    )
    texts = list(dict.fromkeys(text for _, own, _ in told for text in own))
    place, vectors = {text: row for row, text in enumerate(texts)}, embed(texts)
    labels = {text: label for _, own, label in learned for text in own}
    truth = [label for _, _, label in attacked]
    most = Counter(label for _, _, label in learned).most_common(1)[0][0]
    made = []
    for ratio in RATIOS:
        noise = Laplace.from_noise_ratio(ratio, dim=vectors.shape[1]) if ratio else None
        known = list(labels)
        attack = Pooling(
            reader=Attributes(labels=labels, control=False, seed=seed), shares="person", seed=seed
        )
        reader = attack.fit(known, vectors[[place[text] for text in known]], noise)
        for name, places in taken.items():
            given = [place[own[at]] for _, own, _ in attacked for at in places]
            reader.groups = np.repeat(np.arange(len(attacked)), len(places)).tolist()
            found = reader.recover(np.asarray(fresh_releases(noise, seed + 1)(vectors[given])))
            right = sum(row[0] == own for row, own in zip(found.rows[:: len(places)], truth, strict=True))
            figure = share("accuracy", right, len(truth))
            made.append(
                {
                    "ratio": ratio, "from": name, "groups": len(truth), "accuracy": figure.value,
                    "interval": [figure.low, figure.high], "most frequent": truth.count(most) / len(truth),
                }
            )  # fmt: skip
    return made


def main() -> None:
    """Read the options, run, and print a line a figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, help="groups at most, to try it")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    embed = load_embedder(asked.embedder).embed
    chunks: dict[str, Sequence[int]] = {f"sentences: {count}": range(count) for count in (1, 2, 4, SENTENCES)}
    chunks["whole note"] = [SENTENCES]
    cases = {
        "sex": (notes(asked.data, sex, asked.seed), chunks),
        "age": (notes(asked.data, age, asked.seed), chunks),
        "subject": (sessions(asked.data, asked.seed), {"question": [0], "passage": [1], "both": [0, 1]}),
    }
    made = {}
    for name, (told, taken) in cases.items():
        made[name] = measure(told[: asked.most], taken, embed, asked.seed)
        for row in made[name]:
            low, high = row["interval"]
            said = f"{row['accuracy']:.3f} ({low:.3f} to {high:.3f}) of {row['groups']}"
            guess = f"most frequent {row['most frequent']:.2f}"
            print(f"{name:8} ratio {row['ratio']:.1f}  {row['from']:14} {said}, {guess}", flush=True)
    if asked.json is not None:
        asked.json.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
