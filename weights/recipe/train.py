"""Train the MiniLM inverter on one GPU: hypothesiser, then hypothesiser and corrector together, in four bits.

    python weights/recipe/train.py --data FOLDER --out FOLDER [--base 540] [--joint 480]

FOLDER holds what prepare.py writes: corpus-*.npz, test.npz and the encoder's weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import count
from pathlib import Path
from time import time as clock

import torch
from corpus import Corpus
from encoder import Encoder
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import save_file

from sfumato.attacks.writers.generate import Specials, write
from sfumato.attacks.writers.layers import rounded, set_rounding
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.quantise import pack
from sfumato.attacks.writers.training import TextBatch, Trainer

SPECIALS = Specials(pad=0, begin=101, end=102)
WHOLE, PARTS = (0.45, 0.2, 0.22, 0.13), (0.0, 0.3, 0.5, 0.2)
"""Shares of whole sentences, parts, joined ones, and ones with words swapped."""
TINY = Sizes(384, 30522, width=128, layers=2, heads=4, pairs=2, word_width=64, positions=16)
FULL = Sizes(384, 30522)
NOISED = 0.12


class Run:
    written_at_once = 8192
    """Hypotheses."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.number_kind = torch.bfloat16 if self.device == "cuda" else torch.float32
        torch.manual_seed(options.seed)
        torch.set_float32_matmul_precision("high")
        torch._dynamo.config.recompile_limit = 32
        self.began = clock()
        self.corpus = self.made_corpus()
        self.encode = Encoder(options.data, self.device)
        self.network = Network(self.sizes()).to(self.device)
        words = self.encode.w["embeddings.word_embeddings.weight"].float()
        with torch.no_grad():
            self.network.words.copy_(words[:, : self.network.sizes.word_width])
        self.writer = Network(self.network.sizes).to(self.device, self.number_kind)
        """A copy in which hypotheses are written: rounded once, and in 16 bits on a GPU."""
        self.writing = 0.0
        self.trainer = Trainer(self.network, rate=options.rate, fast=self.device == "cuda")
        self.held = self._held_out()
        options.out.mkdir(parents=True, exist_ok=True)
        self.log_file = (options.out / "log.jsonl").open("a")
        self.say(
            parameters=sum(p.numel() for p in self.network.parameters()), sentences=len(self.corpus.start)
        )

    def made_corpus(self) -> Corpus:
        return Corpus(self.options.data, self.device, self.options.seed, tuple(self.options.shares))

    def sizes(self) -> Sizes:
        return TINY if self.options.tiny else FULL

    def say(self, **facts: object) -> None:
        line = json.dumps({"seconds": round(clock() - self.began, 1), **facts})
        print(line, flush=True)
        self.log_file.write(line + "\n")
        self.log_file.flush()

    def _held_out(self) -> TextBatch:
        text = torch.from_numpy(self.corpus.test[:2000].astype("int64")).to(self.device)
        return TextBatch(self.encode(text), text, torch.zeros(len(text), device=self.device))

    def noised(self, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Some of the vectors with isotropic noise of a random ratio, and the ratios."""
        chosen = torch.rand(len(vectors), device=self.device) < NOISED
        ratio = torch.where(chosen, 0.05 + 1.25 * torch.rand(len(vectors), device=self.device), 0.0)
        noise = torch.nn.functional.normalize(torch.randn_like(vectors), dim=1)
        return torch.nn.functional.normalize(vectors + ratio[:, None] * noise, dim=1), ratio

    def base_batches(self, pool: int, size: int):
        """Batches of about equal lengths, for ever."""
        while True:
            text = self.base_texts(pool)
            lengths = (text != 0).sum(1)
            order = (lengths + torch.rand(pool, device=self.device)).argsort()
            text, lengths = text[order], lengths[order].cpu()
            vectors, ratio = self.noised(self.encode(text))
            parts = self.parts(lengths, size)
            for number in torch.randperm(len(parts)).tolist():
                rows = parts[number]
                yield TextBatch(vectors[rows], text[rows, : int(lengths[rows].max())], ratio[rows])

    def base_texts(self, pool: int) -> torch.Tensor:
        """Texts for the hypothesiser."""
        return self.corpus.texts(self.corpus.base, pool, WHOLE)

    def corrector_texts(self, pool: int) -> torch.Tensor:
        """Texts for the corrector, half of them kept from the hypothesiser."""
        honest = self.corpus.texts(self.corpus.honest, pool // 2, (1.0, 0.0, 0.0, 0.0))
        everything = self.corpus.base + self.corpus.honest
        text = torch.cat([honest, self.corpus.texts(everything, pool - pool // 2, PARTS)])
        return text[torch.randperm(pool, device=self.device)]

    def parts(self, lengths: torch.Tensor, size: int) -> list[slice]:
        """Batches of so many texts out of texts in the order of their lengths."""
        return [slice(number * size, (number + 1) * size) for number in range(len(lengths) // size)]

    @torch.no_grad()
    def refresh_writer(self) -> None:
        """Bring the weights that write hypotheses up to date."""
        for mine, weight in zip(self.writer.parameters(), self.network.parameters(), strict=True):
            mine.copy_(rounded(weight))

    @torch.no_grad()
    def hypotheses(self, vectors, ratio, tokens=None, guess=None):
        """What the network makes of vectors now, some of it likeliest, some of it samples."""
        found = []
        for number, start in enumerate(range(0, len(vectors), self.written_at_once)):
            rows = slice(start, start + self.written_at_once)
            heat = (0.0, 0.5, 0.8, 1.0)[number % 4]
            written = write(
                self.writer, SPECIALS, vectors[rows], ratio=ratio[rows], temperatures=(heat,),
                guess=None if guess is None else guess[rows],
                tokens=None if tokens is None else tokens[rows],
            )  # fmt: skip
            found.append(written.tokens)
        return torch.cat(found)

    def corrector_batches(self, pool: int, size: int):
        """Batches with hypotheses the network has just written, many of them corrected once or twice."""
        while True:
            text = self.corrector_texts(pool)
            vectors, ratio = self.noised(self.encode(text))
            # Noise the network is not told of makes worse hypotheses, as steps far from the goal have them.
            blur = (
                torch.rand(pool, 1, device=self.device)
                * (torch.rand(pool, 1, device=self.device) < 0.3)
                * 0.6
            )
            seen = torch.nn.functional.normalize(
                vectors + blur * torch.nn.functional.normalize(torch.randn_like(vectors), dim=1), dim=1
            )
            if self.device == "cuda":
                torch.cuda.synchronize()
            began = clock()
            self.refresh_writer()
            near = int(self.options.near * pool)
            tokens = torch.cat([self.corpus.garbled(text[:near]), self.hypotheses(seen[near:], ratio[near:])])
            guess = self.encode(tokens)
            for share in (0.5, 0.25):
                rows = near + (torch.rand(pool - near, device=self.device) < share).nonzero()[:, 0]
                tokens[rows] = self.hypotheses(vectors[rows], ratio[rows], tokens[rows], guess[rows])
                guess[rows] = self.encode(tokens[rows])
            self.writing += clock() - began
            lengths = (text != 0).sum(1)
            order = (lengths + torch.rand(pool, device=self.device)).argsort()
            widths = (tokens != 0).sum(1)
            parts = self.parts(lengths[order].cpu(), size)
            for number in torch.randperm(len(parts)).tolist():
                rows = order[parts[number]]
                yield TextBatch(
                    vectors[rows], text[rows, : int(lengths[rows].max())], ratio[rows],
                    guess[rows], tokens[rows, : int(widths[rows].max())],
                )  # fmt: skip

    @torch.no_grad()
    def held_loss(self) -> float:
        with torch.compiler.set_stance("force_eager"):  # its shape would cost one more compilation
            return round(float(self.trainer.loss(self.held)), 4)

    def phase(self, name: str, seconds: float, batches, share) -> None:
        """Take steps for some time, which begins after the first: that one waits for the compiler."""
        start = said = clock()
        steps, pairs, losses = 0, 0, []
        while (done := (clock() - start) / seconds) < 1:
            batch = next(batches)
            losses.append(self.trainer.step(batch, share(steps, done)))
            steps, pairs = steps + 1, pairs + len(batch.text)
            if steps == 1:
                start = clock()
            if clock() - said > self.options.every:
                said = clock()
                loss = round(float(torch.stack(losses[-40:]).mean()), 4)
                self.say(
                    phase=name,
                    done=round(done, 3),
                    steps=steps,
                    pairs=pairs,
                    loss=loss,
                    held_out=self.held_loss(),
                    writing=round(self.writing, 1),
                )
        self.say(phase=name, done=1, steps=steps, pairs=pairs, held_out=self.held_loss())

    def base(self, seconds: float) -> None:
        """The hypothesiser, up to the full learning rate and on."""
        batches = self.base_batches(self.options.pool, self.options.batch)
        self.phase("base", seconds, batches, lambda steps, done: min(1.0, steps / 150))

    def joint(self, seconds: float) -> None:
        """Hypothesiser and corrector, for weights of four bits; the learning rate falls to nothing."""
        set_rounding(self.network, True)
        base = self.base_batches(self.options.pool, self.options.batch)
        corrector = self.corrector_batches(self.options.pool // 2, self.options.batch // 2)
        both = (next(base) if number % 3 == 2 else next(corrector) for number in count())
        self.phase("joint", seconds, both, lambda steps, done: max(min(1.0, (1 - done) / 0.9), 1e-3))

    def keep(self, name: str) -> None:
        """Write the weights in 16 bits, and as they are shipped."""
        halves = {
            key: value.detach().half().cpu().contiguous() for key, value in self.network.state_dict().items()
        }
        save_file(halves, self.options.out / f"{name}.safetensors")
        save_arrays(pack(self.network), self.options.out / f"{name}-packed.safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base", type=float, default=540)
    parser.add_argument("--joint", type=float, default=480)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--pool", type=int, default=65536)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--near", type=float, default=0.0, help="share of hypotheses made of the text itself")
    parser.add_argument("--every", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--shares", type=float, nargs=3, default=(0.4, 0.4, 0.2), help="of each group of sentences"
    )
    parser.add_argument("--tiny", action="store_true", help="a small network, to try the recipe out")
    run = Run(parser.parse_args())
    run.base(run.options.base)
    run.joint(run.options.joint)
    run.keep("joint")


if __name__ == "__main__":
    sys.exit(main())
