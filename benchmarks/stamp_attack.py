"""What the Bayes-optimal attack recovers of sensitive words of AG News, at several budgets.

    python benchmarks/stamp_attack.py DATA --json FILE [--texts 300]

The attacker knows the channel, how frequent sensitive words are in other news, and which words stand near
each other in them. Words that are not sensitive get 7 to 9 times the budget, as in the paper.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from stamp import find_sensitive, rows_of

from sfumato.concepts import Concept
from sfumato.randomness import Source
from sfumato.text import Budgets, Rewriter, load_vocabulary
from sfumato.text.attack import TokenAttack, measure_leakage, sensitive_words, unigram_prior
from sfumato.text.context import ContextModel, numbered

ATTACKED = (10.0, 16.0, 32.0, 50.0, 80.0, 100.0, 150.0)


def attack(data: Path, count: int, seed: int, mechanism: str) -> list[dict]:
    """Leakage of sensitive words of AG News at every budget."""
    vocabulary = load_vocabulary("minilm")
    rows = list(rows_of(data / "ag_news" / "ag_news.tsv.gz"))
    public = [row["text"] for row in rows if row["split"] == "train"][:8000]
    texts = [row["text"] for row in rows if row["split"] == "test"][:count]
    spans, theirs = find_sensitive(texts), find_sensitive(public[:3000])
    machine = Rewriter(vocabulary, sensitive=[Concept.from_spans("sensitive")], mechanism=mechanism)
    known = [
        numbered(vocabulary, " ".join(text[start:end] for start, end, _ in found))
        for text, found in zip(public, theirs, strict=False)
    ]
    numbers, seen = np.unique(np.concatenate(known), return_counts=True)
    candidates = numbers[numbers >= 0][np.argsort(-seen[numbers >= 0], kind="stable")][:1000]
    prior = unigram_prior(known, candidates)
    context = ContextModel.fit(vocabulary, public)
    source = Source.seeded(seed)
    out = []
    for epsilon in ATTACKED:
        made = machine.with_budgets(Budgets(epsilon, epsilon, 9 * epsilon, 7 * epsilon)).rewrite(
            texts, spans=spans, rng=source
        )
        found = TokenAttack(
            machine.channel, candidates, prior, epsilon, draws=100, context=context, rng=source
        )
        words = sensitive_words(texts, made, machine.channel)
        out.append({"mechanism": mechanism, "epsilon": epsilon, **measure_leakage(found, *words).to_dict()})
        print(
            json.dumps({key: out[-1][key] for key in ("epsilon", "released", "floor", "excess")}), flush=True
        )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows = [
        row
        for mechanism in ("polar", "laplace")
        for row in attack(given.data, given.texts, given.seed, mechanism)
    ]
    given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
