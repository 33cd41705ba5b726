"""`sfumato search --protector`: a protected collection is searched, its texts are looked up at home."""

from __future__ import annotations

import json

import pytest
from tests.cli.test_main import sfumato

import sfumato as sf
from sfumato.embedders import Fake
from sfumato.mechanisms import Laplace
from sfumato.saving import save_protector
from sfumato.stores import ProtectedStore, open_store

PLACES = ("Ashford", "Calder", "Dunmere")
WARES = ("kettles", "bicycles", "violins", "ladders", "umbrellas", "telescopes")
TEXTS = [
    f"{ware} were delivered to {PLACES[row % 3]} by the van in the morning" for row, ware in enumerate(WARES)
]
AT = ("--store", "lancedb:db#notes", "--protector", "places")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("protected")
    concept = sf.Concept.from_terms("place", PLACES)
    protector = sf.Protector(Laplace.from_noise_ratio(0.05, dim=128), Fake(dim=128), (concept,))
    save_protector(protector, path / "places")
    with ProtectedStore(open_store(f"lancedb:{path}/db#notes"), protector) as store:
        ids = [f"n{row}" for row in range(len(TEXTS))]
        store.add(ids, TEXTS, metadata=[{"half": row % 2} for row in range(len(TEXTS))])
    lines = [json.dumps({"id": f"n{row}", "text": text}) for row, text in enumerate(TEXTS)]
    (path / "notes.jsonl").write_text("\n".join(reversed(lines)))
    (path / "asked.txt").write_text("violins by the van\nladders by the van\n")
    return path


def test_rows_are_found_and_their_texts_come_from_the_file(folder):
    done = sfumato("search", "violins by the van", *AT, "-k", "2", "--json", "f.json", cwd=folder)
    first, second = done.stdout.splitlines()
    assert done.returncode == 0 and first.split()[1] == "n2" and len(first.split()) == 2, done.stderr
    shown = sfumato("search", "violins by the van", *AT, "-k", "1", "--texts", "notes.jsonl", cwd=folder)
    assert shown.stdout.split(maxsplit=2)[2].strip() == TEXTS[2]
    facts = json.loads((folder / "f.json").read_text())
    hits = facts["results"][0]["hits"]
    assert [hit["id"] for hit in hits] == ["n2", second.split()[1]] and facts["hidden"] == 0
    assert hits[0]["metadata"] == {"half": 0} and "text" not in hits[0]


def test_many_searches_filters_and_clean_vectors(folder):
    many = sfumato("search", "--queries", "asked.txt", *AT, "-k", "1", cwd=folder)
    lines = many.stdout.splitlines()
    assert lines[::2] == ["Query 0", "Query 1"]
    assert [line.split()[1] for line in lines[1::2]] == ["n2", "n3"]
    other = sfumato("search", "violins by the van", *AT, "--where", "half=1", cwd=folder)
    assert {line.split()[1] for line in other.stdout.splitlines()} == {"n1", "n3", "n5"}
    once, twice = (sfumato("search", TEXTS[2], *AT, "-k", "1", "--clean", cwd=folder).stdout for _ in "ab")
    assert once == twice and once.split()[1] == "n2", "its own vector has no noise"


def test_a_search_for_what_is_hidden_is_told(folder):
    done = sfumato("search", "umbrellas in Calder", *AT, "-k", "1", cwd=folder)
    assert done.returncode == 0 and "1 of 1 searches name what the protector hides" in done.stderr
    assert "Calder" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--store", "lancedb:db#notes"), "Give --key FILE for a sealed collection, or --protector DIR"),
        (
            (*AT, "--key", "some.key"),
            "--tenant and --state belong to a sealed one",
        ),
        (("--store", "lancedb:db#notes", "--key", "some.key", "--clean"), "to which --clean"),
        (("--store", "lancedb:db#none", "--protector", "places"), "There is no collection at"),
        ((*AT, "-k", "0"), "-k must be at least 1. Found 0."),
        ((*AT, "--texts", "notes.jsonl", "--id-column", "number"), "has no column `number`"),
    ],
)
def test_what_does_not_go_together_is_one_line(folder, given, said):
    done = sfumato("search", "violins", *given, cwd=folder)
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 2 and len(lines) == 1 and said in lines[0], done.stderr
    assert done.stdout == ""
