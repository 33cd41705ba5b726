"""What belongs together stands on one side of the cut: a person, a note, a pair, near-duplicates."""

from __future__ import annotations

import json
from contextlib import nullcontext

import numpy as np
import pytest

import sfumato.cli.audit as cli
from sfumato.auditing import SUITES
from sfumato.auditing.subject import subject
from sfumato.cli import collection
from sfumato.cli.vectors import AuditTexts
from sfumato.concepts import Concept
from sfumato.concepts.texts.duplicates import joined, near_duplicates, same_group, united
from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.records import DISEASES, make_records
from sfumato.stores.rows import Rows
from sfumato.trials.utility import ScoredPairs

TEXTS = [record.text for record in make_records(240, seed=7)]
CONCEPT = Concept.from_terms("disease", DISEASES)
PROTECTOR = Protector(Laplace(epsilon=100.0), Fake(dim=32), (CONCEPT,))
PEOPLE = [f"person {number}" for number in generator(1).integers(0, 70, len(TEXTS))]
ORDER = generator(2).permutation(len(TEXTS))


def cut(seed=0, texts=TEXTS, gold=(), groups=None):
    given = subject(
        texts, None, protector=PROTECTOR, released=None, clean=None, embedder=None, spans=None, showable=None,
        truth_spans=None, gold=gold, groups=groups, on_batch=None,
    )  # fmt: skip
    return given.split(CONCEPT, SUITES["quick"], seed)


def sides(split):
    """Which of the caller's rows are learned from, and which are attacked."""
    return set(split.source[split.learned].tolist()), set(split.source[split.attacked].tolist())


def parted(split, together):
    """Lists of rows that have a row on either side."""
    learned, attacked = sides(split)
    return [rows for rows in together if learned & set(rows) and attacked & set(rows)]


def test_groups_are_joined_where_any_grouping_joins_them():
    assert joined(5, [[0, 2], [2, 4]]).tolist() == [0, 1, 0, 2, 0]
    assert united(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 1])).tolist() == [0, 0, 1, 0]
    assert same_group(["a", None, "a", None]) == [[0, 2]]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_person_is_both_learned_from_and_attacked(seed):
    people = same_group(PEOPLE)
    assert parted(cut(seed), people)  # what is not said is not known
    split = cut(seed, groups=PEOPLE)
    assert parted(split, people) == []
    alike = same_group(near_duplicates([split.texts[row] for row in split.rows]).tolist())
    assert parted(split, [split.source[split.rows[rows]].tolist() for rows in alike]) == []
    # Intervals are drawn by whole groups: rows of one person share theirs.
    drawn = split.resampling().groups
    of = [PEOPLE[row] for row in split.source[split.attacked]]
    assert all(len({drawn[row] for row in rows}) == 1 for rows in same_group(of))
    assert len(np.unique(drawn)) < len(drawn)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_pair_of_a_gold_standard_is_split(seed):
    pairs = ORDER.reshape(-1, 2).tolist()
    gold = ScoredPairs(
        [TEXTS[one] for one, _ in pairs], [TEXTS[other] for _, other in pairs], [0.5] * len(pairs)
    )
    assert parted(cut(seed), pairs)
    assert parted(cut(seed, gold=[gold]), pairs) == []
    elsewhere = ScoredPairs(gold.first, [f"{text}." for text in gold.second], gold.scores)
    assert (cut(seed, gold=[elsewhere]).test == cut(seed).test).all()


def test_groups_hold_even_where_all_texts_are_alike():
    """Near-duplicates have to be parted there; what the caller says belongs together is not."""
    texts = [f"The patient was seen for {DISEASES[row % 9]} on day {row}." for row in range(200)]
    groups = [row // 4 for row in range(200)]
    split = cut(texts=texts, groups=groups)
    assert split.notes and parted(split, same_group(groups)) == []
    with pytest.raises(InputError, match="Give more texts, or smaller groups"):
        cut(texts=texts, groups=["one"] * 200)
    with pytest.raises(InputError, match="`groups` must have one entry a text. Found 3 for 200"):
        cut(texts=texts, groups=[1, 2, 3])


def test_the_command_reads_groups_from_a_column(tmp_path, monkeypatch):
    path = tmp_path / "notes.jsonl"
    rows = [
        {"text": TEXTS[0], "person": 7},
        {"text": TEXTS[1], "person": ""},
        {"text": TEXTS[2], "person": 7},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    assert AuditTexts(path, 10, False).groups is None
    assert AuditTexts(path, 10, False, None, "person").groups == ["7", None, "7"]
    with pytest.raises(InputError, match="`notes.jsonl` has no column `patient`.*--group-column"):
        AuditTexts(path, 10, False, None, "patient")

    class Stop(Exception):
        pass

    def audit(texts, concept, **given):
        raise Stop(given["groups"])

    monkeypatch.setattr(cli, "audit", audit)
    vectors = tmp_path / "vectors.npy"
    np.save(vectors, np.ones((3, 4), np.float32))
    with pytest.raises(Stop) as stopped:
        cli.command(path, embeddings=vectors, concept=["disease"], group_column="person")
    assert stopped.value.args[0] == ["7", None, "7"]


def test_a_collection_says_what_its_rows_belong_to(tmp_path, monkeypatch):
    kept = Rows(["a", "b"], np.eye(2, dtype=np.float32), [{"document": "x", "person": 7}, {"document": "y"}])

    class Shelf:
        label = "shelf"

        def batches(self, size):
            return [kept]

        def get(self, ids):
            return kept

    monkeypatch.setattr(collection, "open_store", lambda url, create: nullcontext(Shelf()))
    asked = {"text_field": None, "id_column": None, "limit": 9, "everything": False}
    assert collection.collect("shelf", None, group_column="person", **asked).groups == ["7", None]
    assert collection.collect("shelf", None, group_column=None, **asked).groups is None
    with pytest.raises(InputError, match="shelf has no field `patient`"):
        collection.collect("shelf", None, group_column="patient", **asked)
    path = tmp_path / "notes.jsonl"
    path.write_text("\n".join(json.dumps({"id": each, "text": "t", "note": f"n{each}"}) for each in "bca"))
    assert collection.collect("shelf", path, group_column="note", **asked).groups == ["nb", "na"]
