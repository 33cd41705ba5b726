"""Train shipped weights further on more text, for a fixed time, in as many calls as it takes.

    python weights/recipe/further.py --data FOLDER --state FOLDER --out FOLDER --seconds 660 --call 540

Begins with the four-bit weights of the package and goes on for them: the learning rate falls to nothing at
the end of --seconds. What is needed to go on is kept in --state every two minutes; another call goes on from
there. Writes further-packed.safetensors (what package.py takes) and log.jsonl under --out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from time import time as clock

import torch
from safetensors.numpy import load_file as load_arrays
from safetensors.torch import load_file, save_file
from train import TINY, Run

from sfumato.attacks.writers.layers import set_rounding
from sfumato.attacks.writers.quantise import unpack
from sfumato.attacks.writers.training import TextBatch

SHIPPED = Path(__file__).parent.parent / "src" / "sfumato_minilm_inverter" / "model" / "tensors.safetensors"
WEIGHTS = "network."
"""How a saved reader names the arrays of its network."""


class Further(Run):
    """A run that begins with trained weights, stops when told to and goes on where it stopped."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.spent = self.saved_at = 0.0
        self.steps = self.pairs = 0
        set_rounding(self.network, True)
        options.state.mkdir(parents=True, exist_ok=True)
        self.file = options.state / "state.safetensors"
        if self.file.exists():
            self._resume()
        elif not options.tiny:
            self._begin()
        self.say(started=round(self.spent, 1), held_out=self.held_loss(), **self._settings())

    def _settings(self) -> dict[str, object]:
        names = ("rate", "shares", "batch", "pool", "blind", "near", "early", "seed")
        return {"in_all": self.options.seconds} | {name: getattr(self.options, name) for name in names}

    def _begin(self) -> None:
        """Take the weights of the package, or those of --start."""
        arrays = load_arrays(self.options.start)
        marked = {key.removeprefix(WEIGHTS): rows for key, rows in arrays.items() if key.startswith(WEIGHTS)}
        unpack(self.network, marked or arrays)

    @property
    def now(self) -> float:
        """Seconds spent in all calls."""
        return self.spent + clock() - self.began

    def save(self) -> None:
        """Keep weights, optimisers and the time spent, in place of what was kept before."""
        tensors = {f"net.{key}": value for key, value in self.network.state_dict().items()}
        for number, optimiser in enumerate(self.trainer._optimisers):
            for index, held in optimiser.state_dict()["state"].items():
                tensors |= {
                    f"opt.{number}.{index}.{key}": torch.as_tensor(value) for key, value in held.items()
                }
        facts = {"spent": self.now, "steps": self.steps, "pairs": self.pairs}
        part = self.file.with_suffix(".part")
        save_file({key: value.detach().cpu().contiguous() for key, value in tensors.items()}, part,
                  {"facts": json.dumps(facts)})  # fmt: skip
        os.replace(part, self.file)
        self.saved_at = clock()

    def _resume(self) -> None:
        from safetensors import safe_open

        tensors = load_file(self.file)
        with safe_open(self.file, "pt") as handle:
            facts = json.loads(handle.metadata()["facts"])
        self.spent, self.steps, self.pairs = facts["spent"], facts["steps"], facts["pairs"]
        self.network.load_state_dict(
            {key.removeprefix("net."): value for key, value in tensors.items() if key.startswith("net.")}
        )
        for number, optimiser in enumerate(self.trainer._optimisers):
            own = optimiser.state_dict()
            state: dict[int, dict[str, torch.Tensor]] = {}
            for key, value in tensors.items():
                kind, _, rest = key.partition(f".{number}.")
                if kind == "opt":
                    index, _, name = rest.partition(".")
                    state.setdefault(int(index), {})[name] = value
            optimiser.load_state_dict({"state": state, "param_groups": own["param_groups"]})
        self.corpus.random.manual_seed(self.options.seed + self.steps)
        torch.manual_seed(self.options.seed + self.steps)

    def _batches(self):
        """Hypothesiser and corrector in turn: mostly the first while --early lasts, then the second."""
        base = self.base_batches(self.options.pool, self.options.batch)
        corrector = self.corrector_batches(self.options.pool // 2, self.options.batch // 2)
        while True:
            early = self.now / self.options.seconds < self.options.early
            share = 0.8 if early else 0.34
            if float(torch.rand(())) < share:
                yield next(base)
                continue
            batch = next(corrector)
            blind = float(torch.rand(())) < self.options.blind
            yield TextBatch(batch.vectors, batch.text, batch.ratio, None, batch.tokens) if blind else batch

    def _share(self, steps: int) -> float:
        """Of the learning rate: up over 60 steps (10 when it goes on), down from a fifth of the time."""
        warm = min(1.0, (steps + 1) / (60 if self.spent == 0 else 10))
        return max(min(warm, (1 - self.now / self.options.seconds) / 0.8), 1e-3)

    def train(self) -> bool:
        """Take steps until the time of this call or of all is over; return whether all is."""
        batches, said, losses, here = self._batches(), clock(), [], 0
        self.saved_at = clock()
        while self.now < self.options.seconds and clock() - self.began < self.options.call:
            batch = next(batches)
            losses.append(self.trainer.step(batch, self._share(here)))
            here, self.steps, self.pairs = here + 1, self.steps + 1, self.pairs + len(batch.text)
            if clock() - said > self.options.every:
                said = clock()
                self.say(
                    spent=round(self.now, 1), steps=self.steps, pairs=self.pairs,
                    loss=round(float(torch.stack(losses[-60:]).mean()), 4), held_out=self.held_loss(),
                    writing=round(self.writing, 1),
                )  # fmt: skip
            if clock() - self.saved_at > self.options.keep_every:
                self.save()
                self.keep("further")
        self.save()
        self.keep("further")
        over = self.now >= self.options.seconds
        self.say(
            spent=round(self.now, 1), steps=self.steps, pairs=self.pairs, over=over, held_out=self.held_loss()
        )
        return over

    def keep(self, name: str) -> None:
        """Write the weights as they are shipped; in 16 bits they stay with the state."""
        from safetensors.numpy import save_file as save_arrays

        from sfumato.attacks.writers.quantise import pack

        part = self.options.out / f"{name}-packed.part"
        save_arrays(pack(self.network), part)
        os.replace(part, self.options.out / f"{name}-packed.safetensors")


def settings(described: str | None) -> argparse.ArgumentParser:
    """What a run of this kind can be told."""
    parser = argparse.ArgumentParser(
        description=described, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True, help="kept between calls on the same machine")
    parser.add_argument("--start", type=Path, default=SHIPPED)
    parser.add_argument("--seconds", type=float, default=660, help="of training in all")
    parser.add_argument("--call", type=float, default=540, help="of this call, the compiler's time included")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument(
        "--early", type=float, default=0.4, help="share of the time that is mostly the hypothesiser's"
    )
    parser.add_argument(
        "--blind", type=float, default=0.08, help="share of corrections without the feedback vectors"
    )
    parser.add_argument(
        "--shares", type=float, nargs=3, default=(0.35, 0.45, 0.2), help="of each group of sentences"
    )
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--pool", type=int, default=65536)
    parser.add_argument("--near", type=float, default=0.2, help="share of hypotheses made of the text itself")
    parser.add_argument("--every", type=float, default=20)
    parser.add_argument("--keep-every", type=float, default=120)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument(
        "--tiny", action="store_true", help=f"a network of {TINY.layers} layers, to try it out"
    )
    return parser


def main() -> int:
    return 0 if Further(settings(__doc__).parse_args()).train() else 3


if __name__ == "__main__":
    sys.exit(main())
