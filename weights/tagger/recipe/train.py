"""Trains the tagger: python train.py --data DATA -o OUT.safetensors

Every pass draws each labelled text in another form, other made-up sentences, and other clinical ones. After a
pass the weights are saved and a line goes to the log.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import clinical
import everyday
import made
import torch
from changes import changed
from network import Example, Network, examples, loss, tokenizer
from rows import Row, labelled, raw, side
from safetensors.torch import save_file

REPEATS = {"conll2003": 1, "pii_presidio": 3, "pii_contextual": 2, "pii_medical_notes": 2}
TOKENS = 2048


def learning_rows(data: Path, without: list[str]) -> list[tuple[str, Row]]:
    """What is learned from, with the set it came from."""
    return [
        (name, labelled(name, given))
        for name in REPEATS
        if name not in without
        for given in raw(data, name)
        if side(name, given) == "learn"
    ]


def batches(found: list[Example], rng: random.Random) -> Iterator[list[Example]]:
    """Examples of about one length together, in random order."""
    found.sort(key=lambda example: len(example[0]) + rng.random() * 4)
    parts, part, longest = [], [], 0
    for example in found:
        if part and max(longest, len(example[0])) * (len(part) + 1) > TOKENS:
            parts.append(part)
            part, longest = [], 0
        part.append(example)
        longest = max(longest, len(example[0]))
    parts.append(part)
    rng.shuffle(parts)
    yield from parts


def tensors(part: list[Example]) -> tuple[torch.Tensor, ...]:
    """Padded to the longest: ids, mask, cases, targets, unseen."""
    longest = max(len(example[0]) for example in part)
    columns = [
        [column + [fill] * (longest - len(column)) for column in each]
        for each, fill in zip(zip(*part, strict=True), (0, 0, -100, 0), strict=True)
    ]
    ids, cases, targets, unseen = (torch.tensor(column) for column in columns)
    mask = torch.tensor([[1] * len(example[0]) + [0] * (longest - len(example[0])) for example in part])
    return ids, mask, cases, targets, unseen


def main() -> None:
    """Train, pass by pass, until the time is over."""
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("-o", "--out", type=Path, required=True)
    options.add_argument("--layers", type=int, default=4)
    options.add_argument("--passes", type=int, default=4)
    options.add_argument("--made", type=int, default=12000)
    options.add_argument("--clinical", type=int, default=6000)
    options.add_argument("--everyday", type=int, default=5000)
    options.add_argument("--without", nargs="+", default=[], choices=REPEATS, help="sets to leave out")
    options.add_argument("--rate", type=float, default=2e-4)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--log", type=Path)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    rng = random.Random(given.seed)
    rows = learning_rows(given.data, given.without)
    reports = clinical.sentences(given.data, 4 * given.clinical, rng)
    plain = everyday.sentences(given.data, 6 * given.everyday, rng)
    pools = made.Pools([row for _, row in rows] + reports, {})
    read, network = tokenizer(), Network(given.layers)
    trained = [weight for weight in network.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=given.rate, weight_decay=0.01)
    started, step, total = time.time(), 0, 0
    for turn in range(given.passes):
        drawn = [changed(row, pools, rng) for name, row in rows for _ in range(REPEATS[name])]
        drawn += [changed(row, pools, rng) for row in made.sentences(given.made, pools, rng)]
        drawn += [changed(row, pools, rng) for row in rng.sample(reports, min(given.clinical, len(reports)))]
        drawn += [changed(row, pools, rng) for row in rng.sample(plain, min(given.everyday, len(plain)))]
        parts = list(batches([example for row in drawn for example in examples(row, read)], rng))
        total = total or given.passes * len(parts)
        mean = 0.0
        network.train()
        for part in parts:
            for group in optimizer.param_groups:
                group["lr"] = given.rate * min(1, (step + 1) / 200) * max(0.02, 1 - step / total)
            ids, mask, cases, targets, unseen = tensors(part)
            with torch.autocast("cpu", torch.bfloat16):
                logits = network(ids, mask, cases)
            value = loss(logits, targets, unseen)
            optimizer.zero_grad(set_to_none=True)
            value.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            step += 1
            mean = 0.98 * mean + 0.02 * value.item() if step > 1 else value.item()
            if step % 50 == 0:
                print(f"{step}/{total} loss {mean:.4f} {time.time() - started:.0f} s", flush=True)
        kept = {
            name: weight.contiguous()
            for name, weight in network.state_dict().items()
            if "word_emb" not in name and "position_emb" not in name
        }
        save_file(kept, given.out, {"layers": str(given.layers)})
        settings = {
            name: str(value) for name, value in vars(given).items() if name not in ("data", "out", "log")
        }
        line = {
            "pass": turn + 1, "steps": step, "loss": round(mean, 4), "seconds": round(time.time() - started),
            "processor": round(time.process_time()), "settings": settings,
        }  # fmt: skip
        print(json.dumps(line), flush=True)
        if given.log:
            with given.log.open("a") as log:
                log.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
