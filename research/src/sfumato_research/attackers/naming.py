"""Attacks that name terms or write texts, all on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Inverter, fresh_releases
from sfumato.attacks.known_texts.averaging import mean_release
from sfumato.attacks.known_texts.leastsquares import moments
from sfumato.attacks.known_texts.structure import Structure, bipartite
from sfumato.attacks.known_texts.unpaired import UnpairedReader
from sfumato.metrics.leakage import Hits, count_leaked, pool
from sfumato.metrics.reconstruction import token_f1
from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator
from sfumato.release import as_release
from sfumato.sealing.cells.codebook import Codebook
from sfumato.trials import reading
from sfumato.trials.making import make_attack
from sfumato.trials.rows import LeftOut
from sfumato.types import Floats, Rows, Vectors
from sfumato_research.attackers.frozen import ROWS_A_TAG, TABLES
from sfumato_research.attackers.ground import Ground
from sfumato_research.attackers.releases import CLEAN, FLOOR, SEALED
from sfumato_research.attackers.stolen import LearningSide, Measure, Stolen
from sfumato_research.frontier.measure import placed

AVERAGED, _COPIES = 16, 3
PAIRS = 1000
_MOST = 6000
"""Rows of a cloud that are compared with each other."""

Found = dict[str, Any]
NAMED, WRITTEN, LINKED = "named", "written", "linked"


def scored(ground: Ground, guesses: reading.Guesses | Sequence[Sequence[str]]) -> Found:
    """Terms named, and of texts what was written, on the first rows asked about."""
    count = len(guesses)
    truth, texts = ground.truth[:count], ground.texts[:count]
    found = named(ground, [count_leaked(truth, guesses)])
    if guesses and isinstance(guesses[0], str):
        written = [str(each) for each in guesses]
        others = texts[1:] + texts[:1]
        found[WRITTEN] = {
            "value": [token_f1(*each) for each in zip(texts, written, strict=True)],
            "floor": [token_f1(*each) for each in zip(others, written, strict=True)],
            "prior": ground.constant[:count].tolist(),
        }
    return found


def named(ground: Ground, hits: list[Hits]) -> Found:
    """What runs of an attack on the rows asked about named, pooled."""
    every = pool(hits)
    return {
        NAMED: {
            "found": (every.found / len(hits)).tolist(),
            "total": (every.total / len(hits)).tolist(),
            "prior": ground.prior.found[: len(every)].tolist(),
        }
    }


def tokens(stolen: Stolen) -> Found:
    """The token classifier, the best of several on texts held back, over seeds and draws."""
    ground, learned = stolen.ground, stolen.training()
    method = reading.tokens(ground.suite, ground.pool, **placed(ground.setting))
    hits = []
    for run in range(ground.suite.seeds):
        read = method.fit(learned.texts, learned.vectors, learned.victim, stolen.query, ground.cut + run)
        for draw in range(stolen.target.draws):
            hits.append(count_leaked(ground.truth, read(stolen.read(draw))))
    return named(ground, hits)


def averaged(stolen: Stolen) -> Found:
    """The same on means of several releases, trained on such means."""
    ground, learned = stolen.ground, stolen.training()
    if not stolen.target.repeats or learned.victim is None:
        raise LeftOut("it is released once, or always alike")
    release = fresh_releases(learned.victim, ground.cut + 1)
    means = [mean_release(lambda: release(learned.vectors), AVERAGED) for _ in range(_COPIES)]
    method = reading.tokens(ground.suite, ground.pool, **placed(ground.setting))
    read = method.fit(learned.texts * _COPIES, np.concatenate(means), None, None, ground.cut)
    seen = mean_release([stolen.read(draw) for draw in range(AVERAGED)])
    return named(ground, [count_leaked(ground.truth, read(seen))])


def registered(name: str, *, public: bool = False, **sizes: tuple[Any, Any, Any]) -> Measure:
    """Any attack of the table that reads the encoder's own vectors, and is given a map back into them.

    Args:
        name: in the table of attacks.
        public: whether it learns from public sentences, too.
        sizes: settings, each for a GPU, for a CPU and for a quick run; `rows` is how many it reads.
    """

    def measure(stolen: Stolen) -> Found:
        ground, chosen = stolen.ground, settings_for(stolen.ground, sizes)
        rows = ground.rows[: chosen.pop("rows", len(ground.rows))]
        attack = make_attack(name, chosen, offered(stolen))
        kind = ATTACKS.get(name)
        if kind.needs == "nothing":
            known = LearningSide([], stolen.ground.pool.clean[:0], stolen.told)
        else:
            known = stolen.own_training()
            known = stolen.with_public(known, ground.public, own=True) if public else known
        fitted = attack.fit(known.texts, known.vectors, known.victim)
        return scored(ground, fitted.recover(stolen.readable(stolen.read(0, rows))).rows)

    return measure


def settings_for(ground: Ground, sizes: dict[str, tuple[Any, Any, Any]]) -> dict[str, Any]:
    """Those of a GPU, a CPU or a quick run."""
    at = 2 if ground.setting.quick else int(ground.setting.device == "cpu")
    return {key: each[at] for key, each in sizes.items()}


def offered(stolen: Stolen) -> dict[str, Any]:
    """What attacks may take, where they have such a setting."""
    ground = stolen.ground
    return {
        "seed": ground.cut,
        "embedder": stolen.encoder,
        "vocabulary": ground.pool.vocabulary,
        "device": ground.setting.device,
    }


def ready_made(ground: Ground, *, told: Any = None) -> Inverter:
    """The reader that needs no training, without corrections."""
    name = reading.READY_MADE
    settings = {"likeliest": ground.setting.pick(4, 1)}
    return make_attack(name, settings, {"seed": ground.cut, "device": ground.setting.device}).fit(
        [], None, told
    )


def aligned(stolen: Stolen) -> Found:
    """A map into the encoder's space from a thousand pairs, the ready-made reader, and the nearest row."""
    ground, learned = stolen.ground, stolen.training()
    attack = make_attack(
        "alignment",
        {"encoder": ground.embedder, "reader": _reader(ground), "pairs": PAIRS, "seed": ground.cut},
        {},
    )
    fitted: Any = attack.fit(learned.texts, learned.vectors, learned.victim)
    found = scored(ground, fitted.recover(stolen.read()).rows)
    turned = fitted.align(stolen.read(0, ground.rows[: ground.linked]))
    return found | nearest(ground, turned, ground.pool.clean[ground.known])


def unpaired(stolen: Stolen) -> Found:
    """The stolen cloud laid over a public one; then the ready-made reader, and the nearest row."""
    ground = stolen.ground
    public = [*ground.learned_texts, *ground.outside]
    entering = stolen.prepared(public)
    expected, spread = moments(as_release(stolen.victim), entering, ground.cut)
    most = ground.setting.pick(_MOST, 600)
    reader = UnpairedReader(expected.astype(np.float32), spread, None, most, ground.cut)
    rows = np.concatenate([ground.rows, ground.others])
    turned = reader.align(stolen.target.documents()[rows])[: len(ground.rows)]
    known = stolen.expected(stolen.entering[ground.known])
    found = nearest(ground, turned[: ground.linked], known)
    if _reads(ground):
        own = stolen.readable(turned) if stolen.defence is not None else turned
        found |= scored(ground, _reader(ground).recover(own).rows)
    return found


def structure(stolen: Stolen) -> Found:
    """The graph of what records share; its control is a graph of shared tags."""
    ground = stolen.ground
    if stolen.label in (CLEAN, FLOOR):
        tags = _tagged(ground, stolen.target.documents(), 1)
    elif stolen.label == SEALED and stolen.frozen is not None:
        tags = stolen.frozen.kept["tags"]
    else:
        raise LeftOut("it holds no tags")
    public = [*ground.learned_texts, *ground.outside]
    mine = _tagged(ground, ground.embedder.embed(public), 2)
    attack = Structure(most=ground.setting.pick(_MOST, 600), seed=ground.cut)
    fitted = attack.fit(public, bipartite(mine).toarray())
    rows = np.concatenate([ground.rows, ground.others])
    found = fitted.recover(bipartite(tags[rows]).toarray()).rows[: len(ground.rows)]
    return scored(ground, [str(each) for each in found])


def nearest(ground: Ground, turned: Vectors | Floats, known: Vectors | Floats) -> Found:
    """Whether the nearest known text is a release's own; the known ones begin with those."""
    scores = unit_rows(np.asarray(turned)) @ unit_rows(np.asarray(known)).T
    own = np.take_along_axis(scores, np.arange(len(scores))[:, None], axis=1)
    ahead, ties = (scores > own).sum(axis=1), (scores == own).sum(axis=1)
    return row_found(ground, np.where(ahead > 0, 0.0, 1.0 / ties))


def row_found(ground: Ground, hits: Floats) -> Found:
    """Shares of the right answer, beside chance."""
    chance = [1.0 / len(ground.known)] * len(hits)
    return {LINKED: {"value": np.asarray(hits, float).tolist(), "floor": chance, "prior": chance}}


def _tagged(ground: Ground, vectors: Vectors, seed: int) -> Rows:
    cells = max(2, len(vectors) // ROWS_A_TAG)
    book = Codebook.learn(vectors, cells=cells, tables=TABLES, rng=generator(ground.cut + seed))
    return book.assign(vectors)


def _reads(ground: Ground) -> bool:
    """Whether the ready-made reader reads this encoder."""
    return ground.embedder.name == reading.READY_MADE


def _reader(ground: Ground) -> Any:
    return ready_made(ground) if _reads(ground) else "library"
