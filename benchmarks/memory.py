"""Does resident memory stay flat? Peak growth while protecting many rows, beside few.

Each measurement is a fresh process. It makes its vectors, notes its peak, protects them, and reports how far
the peak rose, less the released array itself: what is left is the working memory of the mechanism.

    python benchmarks/memory.py    # 100,000 and 1,000,000 rows of 384: 3.5 GB at its peak
    python benchmarks/memory.py --rows 10000 100000
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve()


def peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_bytes() -> int:
    """What is resident now; where the system does not say, the peak so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return peak_bytes()
    return pages * os.sysconf("SC_PAGE_SIZE")


def child(name: str, rows: int, dim: int, threads: int) -> None:
    import numpy as np

    from sfumato.mechanisms import MECHANISMS
    from sfumato.randomness import generator

    rng = generator(0)
    vectors = np.empty((rows, dim), np.float32)
    for low in range(0, rows, 4096):
        # Filled in pieces: a float64 copy of the whole input would raise the peak before the measurement.
        part = rng.standard_normal((min(4096, rows - low), dim))
        vectors[low : low + 4096] = part / np.linalg.norm(part, axis=1, keepdims=True)
    mechanism = MECHANISMS.get(name).from_noise_ratio(1.0, dim=dim)
    mechanism.privatize(vectors[:64], threads=threads)  # tables, thread pool and libraries are not growth
    before = resident_bytes()
    released = mechanism.privatize(vectors, threads=threads)
    growth = max(0, peak_bytes() - before - released.nbytes)
    print(json.dumps({"growth": growth, "arrays": vectors.nbytes + released.nbytes}))


def measure(name: str, rows: int, dim: int, threads: int) -> dict[str, int]:
    command = [sys.executable, str(HERE), "--child", name, str(rows), str(dim), str(threads)]
    found: dict[str, int] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        name, rows, dim, threads = sys.argv[2:]
        child(name, int(rows), int(dim), int(threads))
        return
    parser = argparse.ArgumentParser(description="Working memory of a mechanism, for few rows and for many.")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--mechanisms", nargs="+", default=["laplace", "polar"])
    wanted = parser.parse_args()
    print(f"{'mechanism':<14}{'threads':>8}{'rows':>12}{'in and out':>14}{'working memory':>18}")
    for name in wanted.mechanisms:
        for threads in wanted.threads:
            for rows in wanted.rows:
                found = measure(name, rows, wanted.dim, threads)
                sizes = f"{found['arrays'] / 1e6:>11.0f} MB{found['growth'] / 1e6:>15.1f} MB"
                print(f"{name:<14}{threads:>8}{rows:>12,}{sizes}")


if __name__ == "__main__":
    main()
