"""Train an encoder of 768 dimensions from MiniLM by in-batch contrast: python train.py --data DATA -o FOLDER

MiniLM's body, the mean and the maximum of its token states, and one linear layer over both. A batch comes
from one source of pairs, so that its negatives are of the same kind. The weights that are saved are rounded
to half precision, so that they can be kept in half the space without another bit changing.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pairs import SOURCES, Pair, read_pairs
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

from sfumato.devices import autocast
from sfumato.embedders.digests import folder_digest, require_published
from sfumato.embedders.minilm import PACKAGE, PUBLISHED, model_folder
from sfumato.randomness import InsecureSeedWarning, generator
from sfumato_research.studies.data import rows

TEMPERATURE = 0.05
LONGEST, READS = 96, 256
BODY_RATE, HEAD_RATE, WARM = 2e-5, 2e-4, 0.1
MAXIMUM = 0.25
"""How much of the maximum the head starts with; of the mean it starts with all."""


def start(device: str) -> SentenceTransformer:
    """MiniLM with another pooling, and a head that begins near MiniLM's own cosines."""
    folder = model_folder()
    require_published(folder, PUBLISHED, PACKAGE)
    body = Transformer(str(folder), max_seq_length=READS)
    dim = 384
    weight = torch.eye(2 * dim)
    weight[dim:] *= MAXIMUM
    head = Dense(2 * dim, 2 * dim, bias=False, activation_function=torch.nn.Identity(), init_weight=weight)
    pooled = Pooling(dim, pooling_mode=("mean", "max"))
    return SentenceTransformer(modules=[body, pooled, head], device=device)


def contrast(left: torch.Tensor, right: torch.Tensor, keys: list[str]) -> torch.Tensor:
    """InfoNCE in both directions; pairs of one key are no negatives for each other."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    which = torch.tensor([numbers[key] for key in keys], device=left.device)
    same = which[:, None] == which[None, :]
    same.fill_diagonal_(False)
    unit = torch.nn.functional.normalize
    scores = (unit(left.float(), dim=1) @ unit(right.float(), dim=1).T) / TEMPERATURE
    scores = scores.masked_fill(same, -torch.inf)
    wanted = torch.arange(len(keys), device=left.device)
    loss = torch.nn.functional.cross_entropy
    return (loss(scores, wanted) + loss(scores.T, wanted)) / 2


def embedded(model: SentenceTransformer, texts: list[str]) -> torch.Tensor:
    """The vectors of some texts, with gradients."""
    features = model.tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
    features = {name: value.to(model.device, non_blocking=True) for name, value in features.items()}
    with autocast(model.device):
        return model(features)["sentence_embedding"]


def dev_correlation(model: SentenceTransformer, data: Path, most: int) -> float:
    """Rank correlation on the dev part of the STS Benchmark; it is logged and decides nothing."""
    pairs = [row for row in rows(data, "stsb", "stsb") if row["split"] == "dev"][:most]
    sides = [model.encode([row[f"sentence{side}"] for row in pairs], normalize_embeddings=True,
                          show_progress_bar=False) for side in (1, 2)]  # fmt: skip
    cosines = (sides[0] * sides[1]).sum(axis=1)
    return float(spearmanr(cosines, [float(row["score"]) for row in pairs]).statistic)


class Batches:
    """Batches of pairs, each of one source; a source is gone through in another order each time."""

    def __init__(self, pairs: dict[str, list[Pair]], size: int, seed: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureSeedWarning)
            self._rng = generator(seed)
        self._pairs, self._size = {name: found for name, found in pairs.items() if found}, size
        self._names = list(self._pairs)
        weights = np.array([SOURCES[name][1] for name in self._names], float)
        self._weights = weights / weights.sum()
        self._left: dict[str, list[int]] = {name: [] for name in self._names}

    def next(self) -> tuple[str, list[Pair]]:
        name = self._names[int(np.searchsorted(self._weights.cumsum(), self._rng.random()))]
        size = min(self._size, len(self._pairs[name]))
        if len(self._left[name]) < size:
            self._left[name] = self._rng.permutation(len(self._pairs[name])).tolist()
        chosen, self._left[name] = self._left[name][:size], self._left[name][size:]
        return name, [self._pairs[name][place] for place in chosen]


class Progress:
    """How much of a run is done: by its steps, or by its time where that comes first."""

    def __init__(self, steps: int, seconds: float) -> None:
        self._steps, self._seconds, self._began = steps, seconds, time.monotonic()

    @property
    def spent(self) -> float:
        return time.monotonic() - self._began

    def done(self, step: int) -> float:
        return max(step / self._steps, self.spent / self._seconds)


def rate_share(done: float) -> float:
    """Of the learning rate: up over the first tenth of the run, down to nothing at its end."""
    return max(0.0, min((done + 1e-3) / WARM, (1 - done) / (1 - WARM)))


def means(losses: list[tuple[str, torch.Tensor]]) -> dict[str, float]:
    """The mean loss of each source."""
    found: dict[str, list[torch.Tensor]] = {}
    for name, loss in losses:
        found.setdefault(name, []).append(loss)
    return {name: round(float(torch.stack(some).mean()), 4) for name, some in found.items()}


def train(model: SentenceTransformer, batches: Batches, asked: argparse.Namespace, log: Any) -> None:
    head = list(model[2].parameters())
    body = [each for each in model[0].parameters() if each.requires_grad]
    groups = [{"params": body, "lr": BODY_RATE}, {"params": head, "lr": HEAD_RATE}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    progress, losses, step = Progress(asked.steps, asked.seconds), [], 0
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_share(progress.done(step)))
    over = False
    while not over:
        model.train()
        name, pairs = batches.next()
        left = embedded(model, [pair.left for pair in pairs])
        right = embedded(model, [pair.right for pair in pairs])
        loss = contrast(left, right, [pair.key for pair in pairs])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append((name, loss.detach()))
        step += 1
        over = progress.done(step) >= 1
        if over or step % asked.every == 0:
            model.eval()
            log(step=step, loss=means(losses), stsb_dev=dev_correlation(model, asked.data, asked.dev),
                seconds=round(progress.spent, 1))  # fmt: skip
            losses = []


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--log", type=Path, default=Path("log.jsonl"))
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seconds", type=float, default=1e9, help="after which it ends even so")
    parser.add_argument("--batch", type=int, default=256, help="pairs a step")
    parser.add_argument("--every", type=int, default=200, help="steps between lines of the log")
    parser.add_argument("--dev", type=int, default=1500, help="pairs of the dev part that are looked at")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    asked = parser.parse_args()
    torch.manual_seed(asked.seed)

    def log(**line: Any) -> None:
        with asked.log.open("a") as handle:
            handle.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)

    pairs = read_pairs(asked.data)
    model = start(asked.device)
    model.eval()
    log(pairs={name: len(found) for name, found in pairs.items()}, steps=asked.steps, at_most=asked.seconds,
        batch=asked.batch, seed=asked.seed, device=asked.device, torch=torch.__version__,
        stsb_dev=dev_correlation(model, asked.data, asked.dev))  # fmt: skip
    train(model, Batches(pairs, asked.batch, asked.seed), asked, log)
    model.eval()
    for each in model.parameters():
        each.data = each.data.half().float()
    model.save(str(asked.output), create_model_card=False)
    log(saved=folder_digest(asked.output), stsb_dev=dev_correlation(model, asked.data, asked.dev))


if __name__ == "__main__":
    main()
