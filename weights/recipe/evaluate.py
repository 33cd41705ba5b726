"""Read the held-back vectors with a trained network, every way worth a row in the table; scored by score.py.

python weights/recipe/evaluate.py --data FOLDER --weights FILE --out FILE.npz [--seconds 240] [--tune 40]

The rows stand in the order of their worth; none begins after --seconds, and the file is whole after each.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from time import time as clock

import numpy as np
import torch
from corpus import Corpus
from encoder import Encoder
from safetensors.torch import load_file
from torch.nn.functional import normalize
from train import FULL, TINY

from sfumato.attacks.writers.generate import Specials
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.quantise import pack, unpack
from sfumato.attacks.writers.search import STRONG, Search, Searcher
from sfumato.attacks.writers.training import TextBatch, Trainer

SPECIALS = Specials(pad=0, begin=101, end=102)
GREEDY = Search(steps=0, beam=1, first=1)
CLEAN = {
    "greedy": GREEDY,
    "likeliest of 4": Search(steps=0, beam=1, first=1, likeliest=4),
    "beam 4 by 8, 20 steps": Search(steps=20, branch=8),
    "beam 8 by 8, two times 12 steps and edits": STRONG,
    "beam 4 by 8, 20 steps, edited": Search(steps=20, branch=8, polish=12),
    "5 steps": Search(steps=5, beam=1),
    "5 steps, feedback off": Search(steps=5, beam=1, feedback=False),
    "beam 4, 5 steps": Search(steps=5),
    "beam 4, 5 steps, feedback off": Search(steps=5, feedback=False),
    "beam 4, 20 steps": Search(steps=20),
    "1 step": Search(steps=1, beam=1),
    "1 step, feedback off": Search(steps=1, beam=1, feedback=False),
    "20 steps": Search(steps=20, beam=1),
    "20 steps, feedback off": Search(steps=20, beam=1, feedback=False),
    "1 step from the likeliest of 4": Search(steps=1, beam=1, likeliest=4),
    "best of 16": Search(steps=0, beam=1, first=16, heat=0.5),
    "best of 64": Search(steps=0, beam=1, first=64),
    "best of 336": Search(steps=0, beam=1, first=336, heat=0.8),
    "beam 4, 1 step": Search(steps=1),
    "beam 4, 20 steps, edited": Search(steps=20, polish=12),
    "beam 8 by 8, 50 steps": Search(steps=50, beam=8, branch=8, first=64),
    "50 steps": Search(steps=50, beam=1),
    "greedy, edited": Search(steps=0, beam=1, first=1, polish=12),
    "best of 16, edited": Search(steps=0, beam=1, first=16, heat=0.5, polish=12),
}
NOISY = {
    "greedy": GREEDY,
    "beam 4, 10 steps": Search(steps=10),
    "beam 4 by 8, 10 steps": Search(steps=10, branch=8),
}
APART = {
    "greedy": GREEDY,
    "beam 4, 20 steps": Search(steps=20),
    "beam 4 by 8, 20 steps": Search(steps=20, branch=8),
    "beam 8 by 8, two times 12 steps and edits": STRONG,
}

START = {"steps": 5, "beam": 4, "branch": 4, "first": 16}
DEV = {
    "start": Search(**START),
    "best text edited": Search(**START, polish=12),
    "four texts edited": Search(**START, polish=6, wide=4, choices=3),
    "best text edited, moves, pairs": Search(**START, polish=10, choices=6, moves=48, pairs=8),
    "four texts edited, moves, pairs": Search(**START, polish=5, wide=4, choices=3, moves=24, pairs=6),
    "four texts edited, pairs": Search(**START, polish=6, wide=4, choices=3, pairs=6),
    "four texts edited, moves": Search(**START, polish=6, wide=4, choices=3, moves=24),
    "the same, likelihood 0.01": Search(**START, polish=6, wide=4, choices=3, moves=24, likelihood=0.01),
    "the same, likelihood 0.03": Search(**START, polish=6, wide=4, choices=3, moves=24, likelihood=0.03),
    "two cycles of three rounds": Search(
        steps=3, beam=4, branch=4, first=16, polish=3, wide=4, choices=3, moves=24, cycles=2
    ),
    "corrections instead": Search(steps=40, beam=8, branch=8, first=16),
}
"""Ways to spend about two thousand embeddings a vector, compared on other sentences than the test's."""


def loaded(file: Path) -> dict[str, torch.Tensor]:
    """The arrays of a network, from a file of its own or from that of a saved reader."""
    weights = load_file(file)
    marked = {
        key.removeprefix("network."): value for key, value in weights.items() if key.startswith("network.")
    }
    return marked or weights


class Reading:
    def __init__(self, options: argparse.Namespace, sizes: Sizes = FULL) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        kept = np.load(options.data / "test.npz")
        self.options = options
        self.texts = {
            name: torch.from_numpy(kept[name].astype(np.int64)[: options.limit]).to(self.device)
            for name in kept
            if name != "begins"
        }
        self.encode = Encoder(options.data, self.device)
        self.network = Network(sizes)
        weights = loaded(options.weights)
        if any(key.endswith(".bits") for key in weights):
            unpack(self.network, {key: value.numpy() for key, value in weights.items()})
        else:
            self.network.load_state_dict({key: value.float() for key, value in weights.items()})
            if not options.full:
                unpack(self.network, pack(self.network))
        kind = torch.bfloat16 if self.device == "cuda" else torch.float32
        self.network.to(self.device, kind).eval()
        self.found: dict[str, np.ndarray] = {}

    def at_once(self, settings: Search) -> int:
        """Vectors that are read at a time: a GPU's attention takes so many texts, fewer of longer ones."""
        widest, longest = max(settings.first, settings.beam * settings.branch), self.network.sizes.longest
        return max(1, min(500, 32768 // widest) * 32 // max(32, longest))

    def truth(self, name: str) -> torch.Tensor:
        """The texts that a row is about."""
        kind = {"other sources": "apart"}.get(name.partition(",")[0], name.partition(",")[0])
        return self.texts.get(kind, self.texts["test"])

    def read(self, name: str, vectors: torch.Tensor, ratio: float, settings: Search) -> None:
        """Run one search; keep its texts, how close they came and the seconds it took."""
        began = clock()
        searcher = Searcher(self.network, SPECIALS, self.encode, 0)
        told = torch.full((len(vectors),), ratio, device=self.device)
        tokens, cosines = [], []
        size = self.at_once(settings)
        for start in range(0, len(vectors), size):
            rows = slice(start, start + size)
            beam = searcher.run(vectors[rows], told[rows], settings)
            tokens.append(beam.tokens[:, 0])
            cosines.append(beam.cosines[:, 0])
        self.found[f"{name}|tokens"] = torch.cat(tokens).short().cpu().numpy()
        self.found[f"{name}|cosine"] = torch.cat(cosines).float().cpu().numpy()
        self.found[f"{name}|cost"] = np.array([searcher.compared / len(vectors), clock() - began])
        truth, found = self.truth(name)[: len(vectors)], torch.cat(tokens)
        wide = min(truth.shape[1], found.shape[1])
        same = (found[:, :wide] == truth[:, :wide]).all(1) & ((truth[:, wide:] == 0).all(1))
        same = same.float().mean()
        print(
            f"{name}: exact {100 * float(same):.1f} %, cosine {float(torch.cat(cosines).mean()):.4f}, "
            f"{searcher.compared / len(vectors):.0f} candidates, {clock() - began:.1f} s",
            flush=True,
        )
        part = self.options.out.with_suffix(".part.npz")
        np.savez_compressed(part, **self.found)
        os.replace(part, self.options.out)

    def noised(self, vectors: torch.Tensor, ratio: float) -> torch.Tensor:
        random = torch.Generator(self.device).manual_seed(7)
        noise = torch.randn(vectors.shape, generator=random, device=self.device)
        return normalize(vectors + ratio * normalize(noise, dim=1), dim=1)

    def tune(self, ratio: float, seconds: float) -> None:
        """Fine-tune on vectors of this noise alone, as an attacker who knows it would."""
        corpus, kind = Corpus(self.options.data, self.device, 3), self.network.words.dtype
        self.network.float()
        trainer = Trainer(self.network, rate=1e-3, fast=self.device == "cuda")
        began, pairs = clock(), 0
        while (done := (clock() - began) / seconds) < 1:
            text = corpus.texts(corpus.base, 2048, (0.7, 0.15, 0.15, 0.0))
            vectors = self.encode(text)
            noise = normalize(torch.randn_like(vectors), dim=1)
            told = torch.full((len(text),), ratio, device=self.device)
            trainer.step(
                TextBatch(normalize(vectors + ratio * noise, dim=1), text, told), min(1.0, 2 * (1 - done))
            )
            if not pairs:  # the first step waits for the compiler
                began = clock()
            pairs += len(text)
        self.network.to(kind)
        print(f"tuned on {pairs} pairs", flush=True)


def reading_options(description: str) -> argparse.ArgumentParser:
    """What every reading of held-back texts is told."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--full", action="store_true", help="16 bits instead of the 4 that are shipped")
    parser.add_argument("--seconds", type=float, default=1e9, help="after which no further row is begun")
    parser.add_argument("--tiny", action="store_true", help="the small network of a run that was tried out")
    parser.add_argument("--names", default="", help="only the rows this pattern finds")
    return parser


def main() -> None:
    parser = reading_options(__doc__ or "")
    parser.add_argument("--tune", type=float, default=0)
    options = parser.parse_args()
    reading = Reading(options, TINY if options.tiny else FULL)
    vectors, others = reading.encode(reading.texts["test"]), reading.encode(reading.texts["apart"])
    began = clock()
    jobs = [(name, vectors, 0.0, settings) for name, settings in CLEAN.items()]
    others_jobs = [(f"other sources, {name}", others, 0.0, settings) for name, settings in APART.items()]
    for ratio in (0.7, 0.3, 0.1):
        noisy = reading.noised(vectors, ratio)
        others_jobs += [
            (f"noise {ratio}, {name}", noisy, ratio, settings) for name, settings in NOISY.items()
        ]
        others_jobs.append((f"noise {ratio}, not told, greedy", noisy, 0.0, GREEDY))
    if "dev" in reading.texts:
        tried = reading.encode(reading.texts["dev"])
        others_jobs += [(f"dev, {name}", tried, 0.0, settings) for name, settings in DEV.items()]
    for job in jobs[:9] + others_jobs + jobs[9:]:
        if re.search(options.names, job[0]) and clock() - began < options.seconds:
            reading.read(*job)
    if options.tune:
        reading.tune(0.7, options.tune)
        for name, settings in {**NOISY, "best of 16": CLEAN["best of 16"]}.items():
            reading.read(f"noise 0.7, tuned, {name}", reading.noised(vectors, 0.7), 0.7, settings)


if __name__ == "__main__":
    main()
