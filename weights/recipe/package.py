"""Put trained weights into the package: python weights/recipe/package.py joint-packed.safetensors."""

from __future__ import annotations

import sys
from pathlib import Path

from safetensors.numpy import load_file

from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.quantise import unpack
from sfumato.attacks.writers.textreader import TextReader
from sfumato.attacks.writers.wordpieces import Wordpieces

TARGET = Path(__file__).parent.parent / "src" / "sfumato_minilm_inverter" / "model"


def main() -> None:
    """Read the packed weights, check that they make a network, and save it sealed."""
    pieces = Wordpieces.minilm()
    network = Network(Sizes(384, len(pieces)))
    unpack(network, load_file(sys.argv[1]))
    digest = TextReader(network, pieces).save(TARGET, packed=True)
    print(f"{TARGET}: sha256 {digest}")


if __name__ == "__main__":
    main()
