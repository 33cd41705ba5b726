"""Counting findings by families: intervals judged, differences drawn together, cells that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.randomness import generator
from sfumato_research.families import part as judging
from sfumato_research.families import steps
from sfumato_research.families.beside import misses_beside, presence_beside, search_beside, sts_beside
from sfumato_research.families.counting import by_family, counted, family_table, told
from sfumato_research.families.findings import DPPN, FINDINGS, LAPLACE, LEACE, SPARSE
from sfumato_research.families.judging import NOT_MEASURED, above, below, each_of, least, one_of
from sfumato_research.families.packing import packed, unpacked
from sfumato_research.frontier.defences import ERASED, OTHER, OURS, REMOVED, STARRED, WIDE
from sfumato_research.frontier.figures import Cuts
from sfumato_research.frontier.measure import CLEAN, FLOOR, arrays_path
from sfumato_research.frontier.nested import Nested
from sfumato_research.studies import Setting, load_study
from sfumato_research.studies.encoders import ENCODERS

ROWS, PAIRS = 400, 300
NAMED = {
    CLEAN: 0.9, FLOOR: 0.2, REMOVED: 0.35, STARRED: 0.35, OTHER: 0.3, OURS: 0.25, ERASED: 0.25, WIDE: 0.1,
    LAPLACE: 0.7, SPARSE: 0.89, DPPN: 0.89, LEACE: 0.4,
}  # fmt: skip
"""Terms that the attacker names from each release, of rows without a miss."""
PLAIN = {CLEAN: 3.0, OURS: 3.0, ERASED: 0.6, REMOVED: 0.6, FLOOR: 0.4}
"""How far presence stands out."""
KEPT = {REMOVED: 0.85, OURS: 0.8, OTHER: 0.55, WIDE: 0.4, LAPLACE: 0.3}
"""What a release keeps, as its share of the clean figure."""


def made_up(seed, **changed):
    """The arrays of one cut in which every sentence holds, but for what a test changes."""
    named, plain, kept = ({**base, **changed.get(key, {})} for base, key in (
        (NAMED, "named"), (PLAIN, "plain"), (KEPT, "kept")
    ))  # fmt: skip
    rng = generator(seed)
    found = rng.random(ROWS) < 0.8
    luck, ones = rng.random(ROWS), np.ones(ROWS)
    cut = {"terms.total": ones, "terms.prior": (rng.random(ROWS) < 0.05).astype(float)}
    cut |= {"groups": np.arange(ROWS), "found.all": found, "found.wide": found}
    holds, gold, touched = rng.random(ROWS) < 0.5, rng.normal(size=PAIRS), np.arange(PAIRS) % 2 == 0
    clean, noise = gold + 0.5 * rng.normal(size=PAIRS), rng.normal(size=(2, PAIRS))
    shown = rng.normal(size=ROWS)
    for label, rate in named.items():
        missed = changed.get("missed", 0.3) if label == OURS else 0.0
        cut[f"{label}|hits"] = (luck < rate + missed * ~found)[None].astype(np.float32)
        cut[f"{label}|presence.holds"], cut[f"{label}|presence.groups"] = holds, np.arange(ROWS)
        cut[f"{label}|presence.network"] = plain.get(label, 2.0) * holds + shown
        if label == FLOOR:
            continue
        share = kept.get(label, 0.97)
        cut[f"{label}|linked"], cut[f"{label}|linked.groups"] = np.ones(300), np.arange(300)
        cut[f"{label}|members"] = np.arange(ROWS) % 2 == 0
        cut[f"{label}|members.near"] = 3.0 * cut[f"{label}|members"] + shown
        cut |= {f"{label}|sts.gold": gold, f"{label}|sts.clean": clean, f"{label}|sts.touched": touched}
        cut[f"{label}|sts.cosine"] = share * clean + (1 - share) * 3 * noise[0]
        for use in ("search", "topic", "neighbours"):
            cut[f"{label}|{use}.clean"] = np.full(PAIRS, 0.8)
            cut[f"{label}|{use}.ndcg"] = 0.8 * share + 0.05 * noise[1]
            cut[f"{label}|{use}.touched"] = touched
        if label != OTHER:
            cut[f"{label}|informed.rows"] = np.arange(100)
            right = 0.97 if label in (CLEAN, SPARSE, DPPN, LEACE) else 0.02 + 0.9 * ~found[:100]
            cut[f"{label}|informed.right"] = (luck[:100] < right).astype(float)
    return cut


@pytest.fixture(scope="module")
def holding():
    return Cuts([made_up(seed) for seed in range(3)])


def test_every_sentence_of_the_protocol_is_counted_and_holds_where_it_was_made_to(holding):
    assert len(FINDINGS) == len({each.name for each in FINDINGS}) == 17
    verdicts = {each.name: each.judged(holding).verdict for each in FINDINGS}
    assert verdicts == dict.fromkeys(verdicts, True)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("goal", {"named": {OURS: 0.1}, "kept": {OURS: 1.0}, "missed": 0.0}),
        ("goal-removal", {"named": {REMOVED: 0.1}, "kept": {REMOVED: 1.0}}),
        ("fewer", {"named": {OURS: 0.6}}),
        ("presence", {"plain": {OURS: 1.0}}),
        ("eraser", {"plain": {ERASED: 2.0}}),
        ("misses", {"named": {OURS: 0.5}, "missed": -0.4}),
        ("masks", {"named": {DPPN: 0.5}}),
        ("laplace", {"named": {LAPLACE: 0.3}}),
        ("laplace", {"kept": {LAPLACE: 0.9}}),
        ("other", {"kept": {OTHER: 0.97}}),
        ("wide", {"named": {WIDE: 0.7}}),
        ("wide-cost", {"kept": {WIDE: 0.97}}),
        ("search", {"kept": {OURS: 0.95}}),
        ("two-thirds", {"kept": {OURS: 0.5}}),
    ],
)
def test_each_sentence_is_denied_where_it_was_made_wrong(name, changed):
    cuts = Cuts([made_up(seed, **changed) for seed in range(3)])
    found = next(each for each in FINDINGS if each.name == name).judged(cuts)
    assert found.verdict is False, found.words


@pytest.mark.parametrize(
    ("name", "label", "key", "value"),
    [
        ("informed", OURS, "informed.right", 1.0),
        ("informed-rivals", LEACE, "informed.right", 0.0),
        ("linkage", SPARSE, "linked", 0.0),
        ("member", WIDE, "members.near", 0.0),
    ],
)
def test_one_release_is_enough_to_deny_what_is_said_of_all(name, label, key, value):
    cuts = [made_up(seed) for seed in range(3)]
    for cut in cuts:
        cut[f"{label}|{key}"] = np.full_like(cut[f"{label}|{key}"], value)
    assert next(each for each in FINDINGS if each.name == name).judged(Cuts(cuts)).verdict is False


def test_a_release_that_was_not_measured_gives_no_verdict(holding):
    without = Cuts([{key: rows for key, rows in cut.items() if DPPN not in key} for cut in holding.cuts])
    for each in FINDINGS:
        found = each.judged(without)
        assert (found is NOT_MEASURED) == (each.name in ("masks", "informed-rivals")), each.name
    assert NOT_MEASURED.words == "–"


def test_an_interval_says_yes_no_or_nothing():
    straddles, lies = Nested(0.5, (0.4, 0.6)), Nested(0.5, (0.45, 0.5))
    assert [below(straddles, limit).verdict for limit in (0.61, 0.6, 0.5, 0.4, 0.3)] == [
        True, None, None, False, False
    ]  # fmt: skip
    assert below(lies, 0.5).verdict is None and below(lies, 0.5, reached=True).verdict is True
    assert [least(straddles, limit).verdict for limit in (0.4, 0.5, 0.61)] == [True, None, False]
    assert [above(straddles, limit).verdict for limit in (0.3, 0.5, 0.6)] == [True, None, False]
    assert below(None, 1) is NOT_MEASURED and below(Nested(0.5, None), 1) is NOT_MEASURED
    assert below(straddles, 0.7).words == "**yes** 50% [40%, 60%]"


def test_all_have_to_say_yes_or_one_may():
    yes, no, open_ = (below(Nested(0.5, (0.4, 0.6)), limit) for limit in (0.7, 0.3, 0.5))
    assert each_of([yes, yes]).verdict is True and one_of([no, yes]).verdict is True
    assert each_of([yes, open_]) is open_ and each_of([yes, open_, no]) is no
    assert one_of([no, open_]) is open_ and one_of([no, no]).verdict is False
    assert each_of([yes, NOT_MEASURED]) is NOT_MEASURED and each_of([]) is NOT_MEASURED


def test_differences_are_drawn_together(holding):
    assert presence_beside(holding, OURS, CLEAN).interval == (0.0, 0.0), "the same scores differ in no draw"
    gap = presence_beside(holding, CLEAN, REMOVED)
    apart = holding.presence(CLEAN), holding.presence(REMOVED)
    assert gap.value == pytest.approx(apart[0].value - apart[1].value)
    assert gap.interval[1] - gap.interval[0] < sum(each.high - each.low for each in apart)
    for beside in (sts_beside, search_beside):
        same = beside(holding, OURS, OURS).interval
        assert same == pytest.approx((0.0, 0.0), abs=1e-12), "but for rounding"
    kept = [holding.kept(label, "sts", touched=True).value for label in (OTHER, OURS)]
    assert sts_beside(holding, OTHER, OURS).value == pytest.approx(kept[0] - kept[1])
    kept = [holding.kept(label, "search", touched=True).value for label in (OURS, REMOVED)]
    assert search_beside(holding, OURS, REMOVED).value == pytest.approx(kept[0] - kept[1])
    rows = [holding.terms(OURS, found="all", missed=missed).absolute.value for missed in (True, False)]
    assert misses_beside(holding, OURS).value == pytest.approx(rows[0] - rows[1])


def test_too_few_misses_give_no_verdict():
    cut = made_up(0)
    cut["found.all"] = np.arange(ROWS) >= 5
    assert misses_beside(Cuts([cut]), OURS) is None


def test_a_family_holds_when_all_its_encoders_do(holding):
    denied = Cuts([made_up(seed, named={OURS: 0.6}) for seed in range(3)])
    models = ["minilm", "encoder768", "wordllama"]
    assert [len(own) for own in by_family(models).values()] == [2, 1]
    cells = {(name, model): holding for name in ("place", "person") for model in models}
    counts = counted(cells | {("person", "encoder768"): denied}, lambda step: None)
    table = {row[0]: row for row in family_table(counts, ["place", "person"], models).rows}
    assert table["fewer"][2:] == ["2 of 2", "1 of 2 (no: 1)", "1 of 2 (no: 1)", "2 of 3 (no: 1)"]
    assert table["presence"][2:] == ["2 of 2", "2 of 2", "2 of 2", "3 of 3"]
    same = {each.table: each.same for each in told(counts, ["place", "person"], models)}
    assert same["fewer"] is False and same["presence"] is None, "one family denies; two are too few to hold"


def test_a_sentence_holds_when_it_does_on_four_families(holding):
    models = [each.name for each in ENCODERS if each.name != "encoder768"][:4]
    assert len(by_family(models)) == 4
    counts = counted({("place", model): holding for model in models}, lambda step: None)
    assert {each.same for each in told(counts, ["place"], models)} == {True}
    few = told(counts, ["place"], models[:3])
    assert {each.same for each in few} == {None} and few[0].cause == f"counted: {', '.join(models[:3])} alone"


def test_packing_changes_no_verdict(holding):
    again = Cuts([unpacked(packed(cut)) for cut in holding.cuts])
    for each in FINDINGS:
        assert each.judged(again).verdict == each.judged(holding).verdict, each.name


def keep(setting, name, model, cut, arrays):
    path = arrays_path(name, model, cut, setting, "families")
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, **packed(arrays))


def test_the_study_judges_the_cuts_that_all_counted_encoders_have(tmp_path):
    setting = Setting(tmp_path, cache=tmp_path)
    part = next(each for each in load_study("encoders").parts if each.name == "findings")
    with pytest.raises(InputError, match="measured before"):
        part.run(setting)
    for name in judging.CONCEPTS:
        for model, cuts in {"minilm": 4, "wordllama": 3, "smollm2": 2}.items():
            for cut in range(cuts):
                keep(setting, name, model, cut, made_up(cut))
    models, cuts, left = judging.judged_on(setting)
    assert (models, cuts) == (["minilm", "wordllama"], [0, 1, 2]) and "smollm2" in left
    outcome = part.run(setting)
    families, places, _, left_places, _, shown, encoders = outcome.tables
    figures = {(row[0], row[1]): row[2:] for row in left_places.rows}
    assert all(cell.value == 1 for cell in figures["absolute", CLEAN]), "clean vectors are the whole scale"
    assert all(cell.low < cell.value < cell.high for cell in figures["search", OURS])
    assert ("STS", FLOOR) not in figures and len(left_places.columns) == 4
    assert list(shown.columns)[1:-1] == ["smollm2, places, 2 cuts", "smollm2, people, 2 cuts"]
    assert {row[-2] for row in families.rows} == {"2 of 2"}
    assert list(places.columns) == ["finding", "minilm", "wordllama", "the figure"]
    assert [row[-1] for row in encoders.rows].count("yes") == 2 and "3 of 5 cuts" in encoders.note
    assert {(each.same, each.ours) for each in outcome.findings} == {(None, "2 of 2 families")}


def test_on_a_processor_one_cut_counts_and_is_said_and_what_was_not_attacked_is_not_asked(tmp_path):
    part = next(each for each in load_study("encoders").parts if each.name == "findings-few")
    models = [each.name for each in ENCODERS if each.name != "encoder768"]
    few = Setting(tmp_path, cache=tmp_path, few=True)
    without = {key: rows for key, rows in made_up(0).items() if key.split("|")[0] not in (ERASED, WIDE)}
    for name in judging.CONCEPTS:
        keep(Setting(tmp_path, cache=tmp_path), name, "minilm", 0, made_up(0))
        for model in models:
            keep(few, name, model, 0, without)
    outcome = part.run(Setting(tmp_path, cache=tmp_path))
    told_of = {each.table: each.same for each in outcome.findings}
    assert False not in told_of.values() and all(name.endswith(", one cut") for name in told_of)
    assert told_of["informed, one cut"] is told_of["linkage, one cut"] is True, "five families hold it"
    assert {name.split(",")[0] for name in told_of} == {each.name for each in FINDINGS} - {
        "eraser", "wide", "wide-cost"
    }  # fmt: skip
    assert {row[-1] for row in outcome.tables[0].rows} >= {"5 of 5"}
    assert judging.judged_on(few)[1] == [0] and judging.judged_on(Setting(tmp_path, cache=tmp_path))[0] == []


def _fails():
    raise InputError("it went wrong")


@pytest.mark.parametrize("wrong", [_fails, lambda: False])
def test_a_step_that_is_not_done_ends_with_1_and_stops_no_other(tmp_path, monkeypatch, capsys, wrong):
    ran = []
    tasks = [lambda: ran.append(1), wrong, lambda: ran.append(2)]
    monkeypatch.setenv("SFUMATO_THREADS", "1")
    monkeypatch.setattr(steps, "run_cells", lambda *given: steps._spread(tasks, 1))
    words = ["families", "cells", "--data", str(tmp_path), "--cache", str(tmp_path)]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as stopped:
        steps.main()
    assert stopped.value.code == 1 and ran == [1, 2]
    assert "1 tasks are not done" in capsys.readouterr().out
    tasks.remove(wrong)
    steps.main()


def test_an_encoder_that_is_not_here_is_not_done(tmp_path, monkeypatch):
    monkeypatch.delenv("SFUMATO_ENCODER768", raising=False)
    setting = Setting(tmp_path, cache=tmp_path)
    assert steps.cells("place", "encoder768", [0], setting) is False
    assert steps.cells("place", "encoder768", [], setting) is True
