"""What a default protector leaks and keeps on real sentences: STS 2012 to 2014, places, all-MiniLM-L6-v2.

    python benchmarks/protection.py DATA [--terms FILE] [--embedder minilm] [--json FILE]

DATA holds sts12, sts13 and sts14 as NAME/NAME.tsv.gz (columns split, subset, score, sentence1, sentence2).
The attacker reads which place a sentence names: a linear and a three-layer classifier, trained on freshly
noised vectors of other sentences, also with other places put in. Leakage is the share of places among its top
guesses.
"""

from __future__ import annotations

import argparse
import gzip
import json
from dataclasses import replace
from pathlib import Path
from time import time as clock

import numpy as np
import torch

from sfumato.concepts import Concept, build_pairs
from sfumato.embedders import load_embedder
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Identity, Laplace
from sfumato.protector import Protector

PLACES = """
Afghanistan Africa America Arkansas Asia Australia Baghdad Beijing Boston Brazil Britain California
Canada Chicago China Colorado Cuba Egypt England Europe Florida France Gaza Georgia Germany Greece
Hawaii Houston India Indonesia Iran Iraq Ireland Israel Italy Jakarta Japan Jerusalem Kabul Kashmir
Korea Lebanon Libya London Madrid Mexico Miami Michigan Moscow Nevada Nigeria Norway Ohio Oregon
Pakistan Palestine Paris Philadelphia Philippines Poland Russia Seattle Spain Sweden Syria Taiwan
Texas Tokyo Toronto Turkey Ukraine Virginia Washington Yemen
""".split()


def load(folder: Path) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray, list[list[int]]]:
    """Return the sentences, STS12's pairs and scores, and all pairs."""
    sentences: dict[str, int] = {}
    scored, every = [], []
    for name in ("sts12", "sts13", "sts14"):
        with gzip.open(folder / name / f"{name}.tsv.gz", "rt") as handle:
            rows = [line.rstrip("\n").split("\t") for line in handle][1:]
        for row in rows:
            pair = [sentences.setdefault(text, len(sentences)) for text in row[3:5]]
            every.append(pair)
            if name == "sts12":
                scored.append((*pair, float(row[2])))
    table = np.array(scored)
    return list(sentences), table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2], every


def utility(vectors, first, second, scores):
    """Pearson of cosine with the score, and nDCG@10 of finding sentence 2 by sentence 1 at 4 or more."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sts = np.corrcoef(np.vecdot(unit[first], unit[second]), scores)[0, 1]
    queries, targets = first[scores >= 4], second[scores >= 4]
    gains = []
    for start in range(0, len(queries), 256):
        q, t = queries[start : start + 256], targets[start : start + 256]
        cosine = unit[q] @ unit.T
        cosine[np.arange(len(q)), q] = -9
        rank = (cosine > cosine[np.arange(len(q)), t][:, None]).sum(axis=1)
        gains.append(np.where(rank < 10, 1 / np.log2(rank + 2), 0.0))
    return float(sts), float(np.concatenate(gains).mean())


def leakage(train, labels, release, test, truth, *, hidden, steps, seed=0):
    """Train a classifier on fresh releases of `train`; return the share of terms among its top guesses."""
    torch.manual_seed(seed)
    sizes = [train.shape[1], *hidden, labels.shape[1]]
    layers = []
    for left, right in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [torch.nn.Linear(left, right), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    adam = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, 2e-3, total_steps=steps)
    weights = torch.tensor(labels / labels.sum(axis=1, keepdims=True), dtype=torch.float32)
    centre, scale = train.mean(axis=0), 1 / train.std()
    per_epoch = max(1, len(train) // 512)
    for step in range(steps):
        if step % per_epoch == 0:
            noisy = torch.tensor((release(train) - centre) * scale)
        rows = torch.randint(len(train), (512,))
        loss = -(weights[rows] * torch.log_softmax(net(noisy[rows]), dim=1)).sum(dim=1).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    found = []
    for _ in range(3):
        with torch.no_grad():
            order = (
                net(torch.tensor((release(test) - centre) * scale)).argsort(dim=1, descending=True).numpy()
            )
        hits = [truth[row, order[row, : int(truth[row].sum())]].sum() for row in range(len(truth))]
        found.append(sum(hits) / truth.sum())
    return float(np.mean(found))


def informed(protector, candidates, truth, rounds=3):
    """Top-1 of an attacker who knows the sentence but for the place, and the mechanism's own density."""
    hits = []
    for _ in range(rounds):
        for known, own in zip(candidates, truth, strict=True):
            released = protector.mechanism.privatize(known[own : own + 1])
            hits.append(int(np.argmax(protector.mechanism.log_density(released, known))) == own)
    return float(np.mean(hits))


def show(results):
    """Print the table, with excess leakage and what is kept beside clean vectors."""
    control, floor = results[0]["leakage"], results[1]["leakage"]
    for each in results:
        each["excess"] = (each["leakage"] - floor) / (control - floor)
        each["sts12_kept"], each["ndcg_kept"] = (
            each["sts12"] / results[0]["sts12"],
            each["ndcg"] / results[0]["ndcg"],
        )
    print(
        "\n| release | leakage | excess | informed | STS12 kept | nDCG@10 kept |\n|---|---|---|---|---|---|"
    )
    for each in results:
        print(
            f"| {each['release']} | {each['leakage']:.3f} | {each['excess']:.1%} "
            f"| {each.get('informed', np.nan):.2f} | {each['sts12_kept']:.1%} | {each['ndcg_kept']:.1%} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument(
        "--copies", type=int, default=4, help="sentences with other places put in, for the attacker"
    )
    parser.add_argument(
        "--informed", type=int, default=0, help="sentences to attack knowing all but the place"
    )
    parser.add_argument("--sweep", action="store_true", help="also other ellipsoids, without neutral texts")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    start = clock()
    texts, first, second, scores, _ = load(options.data)
    concept = Concept.from_terms("location", PLACES)
    encoder = load_embedder(options.embedder)
    pairs = build_pairs(texts, concept, copies=options.copies, test_share=0.4, seed=1)
    rows = np.array(pairs.rows)
    held_out = {pairs.rows[position] for position in pairs.test}
    public = [text for row, text in enumerate(texts) if row not in held_out]
    protector = learn(public, concept, embedder=encoder, settings=LearnSettings(source="public", limit=2000))
    print(f"learned in {clock() - start:.0f} s:", protector.guarantee.describe(), flush=True)

    index = {term.lower(): number for number, term in enumerate(PLACES)}

    def hot(terms):
        table = np.zeros((len(terms), len(PLACES)))
        for row, found in enumerate(terms):
            table[row, [index[term] for term in found]] = 1
        return table

    found_in = [[text[s.start : s.end].lower() for s in concept.find(text)] for text in pairs.substitutes]
    own, swapped = hot(pairs.terms), hot(found_in)
    clean = encoder.embed(texts)
    removed = encoder.embed(pairs.minus)
    substitutes = encoder.embed(pairs.substitutes)
    neutral = protector.prepare(texts).vectors
    print(f"embedded after {clock() - start:.0f} s", flush=True)
    train, test = pairs.train, pairs.test
    again = np.concatenate([train + copy * len(pairs) for copy in range(options.copies)])

    single = [int(p) for p in test if len(set(pairs.terms[p])) == 1][: options.informed]
    swaps = [concept.replace(pairs.plus[p], place) for p in single for place in PLACES]
    candidates = encoder.embed(swaps).reshape(len(single), len(PLACES), -1) if single else []
    truth = [index[pairs.terms[p][0]] for p in single]

    def row(name, vectors, release, more=None, attacked=None):
        base = vectors[rows]
        sets = [("own", base[train], own[train])]
        if more is not None:
            sets.append(
                (
                    "more",
                    np.concatenate([base[train], more[again]]),
                    np.concatenate([own[train], swapped[again]]),
                )
            )
        leaks = {
            f"{kind} {label}": leakage(x, y, release, base[test], own[test], hidden=hidden, steps=1500)
            for label, x, y in sets
            for kind, hidden in (("linear", ()), ("mlp", (512, 256, 128)))
        }
        sts, ndcg = utility(release(vectors), first, second, scores)
        found = {
            "release": name,
            "leakage": max(leaks.values()),
            "sts12": sts,
            "ndcg": ndcg,
            "attacks": leaks,
        }
        if attacked is not None and single:
            found["informed"] = informed(attacked, candidates, truth)
        print(
            f"{name:28s} leakage {found['leakage']:.3f}  sts {sts:.3f}  ndcg {ndcg:.3f}",
            flush=True,
        )
        return found

    same = Protector(Identity(), normalise=False).protect
    floor_vectors = clean.copy()
    floor_vectors[rows] = removed
    without = replace(protector, neutral=0)
    laplace = Protector(Laplace.from_noise_ratio(1.4, dim=encoder.dim), normalise=False)
    results = [
        row("clean", clean, same, substitutes),
        row("place removed (floor)", floor_vectors, same),
        row("laplace, ratio 1.4", clean, laplace.protect, substitutes, laplace),
        row("ellipsoid alone", clean, without.protect, substitutes, without),
        row("neutral alone", neutral, same),
        row("protector (both)", neutral, protector.protect),
    ]
    if options.sweep:
        for kind, strength in (
            ("sharp", 20.0),
            ("sharp", 40.0),
            ("water", 3.0),
            ("water", 5.0),
            ("blend", 0.03),
        ):
            settings = LearnSettings(source="public", limit=2000, kind=kind, strength=strength, neutral=0)
            other = learn(public, concept, embedder=encoder, settings=settings)
            results.append(row(f"ellipsoid, {kind} {strength:g}", clean, other.protect, substitutes, other))
    show(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
