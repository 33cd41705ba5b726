"""The attackers study: what an attacker is told, cells that are kept and joined, and who is strongest."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
import typer
from research.tests.studies.test_frontier import data  # noqa: F401

from sfumato.concepts import Concept
from sfumato.concepts.base import Span
from sfumato.embedders.fake import Fake
from sfumato.errors import InputError, MissingPackageError, SfumatoError
from sfumato.learning import LearnSettings
from sfumato.trials.rows import LeftOut
from sfumato_research.attackers import attackers, cells, ground, practising, releases
from sfumato_research.attackers.__main__ import main as command
from sfumato_research.attackers.attackers import ATTACKERS, OF_CPU, Attacker
from sfumato_research.attackers.cells import Cells
from sfumato_research.attackers.claims import claims
from sfumato_research.attackers.figures import CellFigures
from sfumato_research.attackers.ground import Ground
from sfumato_research.attackers.naming import NAMED, WRITTEN, scored
from sfumato_research.attackers.releases import (
    CLEAN,
    CODES,
    COPIES,
    DEFAULT,
    FLOOR,
    IRONCORE,
    LAPLACE,
    RELEASES,
    ROTATION,
    SEALED,
)  # fmt: skip
from sfumato_research.attackers.sharing import read_plan, share
from sfumato_research.attackers.stolen import Stolen
from sfumato_research.attackers.study import outcome
from sfumato_research.attackers.weights import one_version, ready_weights
from sfumato_research.studies import Setting

FEW = ("tokens", "alignment", "unpaired", "structure", "informed", "linkage", "bits", "nearest release")


@pytest.fixture
def setting(data, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ground, "encoder", lambda setting, model: Fake(dim=48))
    remembered, looking = ground.remembered, ground.looking
    monkeypatch.setattr(
        ground, "remembered", lambda name, finder, texts, setting: remembered(name, "lists", texts, setting)
    )
    monkeypatch.setattr(ground, "looking", lambda name, finder: looking(name, "lists"))
    return Setting(data=data, quick=True, cache=tmp_path)


@pytest.fixture
def place(setting):
    return Ground(setting, "place")


@pytest.mark.parametrize("label", [*RELEASES])
def test_every_release_can_be_read_and_no_secret_is_told(place, label):
    stolen = Stolen(place, label)
    try:
        released = stolen.read()
    except LeftOut:
        pytest.skip("its package is not installed")
    assert released.shape[0] == len(place.asked) and np.isfinite(released).all()
    own = stolen.readable(released)
    assert own.shape == (len(place.asked), 48) or label == SEALED
    if RELEASES[label].secret:
        assert stolen.defence is None and stolen.victim is None and stolen.query is None
        assert stolen.training().victim is None
        rows = set(place.pool.learned.tolist())
        assert not rows & set(place.rows.tolist()), "pairs are of other rows than those attacked"


def test_a_rotation_gives_way_to_pairs_and_sealed_records_do_not(place):
    clean = place.pool.clean[place.rows]
    turned, sealed = Stolen(place, ROTATION), Stolen(place, SEALED)
    kept = np.vecdot(turned.readable(turned.read()), clean)
    assert kept.min() > 0.99, "96 pairs and more give 48 dimensions"
    found = sealed.readable(sealed.read())
    assert abs(np.vecdot(found, clean).mean()) < 0.4
    assert sealed.told is not None and turned.told is None, "he measures how much noise is left"


def test_the_floor_holds_no_labelled_word(place):
    floor = Stolen(place, FLOOR)
    wanted = place.embedder.embed([place.case.truth.without(t, s) for t, s in _labelled(place)])
    assert np.allclose(floor.read(), wanted, atol=1e-6)


def _labelled(place):
    for row in place.rows:
        text = place.pool.texts[row]
        yield text, next(iter(place.pool.concept.find_all([text], [place.pool.spans[row]])))


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(attackers, "ATTACKERS", {name: ATTACKERS[name] for name in FEW})
    monkeypatch.setattr(cells, "attackers", lambda ground: list(FEW))


def test_cells_are_measured_once_and_the_same_seed_gives_the_same(setting, few):
    table = Cells(Ground(setting, "place"))
    table.measure(columns=[CLEAN, FLOOR, LAPLACE, ROTATION, SEALED])
    told = outcome(table)
    assert told.took.startswith("40 of 48 cells") and "GPU" not in told.took
    (repeats,) = (each.rows for each in told.tables if "twice" in each.title)
    assert all(row[-1] == "yes" for row in repeats) and len(repeats) >= 5
    assert told.date == date.today().isoformat()
    shown = CellFigures(table)
    assert shown.control("tokens", NAMED).value > shown.floor("tokens", NAMED).value + 0.3
    assert shown.figure("informed", CLEAN, "knowing").value == 1
    assert shown.figure("linkage", CLEAN, "linked").value == 1
    assert shown.member("nearest release", CLEAN).value == 1
    # Thirty rows on each side: chance lies six standard errors below this, and clean rows are at 1.
    assert shown.member("nearest release", SEALED).value < 0.95
    assert shown.figure("tokens", SEALED, NAMED).value < 0.5 * shown.control("tokens", NAMED).value
    again = Cells(Ground(replace(setting, on_step=lambda step: pytest.fail(step)), "place"))
    again.measure(columns=[CLEAN, FLOOR, LAPLACE, ROTATION, SEALED])
    assert outcome(again) == told, "a second run takes what was kept"
    other = Cells(Ground(replace(setting, seed=1, cache=None), "place"))
    other.measure(["tokens"], [CLEAN])
    assert other.get(("tokens", CLEAN, 0))["rows"] != table.get(("tokens", CLEAN, 0))["rows"]


def test_cells_of_another_machine_are_joined_and_others_refused(setting, tmp_path, monkeypatch, few):
    here = Cells(Ground(setting, "place"))
    here.measure(["linkage", "informed"], [CLEAN])
    packed = tmp_path / "cells.json.gz"
    assert here.pack(packed) == 2
    there = Cells(Ground(replace(setting, cache=tmp_path / "other"), "place"))
    assert there.join(packed) == 2 and there.join(packed) == 0
    assert there.get(("linkage", CLEAN, 0)) == here.get(("linkage", CLEAN, 0))
    texts = here.ground.texts
    read = {
        "attack": "decoder", "release": CLEAN, "case": "place", "rows": here.ground.digest, "device": "cuda",
        "seconds": 3.0, "processor_seconds": 1.0, "recovered": texts,
    }  # fmt: skip
    (tmp_path / "read.json").write_text(json.dumps([read]))
    assert there.join(tmp_path / "read.json") == 1
    found = there.get(("decoder", CLEAN, 0))["figures"]
    assert set(found["written"]["value"]) == {1.0} and found[NAMED]["found"] == found[NAMED]["total"]
    assert np.mean(found["written"]["floor"]) < 0.5
    for change, message in (
        ({"rows": "0" * 24}, "of the rows asked about"),
        ({"attack": "nobody"}, "a row and a column"),
        (
            {"seconds": None, "figures": {"guessed": {}}, "groups": [], "again": 0, "recovered": None},
            "figures are",
        ),
    ):
        bad = {
            key: value for key, value in {**read, **change}.items() if value is not None or key == "seconds"
        }
        (tmp_path / "bad.json").write_text(json.dumps([bad]))
        with pytest.raises(InputError, match=message):
            there.join(tmp_path / "bad.json")
    turned = [{**read, "release": name, "recovered": what} for name, what in
              ((ROTATION, ["nothing"] * 9), ("rotation, learning side leaked", texts[:9]))]  # fmt: skip
    (tmp_path / "read.json").write_text(json.dumps({"cells": turned}))
    assert there.join(tmp_path / "read.json") == 1, "who has pairs counts before who has none"
    assert set(there.get(("decoder", ROTATION, 0))["figures"]["written"]["value"]) == {1.0}
    (tmp_path / "bad.json").write_text("no cells")
    with pytest.raises(InputError, match="must hold cells"):
        there.join(tmp_path / "bad.json")


def _planted(place, monkeypatch, shares):
    """Rows that name so many of the terms from each release, whatever the release is."""

    def measure_by(share):
        def measure(stolen):
            count = round(share.get(stolen.label, 0.0) * len(place.texts))
            return scored(place, [t if n < count else "nothing" for n, t in enumerate(place.texts)])

        return measure

    rows = {name: Attacker("tokens", "", measure_by(share), (NAMED, "written"), recent=name == "new")
            for name, share in shares.items()}  # fmt: skip
    for module in (attackers, cells):
        monkeypatch.setattr(module, "ATTACKERS", rows)
    for module in ("claims", "tables"):
        monkeypatch.setattr(f"sfumato_research.attackers.{module}.ATTACKERS", rows)
    monkeypatch.setattr(cells, "attackers", lambda ground: list(rows))
    wanted = (CLEAN, FLOOR, LAPLACE, DEFAULT, SEALED)
    monkeypatch.setattr(cells, "releases", lambda quick: wanted)
    table = Cells(place)
    table.measure()
    return table


def test_the_strongest_is_bold_and_claims_are_counted(place, monkeypatch):
    table = _planted(
        place,
        monkeypatch,
        {
            "old": {CLEAN: 1.0, LAPLACE: 0.3, DEFAULT: 0.5, SEALED: 0.0},
            "new": {CLEAN: 1.0, LAPLACE: 0.2, DEFAULT: 0.9, SEALED: 0.0},
            "broken": {CLEAN: 0.0, FLOOR: 0.0, LAPLACE: 1.0, DEFAULT: 1.0, SEALED: 1.0},
        },
    )
    shown = CellFigures(table)
    assert shown.strongest(LAPLACE, NAMED) == "old" and shown.strongest(DEFAULT, NAMED) == "new"
    assert not shown.works("broken", NAMED), "what fails on clean vectors proves nothing"
    told = outcome(table)
    row = {(each[0], each[1]): each for each in told.tables[0].rows}
    at = list(told.tables[0].columns).index(LAPLACE)
    assert row["names the hidden term", "old"][at].strong
    assert not row["names the hidden term", "new"][at].strong
    assert any("broken (control too low)" in str(each[1]) for each in told.tables[0].rows)
    said = {(each.table, each.claim.split(":")[0]): each.same for each in claims("Places", table)}
    assert said["Places: Laplace 1.4", "noise of 1.4 lengths halves what is named"] is True
    assert said["Places: default", "absolute leakage of the strongest at most 25%"] is False
    assert said["Places: sealed", "no attack gets more than its prior or floor"] is True
    assert said["Places: attacks", _RECENT] is False, "one of three"


def test_a_claim_is_open_where_the_strongest_was_not_run(place, monkeypatch):
    table = _planted(
        place,
        monkeypatch,
        {
            "old": {CLEAN: 0.8, LAPLACE: 0.3, DEFAULT: 0.0, SEALED: 0.0},
            "new": {CLEAN: 1.0, LAPLACE: 0.9, DEFAULT: 0.9, SEALED: 0.0},
        },
    )

    def said():
        return {each.claim.split(":")[0]: each for each in claims("Places", table)}

    halves, least = (
        "noise of 1.4 lengths halves what is named",
        "absolute leakage of the strongest at most 25%",
    )
    assert said()[halves].same is False and said()[least].same is False
    for label in (LAPLACE, DEFAULT):
        table._path(("new", label, 0)).unlink()
    table = Cells(place)
    shown = CellFigures(table)
    assert shown.untried(DEFAULT, NAMED) == "new" and shown.untried(SEALED, NAMED) is None
    for claim, where in ((halves, LAPLACE), (least, DEFAULT), (_RECENT, f"{LAPLACE}, {DEFAULT}")):
        assert said()[claim].same is None
        assert said()[claim].ours == f"no verdict: `new` was not run on {where}"
    strongest = {
        row[0]: row[2] for row in outcome(table).tables[1].rows if row[1] == attackers.QUESTIONS[NAMED]
    }
    # Another that reads as much of clean vectors, and was run there, closes it.
    both = Cells(place, dict(table.table) | {"equal": table.table["new"]})
    for label, like in ((CLEAN, "new"), (DEFAULT, "old")):
        both.put({**table.get((like, label, 0)), "attack": "equal"})
    assert CellFigures(both).untried(DEFAULT, NAMED) is None
    # One that led before, and was not run at all, leaves every column open.
    led = dict(table.table) | {"led": replace(table.table["new"], leads=True)}
    assert CellFigures(Cells(place, led)).untried(SEALED, NAMED) == "led"
    assert strongest[LAPLACE] == "old (of those run)" and "run" not in strongest[SEALED]


_RECENT = "an attack of 2026 is the strongest in at least half of the columns"


def test_a_cell_that_fails_is_not_kept_and_stops_no_other(place, monkeypatch):
    def broken(stolen):
        raise RuntimeError("out of memory")

    def lacking(stolen):
        raise MissingPackageError("nothing", "learn", "to try this")

    tried = {"broken": broken, "lacking": lacking, "good": lambda stolen: scored(place, place.texts)}
    rows = {name: Attacker("tokens", "", each, (NAMED,)) for name, each in tried.items()}
    for module in (attackers, cells):
        monkeypatch.setattr(module, "ATTACKERS", rows)
    monkeypatch.setattr(cells, "attackers", lambda ground: list(rows))
    table = Cells(place)
    with pytest.raises(SfumatoError, match="1 cells failed"):
        table.measure(columns=[CLEAN])
    kept = [key[0] for key in table.wanted() if table.get(key) is not None]
    assert kept == ["good"]


def test_who_reads_nothing_is_as_strong_as_nobody(place, monkeypatch):
    table = _planted(
        place, monkeypatch, {"one": {CLEAN: 1.0, LAPLACE: 0.5}, "two": {CLEAN: 1.0, LAPLACE: 0.5}}
    )
    shown = CellFigures(table)
    assert shown.as_strong(LAPLACE, NAMED, "one") == ["two"]
    gap = shown.difference("one", "two", LAPLACE, LAPLACE, NAMED)
    assert gap.value == 0 and gap.interval == (0.0, 0.0)
    assert shown.relative("one", CLEAN, NAMED).value == 1
    assert shown.relative("one", CLEAN, NAMED, "floor").value == 1


def test_every_row_says_what_it_answers_and_what_it_is_beside():
    for name, row in ATTACKERS.items():
        assert set(row.answers) <= set(attackers.QUESTIONS) and row.answers and row.holds, name
        assert not row.beside or row.beside in ATTACKERS
    assert set(releases.QUICK) <= set(RELEASES) and {IRONCORE, CODES} <= set(RELEASES)


def test_the_default_is_what_learn_makes_and_copies_are_no_column(place):
    today, copies = (Stolen(place, label).defence.protector for label in (DEFAULT, COPIES))
    assert today.neutral_by == LearnSettings().neutral_by == "placeholder" and today.neutral
    assert copies.neutral_by == "copies"
    assert COPIES in RELEASES and COPIES not in releases.STUDIED and COPIES not in releases.COLUMNS


def test_whoever_writes_texts_of_his_own_has_them_searched_as_the_victim_does(place, monkeypatch):
    class Shouting:
        name, blind_to = "shouting", "whispers"

        def find(self, text):
            return [Span(0, 3, "location")] if text.isupper() else []

    found = replace(Concept.named("location"), detector=Shouting())
    monkeypatch.setattr(ground, "looking", lambda name, finder: found)
    looked = place.looked_for
    assert [span.end for span in looked.find("AYE WHAT A PLACE THIS IS")] == [3]
    text = place.texts[0]
    assert looked.find(text) == next(iter(looked.find_all([text]))), "what was looked for stays"


def test_one_practised_reader_serves_two_rows_and_both_count_its_time(place):
    made = []

    def fit():
        made.append(1)
        return "reader"

    stolen = Stolen(place, CLEAN)
    assert stolen.once("practised", fit) == "reader" and stolen.lent == (0.0, 0.0)
    stolen._fitted["practised"] = "reader", (5.0, 4.0)
    slow = Attacker("tokens", "", lambda stolen: stolen.once("practised", fit) and {}, (NAMED,))
    cell = cells.measured(stolen, ("practised", CLEAN, 0), slow)
    assert len(made) == 1 and 5.0 <= cell["seconds"] < 6 and 4.0 <= cell["processor_seconds"] < 5
    quick = cells.measured(stolen, ("tokens", CLEAN, 0), Attacker("tokens", "", lambda stolen: {}, ()))
    assert quick["seconds"] < 1, "what was lent to one row is not another's"


def test_a_plan_is_shared_out_and_no_block_is_taken_twice(place, monkeypatch, tmp_path):
    measured = []

    def measure(stolen):
        measured.append(stolen.label)
        return scored(place, place.texts)

    rows = {"one": Attacker("tokens", "", measure, (NAMED,))}
    for module in (attackers, cells):
        monkeypatch.setattr(module, "ATTACKERS", rows)
    monkeypatch.setattr(cells, "attackers", lambda ground: list(rows))
    table = Cells(place, table=rows)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps([[CLEAN, 0, ["one"]], [LAPLACE, 0, ["one"]], [LAPLACE, 2, ["one"]]]))
    blocks = read_plan(plan, table)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "1").touch()  # by another process
    assert share(table, blocks, tmp_path / "taken", -1) == 0 and not measured, "no time is left"
    assert share(table, blocks, tmp_path / "taken", 60) == 0
    assert measured == [CLEAN, LAPLACE] and table.get(("one", LAPLACE, 0)) is None
    assert table.get(("one", LAPLACE, 2))["again"] == 2
    assert table.pack(tmp_path / "cells.json") == 2, "those on a CPU alone are packed, too"
    assert share(table, blocks, tmp_path / "other", 60) == 0 and len(measured) == 3
    for bad in ([["nowhere", 0, ["one"]]], [[CLEAN, 0, ["nobody"]]], [[CLEAN, 3, ["one"]]], {"one": 1}):
        plan.write_text(json.dumps(bad))
        with pytest.raises(InputError):
            read_plan(plan, table)


def test_cells_of_two_versions_of_a_reader_are_not_told_together(place, monkeypatch):
    table = _planted(place, monkeypatch, {"one": {CLEAN: 1.0, LAPLACE: 0.5}})
    assert one_version(table) == ready_weights()
    cell = table.get(("one", LAPLACE, 0))
    table.put({**cell, "weights": {"reader": "0" * 12}})
    table.put({**table.get(("one", CLEAN, 0)), "weights": {"reader": "1" * 12}})
    with pytest.raises(InputError, match="one version of the reader"):
        outcome(table)


def test_what_a_cpu_takes_is_told_beside_the_table(place, monkeypatch):
    table = _planted(place, monkeypatch, {"one": {CLEAN: 1.0, LAPLACE: 0.5}})
    cell = table.get(("one", LAPLACE, 0))
    few = scored(place, place.texts[:10])
    table.put({**cell, "again": 2, "figures": few, "processor_seconds": 601.0})
    told = next(each for each in outcome(table).tables if each.title.endswith("on a CPU alone"))
    row = next(each for each in told.rows if each[1] == attackers.QUESTIONS[WRITTEN])
    assert row[2] == 10 and row[3].value == 1.0 and 0.4 < row[4].value < 0.7
    assert row[-1] == "**no**" and round(row[-2].value, 1) == 10.0
    table.put({**cell, "again": 0, "figures": few})
    assert "(of these the first: 10 `one`)" in outcome(table).tables[0].note


def test_what_the_victim_does_is_not_an_attacks_time(place):
    done = []

    def measure(stolen):
        done.append("target" in vars(stolen) and "looked_for" in vars(stolen.ground))
        return scored(place, place.texts)

    table = Cells(place, table={"one": Attacker("tokens", "", measure, (NAMED,))})
    assert table.measure_column(DEFAULT, [("one", DEFAULT, 0)]) == 0 and done == [True]


def test_a_release_that_cannot_be_made_is_left_to_the_attacks(place, monkeypatch):
    def nowhere(ground):
        raise LeftOut("it is not installed")

    kinds = {**RELEASES, IRONCORE: replace(RELEASES[IRONCORE], make=nowhere)}
    monkeypatch.setattr("sfumato_research.attackers.stolen.RELEASES", kinds)
    Stolen(place, IRONCORE).make_ready()


@pytest.mark.parametrize(
    "asked", [{"attack": ["practised"]}, {"release": ["SPARSE"]}, {"time": [1], "release": [CLEAN]}]
)
def test_a_command_that_asks_for_no_cell_is_refused(tmp_path, asked):
    with pytest.raises(typer.BadParameter, match="Found no cell"):
        command(tmp_path, tmp_path, quick=True, **asked)


def test_a_row_is_called_by_the_settings_it_was_made_with(place):
    """A reader with ten steps on a GPU has two on a CPU, and a page must not say ten of those."""
    kept = Cells(place)
    row = "practised, 10 steps"
    figures = CellFigures(kept)
    assert figures.called(row) == row, "nothing was measured"
    for device, said in (("cpu", "practised, 2 steps"), ("cuda", row)):
        kept.put(_cell_of(place, row, CLEAN, device))
        assert figures.called(row) == said
    kept.put(_cell_of(place, row, LAPLACE, "cpu"))
    assert figures.called(row) == row, "of both kinds of machines"
    assert figures.called("tokens") == "tokens"


@pytest.mark.parametrize("row", [name for name, each in ATTACKERS.items() if each.on_cpu])
def test_what_a_row_is_called_on_a_cpu_are_its_settings(row):
    at_cpu = practising.SETTINGS["steps"][1] if row.startswith("practised") else 5
    assert ATTACKERS[row].on_cpu == re.sub(r"\d+", str(at_cpu), row) and OF_CPU[ATTACKERS[row].on_cpu] == row


def _cell_of(place, row, release, device):
    return {
        "attack": row, "release": release, "again": 0, "case": "place", "rows": place.digest,
        "device": device, "seconds": 1.0, "processor_seconds": 1.0, "figures": {},
        "groups": [], "left_out": "",
    }  # fmt: skip
