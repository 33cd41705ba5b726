"""Every attack that fits within the time there is: what is run, what is left out, what is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.attacks import ATTACKS
from sfumato.cli import main
from sfumato.concepts.texts.labels import labels_of
from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.evaluation import Defence
from sfumato.mechanisms import Laplace
from sfumato.trials import costs, everything
from sfumato.trials.costs import COSTS, Cost, cost_of, in_order
from sfumato.trials.everything import Everything
from sfumato.trials.telling import most_telling
from sfumato.trials.threat import ThreatModel
from tests.test_protector import PLACE, PLACES, sentences

FAKE = Fake(dim=64)
TEXTS = [text for text in dict.fromkeys(sentences(400)) if PLACE.find(text)][:120]
LABELS = labels_of(TEXTS, ["nurse" if "nurse" in text else "other" for text in TEXTS])
CHEAP = ("linkage", "membership", "bits", "informed", "oracle")

pytestmark = pytest.mark.usefixtures("few_steps")


def threat(**changes):
    noise = Laplace.from_noise_ratio(1.0, dim=64)
    given = {"defence": Defence(name="laplace", mechanism=noise, embedder=FAKE), "embedder": FAKE}
    return ThreatModel(texts=TEXTS, **{**given, **changes})


@pytest.fixture(autouse=True)
def as_fast_as_where_costs_were_measured(monkeypatch):
    monkeypatch.setattr(everything, "slowness", lambda: 1.0)


def run(given=None, minutes=5.0, **settings):
    made = Everything(given or threat(), minutes, **{"concept": PLACE, "names": CHEAP, **settings})
    list(made.run())
    return made


def test_each_attack_stands_beside_its_control_and_its_prior():
    made = run(names=(*CHEAP, "tokens", "attributes", "structure"), labels=LABELS)
    found = {each.name: each for each in made.tried}
    assert set(found) == {*CHEAP, "tokens", "attributes"}
    assert found["linkage"].prior == 1 / len(TEXTS) and found["membership"].prior == 0.5
    for name in ("informed", "oracle", "tokens"):
        assert 0.05 < found[name].prior < 0.4 and found[name].figure.metric == "leakage"
    share = sum(label == "other" for label in LABELS.values()) / len(LABELS)
    assert found["attributes"].prior == pytest.approx(share, abs=0.1)
    for each in made.tried:
        assert each.control is not None and each.seconds > 0 and each.figure.low <= each.figure.value
        assert json.loads(json.dumps(each.to_dict()))["attack"] == each.name
    assert [name for name, _ in made.left_out] == ["structure"]


def test_the_same_seed_gives_the_same_figures():
    one, two = run(names=("linkage", "membership", "oracle")), run(names=("linkage", "membership", "oracle"))
    assert [each.figure for each in one.tried] == [each.figure for each in two.tried]


def test_what_does_not_fit_is_left_out_and_why():
    bare = Everything(ThreatModel(released=FAKE.embed(TEXTS)), 1.0)
    assert list(bare.run()) == [] and {name for name, _ in bare.left_out} == set(ATTACKS.names())
    reasons = dict(bare.left_out)
    assert "--texts" in reasons["linkage"] and "--concept" in reasons["informed"]
    assert "--train" in reasons["tokens"] and "--labels" in reasons["attributes"]
    assert "384" in reasons.get("minilm", "384")
    for minutes in (0.0, -1.0, float("nan"), 1e9):
        with pytest.raises(InputError, match="minutes"):
            list(Everything(threat(), minutes).run())


def test_time_decides_how_many_rows_are_read_and_what_is_not_run(monkeypatch):
    monkeypatch.setitem(COSTS, "linkage", Cost(1.0, 1.0, 1))
    monkeypatch.setitem(COSTS, "membership", Cost(10_000.0, 1.0, 1))
    monkeypatch.setitem(COSTS, "oracle", Cost(1.0, 100.0, 1))
    made = run(names=("linkage", "membership", "oracle"), minutes=2.0)
    (one,) = made.tried
    assert one.name == "linkage" and costs.LEAST_ROWS <= one.rows < len(TEXTS)
    assert len(one.places) == one.rows and one.places.max() > one.rows - 1
    reasons = dict(made.left_out)
    assert "s are left" in reasons["membership"] and "s are left" in reasons["oracle"]


def test_an_attack_that_runs_over_is_stopped(monkeypatch):
    monkeypatch.setitem(COSTS, "tokens", Cost(0.0, 0.0))
    clock = iter([*[0.0] * 5, *[10_000.0] * 10_000])
    monkeypatch.setattr(everything.time, "monotonic", lambda: next(clock))
    made = run(names=("tokens",), minutes=0.5)
    assert made.tried == [] and "ran over" in dict(made.left_out)["tokens"]


def test_one_that_takes_the_time_of_others_is_stopped_for_them(monkeypatch):
    monkeypatch.setitem(COSTS, "tokens", Cost(0.0, 0.0, 1))
    now = [0.0]
    monkeypatch.setattr(everything.time, "monotonic", lambda: now[0])
    true = everything.run_attack

    def slow(attack, *given, on_step, **more):
        if attack.name == "tokens":
            now[0] += 0.95 * 60  # more than its share and the grace, less than all
            on_step("training", 0.5)
        return true(attack, *given, on_step=on_step, **more)

    monkeypatch.setattr(everything, "run_attack", slow)
    made = run(names=("tokens", "linkage"), minutes=1.0)
    assert "its time, after 57 s" in dict(made.left_out)["tokens"]
    assert [each.name for each in made.tried] == ["linkage"]


def test_a_slow_encoder_counts_and_every_text_is_embedded_once(monkeypatch):
    asked = []

    class Slow:
        name, model_id, dim = FAKE.name, FAKE.model_id, FAKE.dim

        def embed(self, texts, *, on_batch=None):
            asked.extend(texts)
            now[0] += 0.5 * len(texts)
            return FAKE.embed(texts)

    now = [0.0]
    monkeypatch.setattr(everything.time, "monotonic", lambda: now[0])
    made = run(threat(embedder=Slow()), names=("linkage", "informed"), minutes=2.0)
    assert [each.name for each in made.tried] == ["linkage"]
    needed = int(dict(made.left_out)["informed"].split("about ")[1].split(" s")[0])
    terms = len(PLACE.terms)
    assert needed == pytest.approx(40 * 0.5 * COSTS["informed"].row_texts * terms / 36, rel=0.2)
    assert len(asked) == len(set(asked))


def test_one_that_breaks_does_not_take_the_others_with_it(monkeypatch):
    true = everything.run_attack

    def broken(attack, *given, **more):
        if attack.name == "linkage":
            raise RuntimeError(f"cannot read {TEXTS[0]}")
        return true(attack, *given, **more)

    monkeypatch.setattr(everything, "run_attack", broken)
    heard = []
    made = run(names=("linkage", "bits"), on_step=lambda label, share: heard.append(share))
    assert [each.name for each in made.tried] == ["bits"]
    assert made.left_out == [("linkage", "it broke: RuntimeError")]
    assert heard == sorted(heard) and 0 <= heard[0] and heard[-1] <= 1


def test_who_stops_it_keeps_what_is_done():
    made = Everything(threat(), 5.0, concept=PLACE, names=CHEAP)
    first = next(made.run())
    made.stopped()
    assert made.tried == [first]
    assert {name for name, _ in made.left_out} == set(CHEAP) - {first.name}


def test_cheap_and_strong_ones_come_first(monkeypatch):
    assert cost_of("nobody has timed this") == costs.UNKNOWN and 0.25 <= costs.slowness() <= 50
    assert cost_of("linkage", 3.0).seconds(100) == pytest.approx(3 * cost_of("linkage").seconds(100))
    kept = {"d": Cost(1000, 0, 1), "c": Cost(50, 0, 1), "b": Cost(2, 0, 1), "a": Cost(1, 0, 5)}
    assert in_order(kept) == ["b", "a", "c", "d"]
    assert Cost(1, 1).rows_within(11, 100) == 10 and Cost(1, 1).rows_within(0.5, 100) == 0
    assert Cost(1, 1, whole=True).rows_within(11, 100) == 0 and Cost(1, 0).rows_within(2, 100) == 100
    assert set(COSTS) <= set(ATTACKS.names())


def test_the_rows_read_best_are_the_telling_ones():
    made = run(names=("oracle", "linkage"), given=threat(defence=None))
    shown = most_telling(made.tried, TEXTS, PLACE)
    assert len(shown) == 10 and len({row.row for row in shown}) == 10
    for row in shown:
        assert row.attack == "oracle" and row.right == 1.0 and row.true == TEXTS[row.row]
        assert PLACE.terms_in(row.true)[0] in row.read


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    (tmp_path / "places.txt").write_text("\n".join(PLACES) + "\n")
    vectors = FAKE.embed(TEXTS)
    np.save(tmp_path / "vectors.npy", Laplace.from_noise_ratio(0.5, dim=64).privatize(vectors))
    monkeypatch.setattr(everything.ATTACKS, "names", lambda: CHEAP)

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main.run(["attack", *arguments])
        shown = capsys.readouterr()
        return stopped.value.code, shown.out, shown.err

    return call


ALL = ("vectors.npy", "--all", "--texts", "texts.txt", "--embedder", "fake:64", "--terms", "places.txt")


def test_one_table_and_no_text_but_with_leave(command, tmp_path):
    code, out, err = command(*ALL, "--json", "found.json")
    assert code == 0, err
    found = json.loads((tmp_path / "found.json").read_text())
    assert {each["attack"] for each in found["attacks"]} == set(CHEAP) and not found["stopped"]
    assert all(name in out for name in CHEAP) and "clean" in out and "without" in out
    assert found["telling"] == [] and not any(text in out for text in TEXTS)
    assert not any(text in json.dumps(found) for text in TEXTS)
    code, out, _ = command(*ALL, "--show-texts", "--json", "found.json")
    assert code == 0 and sum(text in out for text in TEXTS) == 10
    assert len(json.loads((tmp_path / "found.json").read_text())["telling"]) == 10


def test_an_interrupt_keeps_what_is_done(command, tmp_path, monkeypatch):
    true, calls = everything.run_attack, []

    def once(*given, **more):
        calls.append(given)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return true(*given, **more)

    monkeypatch.setattr(everything, "run_attack", once)
    code, out, _ = command(*ALL, "--json", "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert code == 130 and found["stopped"] and len(found["attacks"]) == 1
    assert len(found["left_out"]) == len(CHEAP) - 1 and "stopped before its turn" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("vectors.npy",), "--attack NAME, or run all"),
        (("vectors.npy", "--all", "--attack", "linkage"), "--attack NAME, or run all"),
        (("vectors.npy", "--all", "--steps", "3"), "--steps is for one attack"),
        (("vectors.npy", "--all", "--minutes", "0"), "minutes must be more than 0"),
        (("texts.txt", "--all", "--texts", "texts.txt"), "IN has to hold vectors"),
        ((*ALL, "--embeddings", "vectors.npy"), "Leave --embeddings out"),
        ((*ALL, "--labels", "sex"), "no column `sex`"),
    ],
)
def test_what_does_not_go_together_is_one_line(command, arguments, message):
    code, out, err = command(*arguments)
    assert code == 2 and message in err and err.count("\n") == 1 and out == ""
