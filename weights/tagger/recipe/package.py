"""Puts trained weights into the package: python package.py TRAINED.safetensors --data DATA

Weights get 7 bits, and each kind the lowest threshold at which, on the tuning side as it was written, at least
PRECISION of what is found is labelled; a kind that nobody labelled there gets the plain half.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rows import KINDS, SETS, Row, labelled, raw, side
from safetensors import safe_open

from sfumato import artifacts
from sfumato.concepts.base import Span
from sfumato.tagging import model
from sfumato.tagging.detector import Tagger

TARGET = Path(__file__).parent.parent / "src" / "sfumato_minilm_tagger" / "model"
PRECISION = 0.81
GRID = (0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8)


def save(trained: Path, thresholds: dict[str, float]) -> str:
    """Write the package's folder, and return its digest."""
    with safe_open(trained, "np") as kept:
        layers = int(kept.metadata()["layers"])
        weights = {name: kept.get_tensor(name) for name in kept.keys()}
    renamed = {
        name.removeprefix("bert."): weight
        for name, weight in weights.items()
        if name.startswith(("bert.encoder.", "bert.embeddings.LayerNorm.", "head."))
    }
    renamed["cases"] = weights["cases.weight"]
    renamed["type"] = weights["bert.embeddings.token_type_embeddings.weight"][0]
    config = {"layers": layers, "kinds": list(KINDS), "thresholds": thresholds}
    return artifacts.save(TARGET, model.KIND, config, model.packed(renamed))


def tuning_rows(data: Path) -> list[Row]:
    """The tuning side."""
    return [
        labelled(name, given) for name in SETS for given in raw(data, name) if side(name, given) == "tune"
    ]


def chosen(rows: list[Row]) -> dict[str, float]:
    """The threshold of each kind."""
    tagger = Tagger(threshold=0.5)
    read = list(tagger.likelihoods(row.text for row in rows))
    kept = {}
    for kind in KINDS:
        scores = []
        looked = [(row, words) for row, words in zip(rows, read, strict=True) if kind in row.looked_for]
        for limit in GRID:
            finder = Tagger(labels=[kind], threshold=limit)
            found = [(finder.spans(row.text, words), row.spans) for row, words in looked]
            right = sum(_touched(span, gold, kind) for spans, gold in found for span in spans)
            total = sum(len(spans) for spans, _ in found)
            hit = sum(
                any(s.start < end and start < s.end for s in spans)
                for spans, gold in found
                for start, end, label in gold
                if label == kind
            )
            labelled_spans = sum(label == kind for _, gold in found for _, _, label in gold)
            scores.append((limit, right / max(total, 1), hit / max(labelled_spans, 1)))
        if sum(label == kind for row, _ in looked for _, _, label in row.spans) < 100:
            kept[kind] = 0.5
            continue
        fits = [limit for limit, precision, _ in scores if precision >= PRECISION]
        kept[kind] = float(min(fits, default=0.5))
        print(
            kind,
            kept[kind],
            " ".join(f"{limit:g}:{precision:.3f}/{recall:.3f}" for limit, precision, recall in scores),
            flush=True,
        )
    return kept


def _touched(span: Span, gold: list[tuple[int, int, str]], kind: str) -> bool:
    return any(label == kind and span.start < end and start < span.end for start, end, label in gold)


def main() -> None:
    """Save once to be able to read, choose, and save again."""
    options = argparse.ArgumentParser()
    options.add_argument("trained", type=Path)
    options.add_argument("--data", type=Path, required=True)
    given = options.parse_args()
    save(given.trained, dict.fromkeys(KINDS, 0.5))
    print(save(given.trained, chosen(tuning_rows(given.data))))


if __name__ == "__main__":
    main()
