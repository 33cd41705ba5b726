"""Documents to learn longer texts from, and others held back: documents.npz beside what prepare.py writes.

    python weights/recipe/documents.py --sentences FILE --paragraphs FILE --general FOLDER --technical FOLDER
        --data FOLDER --out FOLDER

The test is of documents of the evaluation sets under --data, of which nothing is trained on: no document, no
sentence and no seven words in a row. The same documents are cut at 32, 64 and 128 wordpieces. The thousand
test sentences of prepare.py are held back as ever, and its files are written as well, of --sentences alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from prepare import NON_COMMERCIAL, ORDER, WORD, Chosen, folder_rows, held_back, name, rows, write_parts
from prepare import sentences_of as parts_of

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.randomness import generator

CUTS = (32, 64, 128)
HELD = {
    "squad_dev": ("contexts.jsonl.gz", "context"),
    "retrieval_scifact": ("corpus.jsonl.gz", "text"),
    "retrieval_cranfield": ("corpus.jsonl.gz", "text"),
    "retrieval_fiqa_mini": ("corpus.jsonl.gz", "text"),
    "yelp5": ("yelp5.tsv.gz", "text"),
    "mtsamples": ("mtsamples.jsonl.gz", "transcription"),
    "ag_news": ("ag_news.tsv.gz", "text"),
}
"""Evaluation sets of whole documents: the file and the field. None of them is trained on."""


def documents_of(folder: Path, source: str) -> Iterator[str]:
    """The documents of an evaluation set."""
    file, field = HELD[source]
    with gzip.open(folder / source / file, "rt") as handle:
        header = [] if ".jsonl" in file else next(handle).rstrip("\n").split("\t")
        for line in handle:
            row = (
                json.loads(line)
                if not header
                else dict(zip(header, line.rstrip("\n").split("\t"), strict=False))
            )
            text = re.sub(r"\s+", " ", str(row.get(field) or "")).strip()
            if text:
                yield text


def cut(pieces: Wordpieces, begins: np.ndarray, text: str, most: int) -> str:
    """The beginning of a text as it is written, of at most so many wordpieces and whole words."""
    read = pieces._tokenizer.encode(text, add_special_tokens=False)
    if len(read.ids) <= most:
        return text
    stop = most
    while stop > 1 and not begins[read.ids[stop]]:
        stop -= 1
    return text[: read.offsets[stop - 1][1]]


def held_documents(
    folder: Path, pieces: Wordpieces, begins: np.ndarray, count: int
) -> tuple[dict[str, list[tuple[str, str]]], set[int], set[str]]:
    """Test documents at each length, and what must not be trained on: runs of words, and sentences."""
    random, chosen, taboo, names = generator(20261118), [], set(), set()
    long_ones = {}
    for source in HELD:
        texts = sorted(set(documents_of(folder, source)))
        for text in texts:
            taboo |= runs(text)
            names |= {name(part) for part in (text, *parts_of(text))}
        order = random.permutation(len(texts))
        found = (texts[at] for at in order if len(texts[at]) > 2.5 * CUTS[-1])
        fitting = (text for text in found if len(pieces.numbers([text])[0]) > CUTS[-1])
        long_ones[source] = [text for text, _ in zip(fitting, range(count), strict=False)]
    sources = [source for source, texts in long_ones.items() if len(texts) >= count // 10]
    for at in range(count):
        source = sources[at % len(sources)]
        if at // len(sources) < len(long_ones[source]):
            chosen.append((source, long_ones[source][at // len(sources)]))
    held = {
        f"documents {most}": [(source, cut(pieces, begins, text, most)) for source, text in chosen]
        for most in CUTS
    }
    return held, taboo, names


def runs(text: str) -> set[int]:
    """Seven words in a row, by a number each."""
    words = WORD.findall(text.lower())
    return {hash(tuple(words[at : at + ORDER])) for at in range(len(words) - ORDER + 1)}


class Documents:
    """Distinct texts for training, none of them close to one that is held back."""

    def __init__(self, taboo: set[int], names: set[str]) -> None:
        self._taboo, self._names, self._known = taboo, names, set()
        self.rows: list[tuple[str, str]] = []
        self.dropped = 0

    def consider(self, source: str, text: str) -> None:
        """Take a document unless it, a sentence of it or seven words in a row are held back."""
        own = name(text)
        if not own or own in self._known:
            return
        self._known.add(own)
        held = own in self._names or any(name(part) in self._names for part in parts_of(text))
        if held or not self._taboo.isdisjoint(runs(text)):
            self.dropped += 1
            return
        self.rows.append((source, text))


def write_documents(
    out: Path, chosen: list[tuple[int, str, str]], pieces: Wordpieces, most: int, fewest: int = 33
) -> dict[str, object]:
    """Write documents as wordpieces, in random order, as many as fit in `most`; return what was kept."""
    random = generator(20261119)
    flat, length, group, counts, total = [], [], [], {}, 0
    order = random.permutation(len(chosen))
    order = sorted(order.tolist(), key=lambda at: chosen[at][0])
    for begin in range(0, len(order), 5000):
        some = [chosen[at] for at in order[begin : begin + 5000]]
        for (kind, source, _), numbers in zip(some, pieces.numbers([text for *_, text in some]), strict=True):
            if len(numbers) >= fewest and total + len(numbers) <= most:
                flat.append(np.array(numbers, np.uint16))
                length.append(len(numbers))
                group.append(kind)
                counts[source] = counts.get(source, 0) + 1
                total += len(numbers)
    honest = (random.random(len(length)) < 0.15).astype(np.uint8)
    arrays = {"length": np.array(length, np.uint32), "group": np.array(group, np.uint8), "part": honest}
    np.savez_compressed(out / "documents.npz", flat=np.concatenate(flat), **arrays)
    return {"documents": len(length), "wordpieces": total, "sources": counts}


def collected(options: argparse.Namespace, documents: Documents) -> tuple[list[tuple[int, str, str]], int]:
    """Documents with their group (paragraphs, general passages, manuals), and how many were too close."""
    for source, text in rows(options.paragraphs):
        documents.consider(f"{source} paragraphs", text)
    ends = [len(documents.rows)]
    for folder in (options.general, options.technical):
        for source, text in folder_rows(folder):
            documents.consider(source, text)
        ends.append(len(documents.rows))
    groups = np.searchsorted(ends, np.arange(ends[-1]), side="right").tolist()
    return [(kind, *row) for kind, row in zip(groups, documents.rows, strict=True)], documents.dropped


def write_tests(
    out: Path, pieces: Wordpieces, begins: np.ndarray, tests: dict[str, list[tuple[str, str]]]
) -> None:
    """What is held back, as wordpieces and as it was written; a name may end in its number of wordpieces."""
    arrays = {}
    for key, some in tests.items():
        longest = int(key.rpartition(" ")[2]) if " " in key else CUTS[0]
        arrays[key] = pieces.encode([text for _, text in some], longest).astype(np.int32)
    np.savez_compressed(out / "test.npz", **arrays, begins=begins)
    (out / "test.json").write_text(json.dumps(tests))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--paragraphs", type=Path, required=True)
    parser.add_argument("--general", type=Path, help="a folder of passages, as passages.py writes it")
    parser.add_argument("--technical", type=Path, help="another, of manuals, to fill what room is left")
    parser.add_argument("--data", type=Path, required=True, help="the evaluation sets, one folder each")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--held", type=int, default=400, help="test documents")
    parser.add_argument("--most", type=int, default=12_000_000, help="wordpieces of documents")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    pieces = Wordpieces.minilm()
    begins = np.array([not piece.startswith("##") for piece in pieces.pieces()])
    given = list(rows(options.sentences))
    random = generator(20261115)  # prepare.py's: the same test sentences
    order = random.permutation(len(given))
    test, apart, used = held_back(given, order, pieces, options.test)
    held, taboo, names = held_documents(options.data, pieces, begins, options.held)
    sentences = Chosen(test + apart)
    for at in order:
        known = int(at) in used or given[at][0] in NON_COMMERCIAL
        if not known and taboo.isdisjoint(runs(given[at][1])):
            sentences.consider(*given[at])
    for _, text in test + apart:
        taboo |= runs(text)
        names.add(name(text))
    chosen, dropped = collected(options, Documents(taboo, names))
    facts = write_documents(options.out, chosen, pieces, options.most)
    options.each = 10**9
    honest = random.random(len(sentences.rows)) < 0.15
    facts["short"] = write_parts(options, sentences, [len(sentences.rows)] * 3, honest, pieces)
    tests = {"test": test, "apart": apart, **held}
    write_tests(options.out, pieces, begins, tests)
    facts |= {"dropped_for_test": dropped, "held": {key: len(some) for key, some in tests.items()}}
    (options.out / "documents.json").write_text(json.dumps(facts, indent=2))
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
