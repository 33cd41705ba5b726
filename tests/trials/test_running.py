"""Running any attack of the table: settings by name, figures, scenes and controls."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sfumato.attacks.base import Attack, Inverter, Recovered
from sfumato.attacks.known_texts.bits import Bits
from sfumato.attacks.known_texts.linkage import Linkage
from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.attacks.terms.reader import TokenReader
from sfumato.embedders import Fake
from sfumato.errors import InputError, ParameterError
from sfumato.evaluation import Defence
from sfumato.mechanisms import Identity, Laplace
from sfumato.protector import Protector
from sfumato.trials.making import inverter_of, make_attack
from sfumato.trials.running import figures_of, run_attack
from sfumato.trials.split import Pool
from sfumato.trials.target import DefenceTarget
from sfumato.trials.threat import ThreatModel, set_up
from tests.test_protector import PLACE, sentences

FAKE = Fake(dim=96)
TEXTS = [text for text in dict.fromkeys(sentences(700)) if PLACE.find(text)][:240]
QUICK = TokenClassifier(vocabulary=PLACE, hidden=(64,), epochs=15)

pytestmark = pytest.mark.usefixtures("few_steps")


@dataclass(frozen=True, kw_only=True)
class Parrot(Attack):
    """Says what it was told to say."""

    said: str = "nothing"

    name, paper, summary, reads = "parrot", "none", "repeats one text", "text"

    def fit(self, texts, vectors, mechanism=None, *, on_step=None) -> Inverter:
        return None


def test_settings_go_by_field_name():
    made = make_attack("tokens", {"hidden": [9], "epochs": 3}, {"seed": 5, "beam": 4, "embedder": None})
    assert made == TokenClassifier(hidden=(9,), epochs=3, seed=5)
    with pytest.raises(ParameterError, match="beam"):
        make_attack("tokens", {"beam": 4}, {})
    with pytest.raises(ParameterError, match="epochs"):
        make_attack("tokens", {"epochs": "many"}, {})
    assert inverter_of(TokenClassifier) is TokenReader
    with pytest.raises(InputError, match="cannot be loaded"):
        inverter_of(Parrot)


def test_figures_of_texts_terms_and_rows():
    said = Recovered(["He left Calder.", "b"], np.ones(2))
    found = {
        f.metric: f.value for f in figures_of(Parrot, said, ["he left calder .", "to Fenwick"], concept=PLACE)
    }
    assert found == {"token F1": 0.5, "exact match": 0.5, "leakage": 0.5}
    details = {"probabilities": np.array([[0.9, 0.2], [0.1, 0.3]]), "vocabulary": ["calder", "fenwick"]}
    terms = Recovered([["calder", "fenwick"], ["fenwick", "calder"]], np.ones(2), details)
    leakage, confidence = figures_of(TokenClassifier, terms, ["in Calder", "to Calder"])
    assert leakage.value == 0.5 and confidence.value == pytest.approx(0.5)
    # Only the rows that were asked count.
    asked = Recovered(terms.rows, terms.scores, {**details, "asked": np.array([True, False])})
    assert figures_of(TokenClassifier, asked, ["in Calder", "to Calder"])[0].value == 1.0
    rows = Recovered(["a", ""], np.ones(2), {"top": np.array([[0, 1], [1, 2]]), "left": np.array([1, 2])})
    named = {f.metric: f.value for f in figures_of(Linkage, rows, ["a", "c"], known=["a", "b", "c"])}
    assert named == {"top-1": 0.5, "top-2": 1.0, "exactly one left": 0.5}
    with pytest.raises(InputError, match="a true text a row"):
        figures_of(Linkage, rows, ["a"])


def test_halves_do_not_meet_and_the_victims_noise_is_not_the_attackers():
    threat = ThreatModel(
        texts=TEXTS,
        defence=Defence(name="laplace", mechanism=Laplace(epsilon=200.0), embedder=FAKE),
        embedder=FAKE,
    )
    ready = set_up(threat, QUICK)
    assert len(ready.rows) == pytest.approx(120, abs=30) and ready.learned_clean
    assert not {TEXTS[row] for row in ready.rows} & set(ready.learned)
    clean = FAKE.embed([TEXTS[row] for row in ready.rows])
    assert not np.array_equal(ready.attacked, clean)
    assert np.array_equal(ready.attacked, set_up(threat, QUICK).attacked)
    known = set_up(threat, Linkage())
    assert known.learned == TEXTS and len(known.rows) == len(TEXTS)


def test_neutral_texts_are_learned_from_and_the_control_is_taken_on_clean_ones():
    protector = Protector(Laplace(epsilon=500.0), FAKE, (PLACE,), neutral=3)
    threat = ThreatModel(texts=TEXTS, defence=Defence.from_protector(protector), embedder=FAKE)
    ready = set_up(threat, QUICK)
    assert not ready.learned_clean
    assert np.array_equal(ready.learned_vectors, protector.prepare(ready.learned).vectors)
    done = run_attack(QUICK, threat, concept=PLACE)
    assert done.figures[0].value < 0.4 and done.control.value > 0.8
    assert done.control.count == done.figures[0].count
    assert done.searched.search["inputs"] == ["scaled", "white"]
    assert [len(done.searched.chosen[name]) for name in ("control", "released")] == [1, 1]
    assert run_attack(QUICK, threat, concept=PLACE, control=False).control is None


def test_somebodys_releases_are_leaked_pairs_or_read_with_texts_of_ones_own():
    clean = FAKE.embed(TEXTS)
    leaked = set_up(ThreatModel(texts=TEXTS, released=clean), QUICK)
    assert leaked.victim is None and not leaked.learned_clean
    assert run_attack(QUICK, ThreatModel(texts=TEXTS, released=clean), concept=PLACE).control is None
    known = run_attack(QUICK, ThreatModel(texts=TEXTS, released=clean, embedder=FAKE), concept=PLACE)
    assert known.control.value > 0.8
    own = ThreatModel(released=clean[200:], own_texts=TEXTS[:200], own_vectors=clean[:200])
    done = run_attack(QUICK, own)
    assert len(done.recovered) == len(TEXTS) - 200 and not done.figures and done.control is not None


@pytest.mark.parametrize(
    ("threat", "message"),
    [
        (ThreatModel(), "nothing to attack"),
        (ThreatModel(texts=TEXTS), "--embedder"),
        (ThreatModel(vectors=np.ones((3, 4)) / 2), "--train"),
        (ThreatModel(texts=TEXTS[:2], released=np.ones((3, 4))), "one text a vector"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_scenes_that_do_not_work_say_why(threat, message):
    with pytest.raises(InputError, match=message):
        set_up(threat, QUICK)


def test_the_control_is_of_the_same_rows_and_stays_with_a_kept_attack(tmp_path):
    defence = Defence(name="laplace", mechanism=Laplace(epsilon=60.0), embedder=FAKE)
    threat = ThreatModel(texts=TEXTS, defence=defence, embedder=FAKE)
    done = run_attack(replace(QUICK, control=False), threat, concept=PLACE)
    assert done.control.metric == done.figures[0].metric and done.control.count == done.figures[0].count
    assert done.control.value > done.figures[0].value
    done.inverter.save(tmp_path / "kept")
    again = run_attack(QUICK, replace(threat, texts=None, vectors=FAKE.embed(TEXTS)), load=tmp_path / "kept")
    assert again.control.value == pytest.approx(done.control.value)


def test_what_changes_nothing_is_its_own_control():
    plain = run_attack(QUICK, ThreatModel(texts=TEXTS, embedder=FAKE), concept=PLACE)
    nothing = Defence(name="identity", mechanism=Identity(), embedder=FAKE)
    same = run_attack(QUICK, ThreatModel(texts=TEXTS, defence=nothing, embedder=FAKE), concept=PLACE)
    assert plain.control == plain.figures[0] == same.control == same.figures[0]


def test_clean_vectors_prove_nothing_about_bits():
    defence = Defence(name="laplace", mechanism=Laplace(epsilon=2.0), embedder=FAKE)
    done = run_attack(Bits(), ThreatModel(texts=TEXTS[:80], defence=defence, embedder=FAKE))
    assert done.control.metric == "named on plain float32 noise" and done.control.value > 0.9
    assert done.figures[0].value < 0.1


def test_the_command_and_an_audit_release_alike():
    defence = Defence(name="laplace", mechanism=Laplace(epsilon=200.0), embedder=FAKE)
    ready = set_up(ThreatModel(texts=TEXTS, defence=defence, embedder=FAKE, seed=3), Linkage())
    pool = Pool(TEXTS, FAKE.embed(TEXTS))
    assert np.array_equal(ready.attacked, DefenceTarget(defence, pool, seed=3).documents())
    assert np.array_equal(ready.attacked, defence.release(TEXTS, seed=3))
