"""Put trained weights into the package: python weights/recipe/package.py joint-packed.safetensors.

With --longest 128 those of long.py; with --out into a folder of its own, for `ReadyMade(reader=FOLDER)`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from safetensors.numpy import load_file

from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.quantise import unpack
from sfumato.attacks.writers.textreader import TextReader
from sfumato.attacks.writers.wordpieces import Wordpieces

TARGET = Path(__file__).parent.parent / "src" / "sfumato_minilm_inverter" / "model"
SHORT = 32


def packaged(weights: Path, out: Path, longest: int) -> str:
    """Read packed weights, check that they make a network, and save it sealed; return its SHA-256."""
    pieces = Wordpieces.minilm()
    apart = 0 if longest == SHORT else SHORT + 2  # as far as a hypothesis stands from its text where it began
    network = Network(Sizes(384, len(pieces), longest=longest, apart=apart))
    unpack(network, load_file(weights))
    return TextReader(network, pieces).save(out, packed=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", type=Path)
    parser.add_argument("--longest", type=int, default=SHORT, help="wordpieces of the longest text")
    parser.add_argument("--out", type=Path, default=TARGET)
    options = parser.parse_args()
    print(f"{options.out}: sha256 {packaged(options.weights, options.out, options.longest)}")


if __name__ == "__main__":
    main()
