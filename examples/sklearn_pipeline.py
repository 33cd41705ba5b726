"""A scikit-learn pipeline on protected vectors: sort notes by kind without keeping what they say.

    pip install 'sfumato[wordllama,sklearn]'
    python examples/sklearn_pipeline.py

One classifier learns the kind of a note (clinic or customer), which should still work. Another plays the
attacker and learns which of eight diseases a note names, which should not. No request leaves this machine.
"""

from __future__ import annotations

from collections import Counter

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import sfumato as sf
from sfumato.adapters.sklearn import ProtectTexts
from sfumato.learning import LearnSettings
from sfumato.mechanisms import Identity
from sfumato.records import DISEASES, make_records


def main() -> None:
    others = [record.text for record in make_records(300, seed=1)]
    concept = sf.Concept.from_terms("disease", DISEASES)
    settings = LearnSettings(source="synthetic")
    protector = sf.learn(others, concept, embedder="wordllama", settings=settings)
    clean = sf.Protector(Identity(), embedder="wordllama")

    records = make_records(1500, seed=2)
    common = Counter(record.disease for record in records if record.disease).most_common(8)
    clinic = [record for record in records if record.disease in dict(common)]
    tasks = {
        "kind of note": ([record.text for record in records], [record.kind for record in records]),
        "which disease (attacker)": (
            [record.text for record in clinic],
            [record.disease for record in clinic],
        ),
    }
    print(f"Guessing the commonest disease every time is right in {common[0][1] / len(clinic):.1%}.")
    print(f"{'accuracy in 3-fold cross-validation':36}{'clean':>8}{'protected':>11}")
    for task, (texts, labels) in tasks.items():
        scores = [
            cross_val_score(
                make_pipeline(ProtectTexts(each), LogisticRegression(C=100)), texts, labels, cv=3
            ).mean()
            for each in (clean, protector)
        ]
        print(f"{task:36}{scores[0]:8.1%}{scores[1]:11.1%}")


if __name__ == "__main__":
    main()
