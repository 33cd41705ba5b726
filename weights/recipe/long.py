"""Teach shipped weights to read longer texts, for a fixed time: further.py with documents.

    python weights/recipe/long.py --data FOLDER --state FOLDER --out FOLDER --seconds 330 --call 330

FOLDER holds what documents.py writes. For texts of up to 32 wordpieces the network begins as the shipped one
to the last bit: a hypothesis and its text stay as far apart as they were, so that a longer text stands beside
its hypothesis in part, and which of the two a wordpiece is of is told by its kind alone.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import torch
from further import Further, settings
from train import FULL, PARTS, TINY, WHOLE
from windows import LongCorpus

from sfumato.attacks.writers.network import Sizes
from sfumato.attacks.writers.training import TextBatch

HELD = ("test", "documents 64", "documents 128")


def long_sizes(longest: int, *, tiny: bool = False) -> Sizes:
    """Of a network that reads longer texts, begun as the shipped one."""
    return replace(TINY if tiny else FULL, longest=longest, apart=FULL.longest + 2)


class Long(Further):
    """A further run on sentences and stretches of documents, in batches of about as many wordpieces."""

    written_at_once = 4096

    def made_corpus(self) -> LongCorpus:
        options = self.options
        return LongCorpus(
            options.data,
            self.device,
            options.seed,
            tuple(options.shares),
            options.longest,
            short=options.short,
        )

    def sizes(self) -> Sizes:
        return long_sizes(self.options.longest, tiny=self.options.tiny)

    def _settings(self) -> dict[str, object]:
        return super()._settings() | {
            name: getattr(self.options, name) for name in ("longest", "short", "tokens")
        }

    def base_texts(self, pool: int) -> torch.Tensor:
        return self.corpus.mixed(pool, WHOLE)

    def corrector_texts(self, pool: int) -> torch.Tensor:
        honest = self.corpus.mixed(pool // 2, (1.0, 0.0, 0.0, 0.0), honest=True)
        text = torch.cat([honest, self.corpus.mixed(pool - pool // 2, PARTS)])
        return text[torch.randperm(pool, device=self.device)]

    def parts(self, lengths: torch.Tensor, size: int) -> list[slice]:
        """Batches of at most `size` texts, of which the longest fills a share of --tokens with them."""
        room, found, start = self.options.tokens * size // self.options.batch, [], 0
        while start < len(lengths):
            stop = min(start + size, len(lengths))
            while stop - start > 1 and (stop - start) * int(lengths[stop - 1]) > room:
                stop -= max(1, (stop - start) // 8)
            found.append(slice(start, stop))
            start = stop
        return found

    def _held_out(self) -> dict[str, TextBatch]:
        kept, found = np.load(self.options.data / "test.npz"), {}
        for name in HELD:
            text = torch.from_numpy(kept[name][: self.options.held].astype("int64")).to(self.device)
            found[name] = TextBatch(self.encode(text), text, torch.zeros(len(text), device=self.device))
        return found

    @torch.no_grad()
    def held_loss(self) -> dict[str, float]:
        with torch.compiler.set_stance("force_eager"):
            return {name: round(float(self.trainer.loss(batch)), 4) for name, batch in self.held.items()}


def main() -> int:
    parser = settings(__doc__)
    parser.add_argument("--longest", type=int, default=128)
    parser.add_argument("--short", type=float, default=0.45, help="share of texts that are sentences as ever")
    parser.add_argument(
        "--tokens", type=int, default=49_152, help="wordpieces in a batch of the hypothesiser"
    )
    parser.add_argument("--held", type=int, default=400, help="held-back texts of each length for the loss")
    return 0 if Long(parser.parse_args()).train() else 3


if __name__ == "__main__":
    sys.exit(main())
