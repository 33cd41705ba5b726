"""How fast are encoders on one core, and what does protecting cost above embedding? Ratios, as Markdown.

Everything takes turns on the same texts, in processor time of one thread, so that load from elsewhere hits
all alike. sentence-transformers is what its users would call, with its own batches; fastembed takes part
where it is installed and has its model on this machine.

    python benchmarks/encoders.py notes.jsonl                          # the encoders beside each other
    python benchmarks/encoders.py notes.jsonl --texts 200 --rounds 5
    python benchmarks/encoders.py notes.jsonl --protect                # detect, embed and release over embed
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("SFUMATO_THREADS", "1")

import argparse  # noqa: E402
import importlib.util  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from sfumato.benchmarks.interleave import CPU, Timing, interleave  # noqa: E402
from sfumato.concepts import Concept  # noqa: E402
from sfumato.embedders import load_embedder  # noqa: E402
from sfumato.embedders.base import Embedder  # noqa: E402
from sfumato.inputs import read_texts  # noqa: E402
from sfumato.learning import LearnSettings, learn  # noqa: E402
from sfumato.randomness import generator  # noqa: E402

OURS = ("minilm", "minilm-onnx", "minilm-int8")
WAYS = ("removal", "placeholder", "soft", "copies")
Contenders = dict[str, Callable[[], object]]


def encoders(texts: Sequence[str]) -> tuple[Contenders, dict[str, Any]]:
    """What is timed, and the vectors of each, to say how far they are from the first one's."""
    import torch
    from sentence_transformers import SentenceTransformer

    from sfumato.embedders.minilm import model_folder

    torch.set_num_threads(1)
    plain = SentenceTransformer(str(model_folder()), device="cpu", local_files_only=True)
    made: Contenders = {"sentence-transformers": lambda: plain.encode(list(texts), show_progress_bar=False)}
    for each in OURS:
        encoder = load_embedder(each, threads=1)
        made[f"sfumato {each}"] = lambda encoder=encoder: encoder.embed(texts)  # type: ignore[misc]
    if importlib.util.find_spec("fastembed") is not None:
        from fastembed import TextEmbedding

        other = TextEmbedding("sentence-transformers/all-MiniLM-L6-v2", threads=1, local_files_only=True)
        made["fastembed"] = lambda: list(other.embed(list(texts)))
    return made, {each: np.array(run()) for each, run in made.items()}


def protecting(texts: Sequence[str], encoder: Embedder, names: Sequence[str]) -> Contenders:
    """Embedding, and everything that a protector does, for each way of making texts neutral."""
    concepts = [Concept.named(each) for each in names]
    learned = learn(texts, concepts, embedder=encoder, settings=LearnSettings(source="public", limit=40))
    made: Contenders = {f"{encoder.name}, embed": lambda: encoder.embed(texts)}
    for way in WAYS:
        protector = replace(learned, neutral_by=way)
        made[f"protect by {way}"] = lambda protector=protector: protector.embed(texts)  # type: ignore[misc]
    made["find alone"] = lambda: learned.mentions(texts)
    return made


def show(timed: dict[str, Timing], vectors: dict[str, Any] | None = None) -> None:
    """A table: time over the first one's, and the other way round."""
    print("| what | time | quartiles | times as fast |" + (" cosine to the first |" if vectors else ""))
    print("|---|---|---|---|" + ("---|" if vectors else ""))
    first = next(iter(vectors.values())) if vectors else None
    for each, timing in timed.items():
        ratio = timing.ratio
        row = (
            f"| {each} | {ratio.median:.2f} | {ratio.low:.2f} to {ratio.high:.2f} | {1 / ratio.median:.2f} |"
        )
        print(row + (f" {(first * vectors[each]).sum(axis=1).mean():.6f} |" if vectors else ""))


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--protect", action="store_true")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--concept", action="append")
    asked = parser.parse_args()
    every = read_texts(asked.file)
    texts = [every[row] for row in np.sort(generator(0).permutation(len(every))[: asked.texts])]
    words = np.array([len(text.split()) for text in texts])
    print(f"{len(texts)} texts of {np.median(words):.0f} words (median; {words.min()} to {words.max()})\n")
    if asked.protect:
        contenders = protecting(texts, load_embedder(asked.encoder), asked.concept or ["person", "location"])
        show(interleave(contenders, asked.rounds, clock=CPU))
    else:
        contenders, vectors = encoders(texts)
        show(interleave(contenders, asked.rounds, clock=CPU), vectors)


if __name__ == "__main__":
    main()
