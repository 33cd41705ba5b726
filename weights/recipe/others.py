"""A reader of another encoder's vectors, begun with the shipped one: training by the clock, then its test.

    python weights/recipe/others.py --encoder use-lite --data DATA --cache FOLDER --out FOLDER [--seconds 90]

The shipped network knows how texts go on, and how a MiniLM vector is read. A linear map from the other
encoder's vectors to MiniLM's (ridge regression on texts of the attacker's own) is multiplied into its input
layers; then all of it learns, for --seconds the hypothesiser and for --correct the corrector beside it. Texts
are embedded as they are written, with capitals, and read in lower case.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import process_time
from time import time as clock

import numpy as np
import torch
from encoder import Encoder
from evaluate import loaded
from further import SHIPPED
from other_encoders import encoder_of, likeness, many
from other_texts import Sentences, constant
from train import FULL, SPECIALS, TINY

from sfumato.attacks.writers.generate import write
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.quantise import unpack
from sfumato.attacks.writers.search import Search, Searcher
from sfumato.attacks.writers.training import TextBatch, Trainer
from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.devices import autocast

ALIKE = 0.999
SEARCHES = {
    "likeliest of 4": Search(steps=0, beam=1, first=1, likeliest=4),
    "best of 16": Search(steps=0, beam=1, first=16, heat=0.5),
    "beam 4, 5 steps": Search(steps=5),
}
SIZES = {
    "cuda": {
        "texts": 400_000,
        "test": 500,
        "seconds": 90,
        "correct": 35,
        "rate": 2e-3,
        "batch": 1024,
        "pool": 65_536,
        "every": 15,
    },
    "cpu": {
        "texts": 60_000,
        "test": 300,
        "seconds": 300,
        "correct": 0,
        "rate": 3e-5,
        "batch": 32,
        "pool": 1024,
        "every": 100,
    },
}
"""What is not asked for otherwise, by device."""


def translation(
    mine: torch.Tensor, theirs: torch.Tensor, strength: float = 1e-3
) -> tuple[torch.Tensor, torch.Tensor]:
    """Ridge regression from these vectors to those: the map, and what it gives for a vector of zeros."""
    mean, goal = mine.mean(0), theirs.mean(0)
    centred = (mine - mean).double()
    gram = centred.T @ centred
    gram += strength * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    found = torch.linalg.solve(gram, centred.T @ (theirs - goal).double()).T.float()
    return found, goal - found @ mean


@torch.no_grad()
def begun(network: Network, shipped: Network, found: torch.Tensor, offset: torch.Tensor) -> None:
    """Give a network the shipped weights, its input layers after the map to the vectors those read."""
    old, own = shipped.sizes.dim, network.sizes.dim
    mine, theirs = network.state_dict(), shipped.state_dict()
    for name, rows in theirs.items():
        if mine[name].shape == rows.shape:
            mine[name].copy_(rows)
    scaled = (
        found * (old / own) ** 0.5
    )  # vectors are shown at the length of the square root of their dimension
    network.expand.weight.zero_()
    network.expand.weight[:, :old] = shipped.expand.weight
    for turn, before in zip(network.turn, shipped.turn, strict=True):
        turn.weight.zero_()
        turn.weight[:old] = before.weight @ scaled
    for index in range(2):  # the vector and that of the hypothesis; the difference of two has no offset
        moved = shipped.expand(shipped.turn[index](offset * old**0.5))
        network.place[index] += moved.view(network.sizes.positions, -1)
    for block, before in zip(network.blocks, shipped.blocks, strict=True):
        vector, difference = before.told.weight.chunk(2, 1)
        block.told.weight.copy_(torch.cat([vector @ scaled, difference @ scaled], 1))


def halves(device: str) -> AbstractContextManager[object]:
    """Half the digits on a processor that multiplies them faster; a GPU's parts choose for themselves."""
    return autocast(torch.device("cpu")) if device == "cpu" else nullcontext()


class Other:
    """One encoder, a reader of its vectors, and the texts it learns from."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.device = options, options.device
        self.working = process_time if self.device == "cpu" else clock
        self.began, self.pieces = clock(), Wordpieces.minilm()
        torch.manual_seed(options.seed)
        torch.set_float32_matmul_precision("high")
        options.out.mkdir(parents=True, exist_ok=True)
        self.texts = Sentences.made(options.data, options.cache, self.pieces, options.texts, options.test)
        self.say(texts=len(self.texts.own), test=len(self.texts.test))
        self.embed = encoder_of(options.encoder, self.device, options.minilm)
        alike = likeness(self.embed, options.encoder, [text for _, text in self.texts.test[:32]])
        if alike < ALIKE:
            raise SystemExit(f"{options.encoder}: its vectors differ from the package's, cosine {alike:.4f}.")
        self.tokens = torch.from_numpy(self.texts.tokens.astype(np.int64)).to(self.device)
        with halves(self.device):  # they are kept in 16 bits
            self.vectors = self._wide(many(self.embed, self.texts.own)).half()
        self.goals = self._wide(many(self.embed, [text for _, text in self.texts.test]))
        self.say(alike=round(alike, 6), embedded=len(self.vectors), width=self.goals.shape[1])
        self.network = self._network()
        self.trainer = Trainer(self.network, rate=options.rate)
        self.say(held_out=self.held_loss())

    def _wide(self, vectors: torch.Tensor) -> torch.Tensor:
        """Vectors of fewer dimensions than MiniLM's are filled up with zeros, which changes no cosine."""
        return torch.nn.functional.pad(vectors, (0, max(0, FULL.dim - vectors.shape[1])))

    def say(self, **facts: object) -> None:
        line = json.dumps({"encoder": self.name, "seconds": round(clock() - self.began, 1), **facts})
        print(line, flush=True)
        with (self.options.out / "log.jsonl").open("a") as handle:
            handle.write(line + "\n")

    @property
    def name(self) -> str:
        return Path(self.options.encoder).name

    def _network(self) -> Network:
        sizes = TINY if self.options.tiny else FULL
        shipped = Network(sizes)
        if not self.options.tiny:
            unpack(shipped, {key: rows.numpy() for key, rows in loaded(self.options.start).items()})
        network = Network(Sizes(**{**shipped.describe(), "dim": self.goals.shape[1]}))
        rows = torch.randperm(len(self.tokens))[:60_000].to(self.device)
        found, offset = translation(self.vectors[rows].float(), self._theirs(rows))
        begun(network.to(self.device), shipped.to(self.device), found, offset)
        return network

    def _theirs(self, rows: torch.Tensor) -> torch.Tensor:
        """MiniLM's vectors of some texts; on a processor all of them, which the next encoder finds."""
        encode = Encoder(self.options.minilm, self.device)
        if self.device != "cpu":
            return encode(self.tokens[rows])
        kept = self.options.cache / f"minilm-{self.options.texts}-{self.options.test}.npy"
        if not kept.exists():
            part = kept.with_suffix(".part.npy")
            with halves(self.device):
                vectors = encode(self.tokens)
            np.save(part, vectors.float().numpy())
            part.rename(kept)
        return torch.from_numpy(np.load(kept, allow_pickle=False))[rows]

    def encode(self, tokens: torch.Tensor) -> torch.Tensor:
        return self._wide(many(self.embed, self.pieces.decode(tokens.cpu().numpy())))

    @torch.no_grad()
    def held_loss(self) -> float:
        text = torch.from_numpy(self.texts.test_tokens.astype(np.int64)).to(self.device)
        told = torch.zeros(len(text), device=self.device)
        return round(float(self.trainer.loss(TextBatch(self.goals, text, told))), 4)

    def _groups(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """Batches of texts of about equal lengths, in random order."""
        lengths = (self.tokens[rows] != 0).sum(1) + torch.rand(len(rows), device=self.device)
        parts = list(rows[lengths.argsort()].split(self.options.batch))
        return [parts[number] for number in torch.randperm(len(parts)).tolist()]

    def base(self) -> Iterator[TextBatch]:
        """Texts the hypothesiser learns from, over and over."""
        own = torch.from_numpy(np.flatnonzero(~self.texts.honest)).to(self.device)
        while True:
            for some in own[torch.randperm(len(own), device=self.device)].split(self.options.pool):
                for rows in self._groups(some):
                    yield self._batch(rows)

    def _batch(self, rows: torch.Tensor, guess=None, tokens=None) -> TextBatch:
        text = self.tokens[rows]
        told = torch.zeros(len(rows), device=self.device)
        wide = int((text != 0).sum(1).max())
        return TextBatch(self.vectors[rows].float(), text[:, :wide], told, guess, tokens)

    @torch.no_grad()
    def corrections(self) -> Iterator[TextBatch]:
        """Texts with hypotheses just written, half of them of texts the hypothesiser never learned."""
        own = [
            torch.from_numpy(np.flatnonzero(self.texts.honest == kind)).to(self.device)
            for kind in (True, False)
        ]
        half = self.options.pool // 8
        while True:
            rows = torch.cat([some[torch.randint(len(some), (half,), device=self.device)] for some in own])
            heats = (0.0, 0.5, 0.8, 1.0)
            written = [
                write(self.network, SPECIALS, self.vectors[part].float(), temperatures=(heat,)).tokens
                for part, heat in zip(rows.chunk(4), heats, strict=True)
            ]
            tokens = torch.cat(written)
            guess = self.encode(tokens)
            lengths = (self.tokens[rows] != 0).sum(1)
            for at in lengths.argsort().split(self.options.batch // 2):
                yield self._batch(rows[at], guess[at], tokens[at])

    def train(self) -> None:
        """First the hypothesiser, then both; the learning rate falls to nothing over both."""
        whole = self.options.seconds + self.options.correct
        base, corrections = self.base(), self.corrections()
        start = said = self.working()
        steps = pairs = 0
        while (spent := self.working() - start) < whole:
            correct = spent > self.options.seconds and steps % 3
            batch = next(corrections) if correct else next(base)
            with torch.enable_grad():
                loss = self.trainer.step(
                    batch, max(1e-3, min(1.0, (steps + 1) / 60, (1 - spent / whole) / 0.8))
                )
            steps, pairs = steps + 1, pairs + len(batch.text)
            if self.working() - said > self.options.every:
                said = self.working()
                self.say(
                    spent=round(spent, 1), pairs=pairs, loss=round(float(loss), 4), held_out=self.held_loss()
                )
        self.say(
            spent=round(self.working() - start, 1),
            steps=steps,
            pairs=pairs,
            held_out=self.held_loss(),
            over=True,
        )

    @torch.no_grad()
    def read(self) -> None:
        """Read the held-back vectors; the constant text and another row's text stand beside it."""
        kind = torch.bfloat16 if self.device == "cuda" else torch.float32
        self.network.to(kind).eval()
        text = torch.from_numpy(self.texts.test_tokens.astype(np.int64)).to(self.device)
        same = torch.from_numpy(constant(self.texts, self.pieces, self.options.tried)).to(self.device)
        found = {}
        for name, tokens in (
            ("constant text", same.expand(len(text), -1)),
            ("another text", text.roll(1, 0)),
        ):
            cosines = (self.encode(tokens) * self.goals).sum(1)
            found |= self._row(name, tokens, cosines, 0.0, 0.0)
        told = torch.zeros(len(text), device=self.device)
        for name, settings in SEARCHES.items():
            if settings.steps and not self.options.correct:
                continue
            searcher, began = Searcher(self.network, SPECIALS, self.encode, 0), clock()
            with halves(self.device):
                beam = searcher.run(self.goals, told, settings)
            taken = clock() - began
            found |= self._row(
                name, beam.tokens[:, 0], beam.cosines[:, 0], searcher.compared / len(text), taken
            )
            np.savez_compressed(self.options.out / f"{self.name}.npz", **found)
            exact = float((beam.tokens[:, 0] == text).all(1).float().mean())
            self.say(
                read=name, exact=round(100 * exact, 1), cosine=round(float(beam.cosines[:, 0].mean()), 4)
            )

    def _row(
        self, name: str, tokens: torch.Tensor, cosines: torch.Tensor, compared: float, taken: float
    ) -> dict[str, np.ndarray]:
        return {
            f"{name}|tokens": tokens.short().cpu().numpy(),
            f"{name}|cosine": cosines.float().cpu().numpy(),
            f"{name}|cost": np.array([compared, taken]),
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", required=True, help="minilm, wordllama, use-lite, smollm2, or a folder")
    parser.add_argument("--data", type=Path, required=True, help="with sentences/sentences.tsv.gz")
    parser.add_argument(
        "--minilm", type=Path, required=True, help="a folder with MiniLM's weights, as prepare.py writes them"
    )
    parser.add_argument(
        "--cache", type=Path, required=True, help="where the texts are kept for the next encoder"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, default=SHIPPED)
    parser.add_argument("--texts", type=int, help="to learn from: sentences, parts and joined ones")
    parser.add_argument("--test", type=int)
    parser.add_argument("--seconds", type=float, help="of the hypothesiser alone")
    parser.add_argument("--correct", type=float, help="of the corrector, beside the hypothesiser")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--pool", type=int)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tried", type=int, default=400, help="texts the constant one is chosen from")
    parser.add_argument("--every", type=float, help="seconds after which the loss is told")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--tiny", action="store_true", help="a small network, to try it out")
    options = parser.parse_args()
    for name, size in SIZES[options.device].items():
        if getattr(options, name) is None:
            setattr(options, name, size)
    other = Other(options)
    other.train()
    other.read()


if __name__ == "__main__":
    main()
