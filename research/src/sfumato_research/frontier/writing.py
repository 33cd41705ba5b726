"""The whole text: a writer trained on that very release, for as long as on clean vectors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.attacks.writers.decoder import Decoder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Defence
from sfumato.files import write_atomic
from sfumato.mechanisms import Laplace
from sfumato.randomness import generator
from sfumato.trials.rivals import sample_of
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget
from sfumato.types import Vectors
from sfumato_research.frontier.cases import CASES
from sfumato_research.frontier.defences import ERASED, OTHER, OURS, REMOVED, all_defences
from sfumato_research.frontier.found import remembered
from sfumato_research.frontier.measure import CLEAN, LEARNED_FROM, cut_texts, sizes
from sfumato_research.frontier.public import joined, public_sentences
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder

WRITTEN = 600
SENTENCES = {"cpu": 8_000}
"""Public sentences the writer learns from, by device; elsewhere there are more."""
_MORE = 40_000
_NETWORKS: dict[str, dict[str, Any]] = {
    "quick": {"wordpieces": 1000, "width": 64, "layers": 1, "epochs": 0.5},
    "cpu": {"epochs": 4.0},
}
_LARGER: dict[str, Any] = {
    "wordpieces": 20_000, "longest": 48, "width": 512, "layers": 6, "epochs": 4.0, "batch": 256, "rate": 5e-4,
}  # fmt: skip
Texts = dict[str, list[str]]
"""By what was attacked, the texts written; under `truth` the true ones."""


def written(name: str, model: str, setting: Setting) -> Texts:
    """What a writer makes of each release, kept or written now."""
    size = "quick" if setting.quick else "full"
    path = (
        None if setting.cache is None else setting.cache / "frontier" / f"written-{name}-{model}-{size}.json"
    )
    if path is not None and path.exists():
        kept: Texts = json.loads(path.read_text(encoding="utf-8"))
        return kept
    found = _write(name, model, setting)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json.dumps(found).encode())
    return found


def _write(name: str, model: str, setting: Setting) -> Texts:
    case = CASES[name][0](setting.data)
    case = case.cut(setting.pick(len(case.texts), 1500))
    embedder = RememberingEmbedder(encoder(setting, model))
    pool = cut_texts(case, sizes(setting), embedder, 0)
    public = public_sentences(setting.data, setting.pick(SENTENCES.get(setting.device, _MORE), 400))
    own = remembered(case.looked_for, "all", [*case.texts, *public], setting)
    texts = [*(pool.texts[row] for row in pool.learned), *public]
    chosen = np.sort(generator(0).permutation(len(pool.test))[: setting.pick(WRITTEN, 20)])
    found: Texts = {"truth": [pool.texts[row] for row in pool.attacked[chosen]]}
    found["rows"] = [json.dumps(_labelled(pool, int(row))) for row in pool.attacked[chosen]]
    clean = embedder.embed(public)
    noise = Defence(
        name="laplace", setting="noise ratio 1.4", mechanism=Laplace.from_noise_ratio(1.4, dim=embedder.dim)
    )
    plain = Defence(name=CLEAN, embedder=embedder)
    beside = [(CLEAN, plain), (noise.label, noise)]
    sample = sample_of(pool, 0, own)
    wanted = all_defences(sample, public[:LEARNED_FROM], (REMOVED, OTHER, OURS, ERASED))
    for label, defence in [*beside, *wanted]:
        setting.on_step(f"{name}, {model}: writing from {label}")
        target = DefenceTarget(defence, pool, seed=0)
        learned, victim = target.learning(pool.learned)
        more = defence.prepare(public, clean, seed=0)
        found[label] = _read(
            texts, joined(learned, more), victim, target.documents()[pool.attacked[chosen]], setting
        )
    return found


def _read(
    texts: Sequence[str], vectors: Vectors, victim: object, attacked: Vectors, setting: Setting
) -> list[str]:
    settings = _NETWORKS.get("quick" if setting.quick else setting.device, _LARGER)
    attack = Decoder(device=setting.device, held_back=0.01, **settings)
    return [str(row) for row in attack.fit(texts, vectors, victim).recover(attacked).rows]  # type: ignore[arg-type]


def _labelled(pool: Split, row: int) -> list[str]:
    """All that people labelled in a text, whatever it is."""
    spans: Any = [] if pool.spans is None else pool.spans[row]
    return sorted({pool.texts[row][span["start"] : span["end"]] for span in spans})
