"""Attacks that know texts: the term that was left out, which row it is, whether a text is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.concepts import Concept
from sfumato.metrics.leakage import count_leaked, count_prior
from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator
from sfumato.release import AS_IT_IS, Releasing, as_release
from sfumato.trials.making import make_attack
from sfumato.trials.questions.informed import asked_of, candidates
from sfumato.trials.rows import LeftOut
from sfumato.types import Floats, Rows
from sfumato_research.attackers.ground import MEMBERS
from sfumato_research.attackers.naming import Found, nearest, row_found
from sfumato_research.attackers.releases import CLEAN, FLOOR
from sfumato_research.attackers.stolen import Stolen
from sfumato_research.frontier.use import neighbours

KNOWING, MEMBER, TOLD, KEPT = "knowing", "member", "told", "kept"


def informed(stolen: Stolen) -> Found:
    """Which of the candidates, by the mechanism's own density; of what was mapped back, the nearest."""
    return _knowing(stolen, "informed", stolen.victim, {"embedder": stolen.encoder})


def oracle(stolen: Stolen) -> Found:
    """The same by asking for releases of every candidate sentence, under the key if there is one."""
    if stolen.frozen is not None:
        raise LeftOut("it was released once, and answers nobody")
    target = stolen.target
    ask: Any = {"embedder": stolen.encoder}
    if stolen.defence is None:
        ask = {"oracle": target.others, "embedder": stolen.ground.embedder}
    return _knowing(stolen, "oracle", stolen.victim, ask, asks=True)


def _knowing(
    stolen: Stolen, name: str, victim: Releasing | None, settings: dict[str, Any], *, asks: bool = False
) -> Found:
    """Ask about some texts that name one of the candidates and no other."""
    _refuse_floor(stolen)
    ground = stolen.ground
    pool, suite = ground.pool, ground.suite
    terms = candidates(pool, suite.candidates)
    asked = asked_of(pool, terms, suite.informed, ground.cut)
    rows = pool.attacked[asked]
    truth = [pool.truth[position] for position in asked]
    concept = Concept.from_terms(pool.concept.name, terms)
    attack = make_attack(name, {"concept": concept, "seed": ground.cut, **settings}, {})
    reader = attack.fit([pool.texts[row] for row in rows], stolen.entering[rows], victim)
    hits = []
    for draw in range(stolen.target.draws):
        released = stolen.read(draw, rows)
        mapped = stolen.defence is None and not asks
        seen = unit_rows(stolen.readable(released)) if mapped else released
        hits.append(count_leaked(truth, reader.recover(seen).rows).found)
    return {
        KNOWING: {
            "value": np.mean(hits, axis=0).tolist(),
            "floor": [1.0 / len(terms)] * len(asked),
            "prior": count_prior(truth, pool.known).found.tolist(),
            "groups": pool.groups[pool.test[asked]].tolist(),
        }
    }


def linkage(stolen: Stolen) -> Found:
    """Which of the known texts, by the density; by the nearest under a key; by size where all is sealed."""
    _refuse_floor(stolen)
    ground = stolen.ground
    pool, known, count = ground.pool, ground.known, ground.linked
    if stolen.frozen is not None and "sizes" in stolen.frozen.kept:
        sizes = stolen.frozen.kept["sizes"][known]
        return row_found(ground, np.array([1.0 / (sizes == size).sum() for size in sizes[:count]]))
    if stolen.defence is None:
        return nearest(ground, stolen.readable(stolen.read(0, known[:count])), pool.clean[known])
    texts = [pool.texts[row] for row in known]
    attack = make_attack("linkage", {"seed": ground.cut}, {})
    linker: Any = attack.fit(texts, stolen.entering[known], stolen.victim)
    own = np.arange(count)
    hits = [linker.rank_of(stolen.read(draw, known[:count]), own) == 0 for draw in range(stolen.target.draws)]
    return row_found(ground, np.mean(hits, axis=0))


def bits(stolen: Stolen) -> Found:
    """Whether floating-point arithmetic leaves one text; its control is plain float32 noise."""
    _refuse_floor(stolen)
    ground, known = stolen.ground, stolen.ground.known
    release = as_release(stolen.victim)
    additive = stolen.label == CLEAN if release is None else release.mechanism.additive
    if stolen.defence is None or not additive:
        raise LeftOut("there is no sum of a known vector and noise")
    texts = [ground.pool.texts[row] for row in known]
    attack = make_attack("bits", {"seed": ground.cut}, {})
    reader = attack.fit(texts, stolen.entering[known], stolen.victim)
    assert reader.control is not None
    if stolen.label == CLEAN:  # where its control stands, which is of another kind
        return row_found(ground, np.full(ground.linked, reader.control.value))
    found = reader.recover(stolen.read(0, known[: ground.linked])).details["index"]
    return row_found(ground, (found == np.arange(ground.linked)).astype(float))


def near_release(stolen: Stolen) -> Found:
    """How near the nearest release is to what a text would become: higher where it is stored."""
    _refuse_floor(stolen)
    ground = stolen.ground
    inside, outside = members(stolen)
    stored = np.setdiff1d(np.arange(len(ground.pool.texts)), outside)
    asked = np.concatenate([inside, outside])
    released = unit_rows(stolen.readable(stolen.target.documents()[stored]))
    entering = stolen.entering[asked]
    expected = stolen.readable(stolen.expected(entering)) if stolen.defence is not None else entering
    near = (unit_rows(np.asarray(expected)) @ released.T).max(axis=1)
    return member_found(stolen, near, np.isin(asked, inside), asked)


def membership(stolen: Stolen) -> Found:
    """How much likelier the stored rows are with a text among them than without."""
    _refuse_floor(stolen)
    ground = stolen.ground
    inside, outside = members(stolen)
    stored = np.setdiff1d(np.arange(len(ground.pool.texts)), outside)
    asked = np.concatenate([inside, outside])
    released, own = stolen.target.documents()[stored], stolen.defence is None
    attack = make_attack("membership", {"seed": ground.cut}, {})
    texts = [ground.pool.texts[row] for row in asked]
    victim = (stolen.told if own else stolen.victim) or AS_IT_IS
    reader = attack.fit(texts, stolen.entering[asked], victim)
    scores = reader.recover(unit_rows(stolen.readable(released)) if own else released).scores
    return member_found(stolen, scores, np.isin(asked, inside), asked)


def attributes(stolen: Stolen) -> Found:
    """Which other kinds of names stand in the sentence, as people labelled them."""
    _refuse_floor(stolen)
    ground = stolen.ground
    pool = ground.pool
    assert pool.spans is not None  # they come with the data
    kinds = [_kinds(spans, ground.case.label) for spans in pool.spans]
    labels = dict(zip(pool.texts, kinds, strict=True))
    rows = np.setdiff1d(np.arange(len(pool.texts)), pool.attacked)
    vectors, victim = stolen.target.learning(rows)
    settings = {"labels": labels, "epochs": ground.suite.epochs, "control": False, "seed": ground.cut}
    fitted = make_attack("attributes", settings, {}).fit([pool.texts[row] for row in rows], vectors, victim)
    right = [
        [
            row[0] == kinds[at]
            for row, at in zip(fitted.recover(stolen.read(draw)).rows, ground.rows, strict=True)
        ]
        for draw in range(stolen.target.draws)
    ]
    names, counts = np.unique([kinds[row] for row in rows], return_counts=True)
    guess = [float(kinds[row] == names[counts.argmax()]) for row in ground.rows]
    return {TOLD: {"value": np.mean(right, axis=0).tolist(), "floor": guess, "prior": guess}}


def use(stolen: Stolen) -> Found:
    """No attack: how well releases find each other where their clean vectors are near."""
    _refuse_floor(stolen)
    ground = stolen.ground
    found = neighbours(ground.pool, stolen.target, ground.looked_for, ground.cut)
    ndcg = found["neighbours.ndcg"]
    nothing = [0.0] * len(ndcg)
    groups = list(range(len(ndcg)))
    return {KEPT: {"value": ndcg.tolist(), "floor": nothing, "prior": nothing, "groups": groups}}


def _kinds(spans: Any, attacked: str) -> str:
    return " and ".join(sorted({str(span["label"]) for span in spans} - {attacked})) or "nothing"


def members(stolen: Stolen) -> tuple[Rows, Rows]:
    """Rows that are stored, and as many that are said not to be."""
    ground = stolen.ground
    order = generator(ground.cut + 1).permutation(ground.pool.attacked)
    half = min(ground.setting.pick(MEMBERS, 30), len(order) // 2)
    return order[:half], order[half : 2 * half]


def member_found(stolen: Stolen, scores: Floats, inside: Any, asked: Rows) -> Found:
    """Scores of texts, and which of them are stored."""
    pool = stolen.ground.pool
    place = {row: position for position, row in enumerate(pool.rows.tolist())}
    groups = pool.groups[[place[row] for row in asked.tolist()]]
    return {
        MEMBER: {
            "scores": np.asarray(scores, float).tolist(),
            "inside": np.asarray(inside, float).tolist(),
            "groups": groups.tolist(),
        }
    }


def _refuse_floor(stolen: Stolen) -> None:
    if stolen.label == FLOOR:
        raise LeftOut("its floor is chance")
