"""Does the informed attacker ever get more than is certified, and how close does he come?

Every mechanism, in 64, 384 and 1,536 dimensions and at four strengths (mu, about the distance over the noise
in one direction): 10,000 releases of two and of ten candidates, weighed by the mechanism's own density. A row
breaks its certificate where the whole interval of Clopper and Pearson (99.99 %) lies above it.

    python benchmarks/certificates.py -o certificates.json
    python benchmarks/certificates.py --dims 64 --trials 1000
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from sfumato.certificates import candidate_success, informed_success, trade_off
from sfumato.mechanisms import (
    Gaussian,
    Identity,
    Laplace,
    Mahalanobis,
    Mechanism,
    Polar,
    Projection,
    Purkayastha,
    Suppression,
)
from sfumato.randomness import InsecureSeedWarning

DISTANCE = 0.1
STRENGTHS = (0.3, 1.0, 2.0, 4.0)
CONFIDENCE = 0.9999


def family(dim: int, strength: float) -> dict[str, Mechanism]:
    """Every mechanism, so strong that mu is about `strength` at DISTANCE where there is a law."""
    epsilon = strength * math.sqrt(dim) / DISTANCE
    return {
        "laplace": Laplace(epsilon=epsilon),
        "mahalanobis": Mahalanobis(epsilon=epsilon, shape=np.linspace(0.2, 2.0, dim)),
        "gaussian": Gaussian(sigma=DISTANCE / strength),
        "purkayastha": Purkayastha(epsilon=epsilon),
        "polar": Polar(epsilon=epsilon),
        "projection": Projection(epsilon=epsilon, sensitivity="orthonormal", components=dim // 2),
        "suppression": Suppression.example(dim),
        "identity": Identity(),
    }


def measure(mechanism: Mechanism, dim: int, candidates: int, trials: int, seed: int) -> dict[str, object]:
    said = candidate_success(trade_off(mechanism, DISTANCE, dim), candidates)
    got = informed_success(mechanism, DISTANCE, candidates=candidates, trials=trials, dim=dim, seed=seed)
    assert got is not None
    right = round(got.value * trials)
    low = float(binomtest(right, trials).proportion_ci(CONFIDENCE, method="exact").low)
    return {
        "candidates": candidates,
        "certified": said,
        "informed": got.value,
        "interval": [got.low, got.high],
        "broken": bool(low > said),
        "tightness": (got.value - 1 / candidates) / (said - 1 / candidates),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 384, 1536])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", type=Path, default=None, metavar="FILE")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", InsecureSeedWarning)  # nothing is protected here
    rows = []
    for dim in chosen.dims:
        for strength in STRENGTHS:
            for name, mechanism in family(dim, strength).items():
                if mechanism.loss_law(DISTANCE, dim) is None and strength != STRENGTHS[0]:
                    continue  # no strength changes what it promises
                for candidates in (2, 10):
                    begun = time.perf_counter()
                    found = measure(mechanism, dim, candidates, chosen.trials, chosen.seed + len(rows))
                    rows.append({"mechanism": name, "dim": dim, "mu": strength, **found})
                    print(
                        f"{name:12} {dim:5} mu {strength:3} of {candidates:2}: certified "
                        f"{found['certified']:.4f}, informed {found['informed']:.4f} "
                        f"{'BROKEN' if found['broken'] else ''} {time.perf_counter() - begun:.1f} s",
                        flush=True,
                    )
    broken = sum(bool(row["broken"]) for row in rows)
    print(f"{len(rows)} rows, {broken} broken")
    if chosen.o is not None:
        chosen.o.write_text(json.dumps({"trials": chosen.trials, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
