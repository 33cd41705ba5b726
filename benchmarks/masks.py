"""How long does it take to learn masks? One concept on two cores, or a hundred at once on a GPU.

Vectors are made up: every concept shifts its own tenth of the axes, and twins share all the rest. The time is
that of the whole `fit_many` call, checks and layout included, with early stopping off: every epoch is run.

    python benchmarks/masks.py                                 # 1 concept, 10,000 pairs, 768 dimensions
    python benchmarks/masks.py --device cuda --concepts 100    # 100 concepts x 10,000 pairs: 6 GB of vectors
    python benchmarks/masks.py --early-stop --sparsity 0.1
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata

from sfumato.randomness import generator
from sfumato.sensitivity import MaskLearner, MaskSettings


def planted(
    concepts: int, pairs: int, dim: int, shift: float, device: Any, seed: int
) -> tuple[dict[str, tuple[Any, Any]], np.ndarray]:
    """Make unit vectors around 40 topics, where they will be needed, and say which axes are planted."""
    # Only torch can draw on the GPU; nothing here protects anybody.
    draw = torch.Generator(device=device).manual_seed(seed)
    truth = np.zeros((concepts, dim), bool)
    made = {}
    for index in range(concepts):
        rng = generator(seed + index)
        axes = rng.permutation(dim)[: max(1, dim // 10)]
        truth[index, axes] = True
        push = torch.zeros(dim, device=device)
        push[torch.from_numpy(axes).to(device)] = shift
        centres = torch.randn((40, dim), generator=draw, device=device)
        topic = torch.randint(40, (pairs,), generator=draw, device=device)
        rows = centres[topic] + 0.8 * torch.randn((pairs, dim), generator=draw, device=device)
        plus, minus = (torch.nn.functional.normalize(rows + side * push) for side in (1.0, -1.0))
        made[f"concept {index}"] = (plus, minus)
    return made, truth


def area_under_curve(scores: np.ndarray, truth: np.ndarray) -> float:
    ranks = rankdata(scores)
    ones = int(truth.sum())
    return float((ranks[truth].sum() - ones * (ones + 1) / 2) / (ones * (truth.size - ones)))


def wait(device: Any) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(wanted: argparse.Namespace) -> dict[str, Any]:
    settings = MaskSettings(
        epochs=wanted.epochs,
        batch_size=wanted.batch_size,
        precision=wanted.precision,
        sparsity=wanted.sparsity,
        patience=10 if wanted.early_stop else wanted.epochs,
        seed=wanted.seed,
    )
    learner = MaskLearner(settings, device=wanted.device)
    device = learner.device
    concepts, truth = planted(wanted.concepts, wanted.pairs, wanted.dim, wanted.shift, device, wanted.seed)
    few = {"few": tuple(side[:64] for side in concepts["concept 0"])}
    # Libraries load their kernels on first use, once a process.
    MaskLearner(MaskSettings(epochs=2, precision=wanted.precision), device=wanted.device).fit_many(few)
    wait(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    start, busy = time.perf_counter(), time.process_time()
    learned = learner.fit_many(concepts)
    wait(device)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    areas = [
        area_under_curve(found.mask.scores, truth[index]) for index, found in enumerate(learned.values())
    ]
    reports = [found.report for found in learned.values()]
    return {
        "seconds": round(seconds, 2),
        "processor_seconds": round(busy, 2),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
        "precision": learner.precision,
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "torch": torch.__version__,
        "concepts": wanted.concepts,
        "pairs": wanted.pairs,
        "dim": wanted.dim,
        "epochs": wanted.epochs,
        "epochs_run": max(len(report.curves.loss) for report in reports),
        "auc_lowest": round(min(areas), 4),
        "auc_mean": round(float(np.mean(areas)), 4),
        "accuracy_lowest": round(min(report.accuracy for report in reports), 4),
        "open_share_mean": round(float(np.mean([report.open_share for report in reports])), 4),
        "peak_gpu_bytes": torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--concepts", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=MaskSettings().batch_size)
    parser.add_argument("--precision", choices=("auto", "float32", "bfloat16"), default="auto")
    parser.add_argument("--sparsity", type=float, default=None)
    parser.add_argument("--shift", type=float, default=0.2, help="how far the concept moves its axes")
    parser.add_argument("--early-stop", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    json.dump(measure(parser.parse_args()), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
