"""Read held-back documents, cut at 32, 64 and 128 wordpieces, and the usual sentences; scored by score.py.

python weights/recipe/evaluate_long.py --data FOLDER --weights FILE --out FILE.npz [--longest 128]

The rows stand in the order of their worth; none begins after --seconds, and the file is whole after each.
Rows that are in the file already stay as they are.
The shipped weights are read with --longest 32: of a longer text they write the first 32 wordpieces at most.
"""

from __future__ import annotations

import re
from dataclasses import replace
from time import time as clock

import numpy as np
from evaluate import CLEAN, STRONG, Reading, reading_options
from long import long_sizes
from train import FULL, TINY

from sfumato.attacks.writers.search import Search

ONE, STEPS = "likeliest of 4", "beam 4 by 8, 20 steps"
HARD = "beam 8 by 8, two times 12 steps and edits"
LENGTHS = (32, 64, 128)
FEWER = {32: 100, 64: 80, 128: 40}
"""Documents that are read with the strong search."""


def jobs(most: int) -> list[tuple[str, str, int, Search]]:
    """Name, texts, how many of them, and search; the most telling first."""
    found = [(STEPS, "test", most, CLEAN[STEPS])]
    found += [(f"documents {cut}, {ONE}", f"documents {cut}", most, CLEAN[ONE]) for cut in LENGTHS]
    found += [(f"documents {cut}, {STEPS}", f"documents {cut}", most, CLEAN[STEPS]) for cut in (64, 128, 32)]
    found.append((ONE, "test", most, CLEAN[ONE]))
    found += [
        (f"documents {cut}, {HARD}", f"documents {cut}", min(most, FEWER[cut]), STRONG)
        for cut in (64, 32, 128)
    ]
    return found


def main() -> None:
    parser = reading_options(__doc__ or "")
    parser.add_argument("--longest", type=int, default=128)
    parser.add_argument("--steps", type=int, help="fewer rounds than the search has, to try it out")
    options = parser.parse_args()
    short = options.longest == FULL.longest
    reading = Reading(
        options, (TINY if options.tiny else FULL) if short else long_sizes(options.longest, tiny=options.tiny)
    )
    if options.out.exists():
        reading.found = dict(np.load(options.out))
    began = clock()
    for name, texts, most, settings in jobs(options.limit):
        known = f"{name}|tokens" in reading.found
        if re.search(options.names, name) and not known and clock() - began < options.seconds:
            if options.steps is not None:
                settings = replace(
                    settings, steps=min(settings.steps, options.steps), polish=min(settings.polish, 1)
                )
            reading.read(name, reading.encode(reading.texts[texts][:most]), 0.0, settings)


if __name__ == "__main__":
    main()
