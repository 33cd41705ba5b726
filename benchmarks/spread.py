"""Make the numbers that SmolLM2's pooled states are divided by: their spread over made-up sentences.

    python benchmarks/spread.py -o src/sfumato/embedders/smollm2/spread

The sentences come from `sfumato_research.sentences` and are not kept. The digest that is printed belongs into
`sfumato.embedders.smollm2.encoder`: other numbers make another encoder.
"""

from __future__ import annotations

import argparse

import numpy as np

from sfumato import artifacts
from sfumato.embedders.batches import SteadyModel
from sfumato.embedders.smollm2.encoder import KIND, LAYER, PUBLISHED, SmolLM2, decoder
from sfumato_research.sentences import ordinary_sentences


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device")
    parser.add_argument("-o", "--output", required=True)
    asked = parser.parse_args()
    model = SteadyModel(decoder(np.ones(SmolLM2.dim), asked.device))
    found = model.vectors(ordinary_sentences(asked.rows, asked.seed), None).astype(np.float64)
    config = {"weights": PUBLISHED, "layer": LAYER, "rows": asked.rows, "seed": asked.seed}
    tensors = {"spread": found.std(axis=0).astype(np.float32)}
    print(artifacts.save(asked.output, KIND, config, tensors))


if __name__ == "__main__":
    main()
