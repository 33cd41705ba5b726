"""Found values as postings, and filters by cell and value: found, changed and erased with their rows."""

from __future__ import annotations

from collections import Counter

import pytest

from sfumato.concepts.concept import Concept
from sfumato.errors import InputError, ParameterError
from sfumato.sealing import labels
from sfumato.sealing.handles import HANDLES
from sfumato.sealing.labels import MOST_NAMES, normalised
from sfumato.stores import Memory
from tests.sealing.collections import contents, names, notes, sealed

ROWS = 120
PEOPLE = ("Maria Jensen", "Ole Olsen", "Renée Dupont")
FINDER = Concept.from_terms("people", PEOPLE)
TEXTS = [f"{text} Seen by {PEOPLE[row % 2]}." for row, text in enumerate(notes(ROWS))]
IDS = names(ROWS)


@pytest.fixture(params=HANDLES.names())
def handle(request):
    return request.param


def test_rows_are_found_by_a_value_they_hold(handle, tmp_path):
    with sealed(tmp_path, Memory(tmp_path / "rows"), handle=handle, names=FINDER) as store:
        store.add(IDS, TEXTS)
        result = store.search_name("Maria Jensen", 100)
        assert result.complete and {hit.id for hit in result.hits} == set(IDS[::2])
        again = store.search_name("maria   JENSEN.", 100)
        assert {hit.id for hit in again.hits} == set(IDS[::2])
        assert store.search_name("Maria Olsen").hits == [] and store.search_name("Maria Olsen").complete
        # One posting more a row.
        assert len(store.store) == 3 * ROWS + 1
    # It opens again without being told what finds them.
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        store.add(["new"], ["Ole Olsen called."])
        assert len(store.search_name("Ole Olsen", 100).hits) == ROWS // 2 + 1


def test_values_go_along_when_rows_change_go_or_are_learned_anew(handle, tmp_path):
    with sealed(tmp_path, handle=handle, names=[FINDER]) as store:
        store.add(IDS, TEXTS)
        store.update([IDS[0]], ["Renee and Renée Dupont went away."])
        store.delete([IDS[2]])
        store.erase([IDS[4]])
        for _ in range(2):
            found = store.search_name("Maria Jensen", 100)
            assert found.complete and {hit.id for hit in found.hits} == set(IDS[6::2])
            assert [hit.id for hit in store.search_name("RENE\u0301E dupont").hits] == [IDS[0]]
            assert len(store.store) == 3 * (ROWS - 2) + 1
            store.relearn()
        assert store.search(TEXTS[7], 1).hits[0].id == IDS[7]


def test_a_posting_of_a_value_looks_like_any_other(tmp_path):
    with sealed(tmp_path, names=FINDER) as store:
        store.add(IDS, TEXTS)
        sizes = Counter(len(each) for each in contents(store.store).values())
        held = list(contents(store.store).values())
        assert len(set(held)) == len(held) and 2 * ROWS in sizes.values()


def test_omitted_and_changed_postings_of_a_value_show(tmp_path):
    with sealed(tmp_path, names=FINDER) as store:
        store.add(IDS, TEXTS)
        member = store._client.state.find([IDS[0]])[IDS[0]]
        store.store.delete([store._client.handle.records(member)[-1]])
        result = store.search_name("Maria Jensen", 100)
        assert not result.complete and len(result.hits) == ROWS // 2 - 1 and "is missing" in result.faults[0]


def test_there_are_caps_a_document_and_a_value(tmp_path, monkeypatch):
    from sfumato.sealing.client import searching, writing

    for place in (labels, searching, writing):
        monkeypatch.setattr(place, "MOST_ROWS_A_NAME", 5)
    many = [f"person{number}" for number in range(MOST_NAMES + 20)]
    with sealed(tmp_path, names=Concept.from_terms("people", [*many, *PEOPLE])) as store:
        store.add(["list"], [" and ".join(many)])
        store.add(IDS[:20], TEXTS[:20])
        assert store.search_name(many[MOST_NAMES - 1]).hits and not store.search_name(many[MOST_NAMES]).hits
        result = store.search_name("Maria Jensen", 100)
        assert len(result.hits) == 5 and not result.complete and "only the first" in result.faults[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Maria Jensen", "MARIA\u00a0jensen,"),
        ("ﬁscher", "FISCHER"),
        ("Rene\u0301e", "renée"),
        ("+45 12 34 56 78", "(45) 12345678"),
        ("Straße", "strasse"),
    ],
)
def test_spellings_of_one_value_are_one(one, other):
    assert normalised(one) == normalised(other) != ""


def test_values_differ():
    assert normalised("Jensen, Maria") != normalised("Maria Jensen")
    assert normalised("2024-01") != normalised("2024-02") and normalised("... ") == ""
    assert len(normalised("x" * 10**6)) <= 1000


def test_what_cannot_be_searched_for_is_refused(tmp_path):
    with sealed(tmp_path, Memory(tmp_path / "rows"), names="person") as store:
        store.add(["a"], ["Maria Jensen called."])
        assert [hit.id for hit in store.search_name("Maria Jensen").hits] == ["a"]
        with pytest.raises(InputError, match="a letter or a digit"):
            store.search_name("...")
    with pytest.raises(InputError, match="`names` must be those"):
        with sealed(
            tmp_path, Memory(tmp_path / "rows"), names=Concept.from_terms("towns", ["Oslo"])
        ) as store:
            store.add(["b"], ["Oslo"])
    (tmp_path / "other").mkdir()
    with sealed(tmp_path / "other") as store:
        with pytest.raises(InputError, match="without `names`"):
            store.search_name("Maria Jensen")
    for wrong in (Concept.from_spans("name"), "unheard of"):
        with pytest.raises(ParameterError):
            sealed(tmp_path / "other", names=wrong)


FIELDS = [{"year": 2000 + row % 6, "ward": f"ward {row % 2}", "row": row} for row in range(ROWS)]


def test_a_filter_fetches_the_matching_rows_alone(tmp_path):
    with sealed(tmp_path, filters=["year"]) as store:
        store.add(IDS, TEXTS, FIELDS)
        assert len(store.store) == 3 * ROWS + 1
        wanted = {IDS[row] for row in range(ROWS) if FIELDS[row]["year"] == 2003}
        result = store.search(TEXTS[3], 20, where={"year": 2003})
        assert result.complete and {hit.id for hit in result.hits} == wanted and result.hits[0].id == IDS[3]
        assert result.candidates <= len(wanted) and result.texts == 32
        assert {hit.id for hit in store.search(TEXTS[3], 20, where={"year": 2003.0}).hits} == wanted
        assert store.search(TEXTS[3], 20, where={"year": "2003"}).hits == []
        assert store.search(TEXTS[3], 20, where={"year": True}).candidates == 0
        two = store.search(TEXTS[3], 40, where={"year": [2003, 2004]})
        assert {hit.metadata["year"] for hit in two.hits} == {2003, 2004} and len(two.hits) == 40
        many = store.search(TEXTS[3], 20, where={"year": [2003, *range(100)]})
        assert many.texts == ROWS and {hit.id for hit in many.hits} <= wanted and IDS[3] == many.hits[0].id
        # Another field is looked at by the client, among those.
        both = store.search(TEXTS[3], 20, where={"year": 2003, "row": 3})
        assert [hit.id for hit in both.hits] == [IDS[3]] and both.candidates <= len(wanted)
        assert store.search(TEXTS[3], 5, where={"ward": "ward 1"}).candidates > len(wanted)


def test_filters_follow_their_rows(tmp_path):
    with sealed(tmp_path, Memory(tmp_path / "rows"), filters=["year"]) as store:
        store.add(IDS, TEXTS, FIELDS)
        store.update([IDS[3]], [TEXTS[3]], [{"year": 1999}])
        store.erase([IDS[9]])
        store.delete([IDS[15]])
        store.add(["new"], ["without a year"])
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        for _ in range(2):
            assert [hit.id for hit in store.search(TEXTS[3], 9, where={"year": 1999}).hits] == [IDS[3]]
            found = {hit.id for hit in store.search(TEXTS[3], 50, where={"year": 2003}).hits}
            assert found == {IDS[row] for row in range(21, ROWS, 6)}
            assert len(store.store) == 3 * (ROWS - 2) + 2 + 1
            store.relearn()


def test_a_value_alone_is_no_list_of_its_own(tmp_path):
    """Rows of one value stand in as many lists as they have cells: none is as long as the value is common."""
    with sealed(tmp_path, filters=["ward"]) as store:
        store.add(IDS, TEXTS, FIELDS)
        state = store._client.state
        members = [each for part in state.walk(200) for each in part]
        cells = {place[:2] for each in members for place in each.places if place[0] >= labels.FILTER_TABLES}
        longest = max(len(each) for each in state.lists(cells).values())
        assert longest < ROWS // 4


def test_what_filters_may_be(tmp_path):
    for wrong in ("year", ["a b"], [f"f{number}" for number in range(9)]):
        with pytest.raises((ParameterError, InputError)) as caught:
            sealed(tmp_path, filters=wrong)
        assert "\n" not in str(caught.value)
