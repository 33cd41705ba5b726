"""What each attack costs: processor seconds beside the encoder, and how many texts it has embedded.

    python benchmarks/attack_costs.py [NAME ...]

Runs every attack that is installed on made-up records, releases and control, with two numbers of rows, and
prints the lines of the table `COSTS` in `trials/costs.py`. Seconds are of one core, brought to the speed at
which the probe of that file takes what is said there.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Attack
from sfumato.concepts import Concept
from sfumato.concepts.texts.labels import labels_of
from sfumato.embedders import Fake
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.errors import SfumatoError
from sfumato.evaluation import Defence
from sfumato.mechanisms import Laplace
from sfumato.records import DISEASES, make_records
from sfumato.trials.costs import COSTS, PROBE, UNKNOWN, probe
from sfumato.trials.everything import offered_to_all
from sfumato.trials.making import make_attack
from sfumato.trials.running import run_attack
from sfumato.trials.threat import ThreatModel

ROWS = (150, 300)
CONCEPT = Concept.from_terms("disease", sorted(DISEASES))


def measured(name: str, count: int) -> tuple[float, int]:
    """Processor seconds without the encoder's, and texts embedded beside the rows."""
    texts = [each.text for each in make_records(4 * count, seed=1) if CONCEPT.find(each.text)][:count]
    encoder = RememberingEmbedder(Fake(dim=384))
    encoder.embed(texts)
    known = len(encoder)
    defence = Defence(name="laplace", mechanism=Laplace.from_noise_ratio(0.7, dim=384), embedder=encoder)
    threat = ThreatModel(texts=texts, defence=defence, embedder=encoder)
    labels = labels_of(texts, ["few" if len(text.split()) % 2 else "many" for text in texts])
    attack: Attack = make_attack(name, {}, offered_to_all(threat, CONCEPT, labels, 0))
    began = time.process_time()
    run_attack(attack, threat, concept=CONCEPT)
    return (time.process_time() - began) * PROBE / probe_seconds(), len(encoder) - known


def probe_seconds() -> float:
    """Processor seconds of the probe now, the median of five."""
    found = []
    for _ in range(5):
        began = time.process_time()
        probe()
        found.append(time.process_time() - began)
    return statistics.median(found)


def main() -> None:
    """Measure the attacks that are named, or all."""
    parser = argparse.ArgumentParser(description="What each attack costs.")
    parser.add_argument("names", nargs="*", default=ATTACKS.names())
    for name in parser.parse_args().names:
        try:
            seconds, texts = np.transpose([measured(name, count) for count in ROWS])
        except SfumatoError as error:
            print(f"# {name}: {str(error)[:90]}", flush=True)
            continue
        row, text = (max((each[1] - each[0]) / (ROWS[1] - ROWS[0]), 0.0) for each in (seconds, texts))
        fixed, fixed_texts = seconds[0] - row * ROWS[0], texts[0] - text * ROWS[0]
        old = COSTS.get(name, UNKNOWN)
        print(
            f'    "{name}": Cost({max(fixed, 0.1):.1f}, {max(row, 0.001):.3f}, {old.strength}, '
            f"{max(fixed_texts, 0):.0f}, {text:.1f}, terms={old.terms}, whole={old.whole}),",
            f"# was {old.fixed}, {old.row}; {seconds.round(1)} s, {texts} texts",
            flush=True,
        )


if __name__ == "__main__":
    main()
