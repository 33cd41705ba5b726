"""Make a background: how made-up ordinary sentences spread under one encoder.

    python benchmarks/background.py --embedder smollm2 -o src/sfumato/sensitivity/backgrounds/smollm2
    python benchmarks/background.py --embedder MODEL_FOLDER --rows 20000 --seed 0 -o FOLDER
    sfumato learn notes.jsonl --concept location --embedder MODEL_FOLDER --background FOLDER -o places

The sentences come from `sfumato_research.sentences` and are not kept. The folder holds their mean and shrunk
covariance in float32, and in config.json the encoder, the number of rows and the seed that give them again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import numpy as np

from sfumato.embedders import load_embedder
from sfumato.sensitivity.background import BackgroundFitter
from sfumato.sensitivity.shipped import SOURCE, save_background
from sfumato_research.sentences import ordinary_sentences

BATCH = 2000


def make(name: str, rows: int, seed: int, folder: str) -> dict[str, object]:
    embedder = load_embedder(name)
    texts = ordinary_sentences(rows, seed)
    fitter = BackgroundFitter()
    start = time.perf_counter()
    for low in range(0, rows, BATCH):
        fitter.update(embedder.embed(texts[low : low + BATCH]))
        print(f"{min(low + BATCH, rows)} of {rows}", file=sys.stderr, flush=True)
    background = fitter.finish(source=SOURCE)
    digest = save_background(folder, background, embedder.model_id, {"seed": seed})
    config = {"model_id": embedder.model_id, "rows": rows, "source": SOURCE, "seed": seed}
    spectrum = np.linalg.eigvalsh(background.covariance)
    return config | {
        "digest": digest,
        "dim": background.dim,
        "distinct": len(set(texts)),
        "length_of_mean": round(float(np.linalg.norm(background.mean)), 4),
        "trace": round(float(spectrum.sum()), 4),
        "eigenvalues": [float(f"{spectrum[0]:.3g}"), float(f"{spectrum[-1]:.3g}")],
        "seconds": round(time.perf_counter() - start, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", required=True)
    wanted = parser.parse_args()
    json.dump(make(wanted.embedder, wanted.rows, wanted.seed, wanted.output), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
