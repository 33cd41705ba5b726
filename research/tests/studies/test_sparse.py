"""The study of SPARSE on made-up sentences, documents and notes, laid out like the public sets."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from tests.masks import quick_masks

from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.randomness import generator
from sfumato.trials.reading import AttackMethod
from sfumato_research.sparse import attacks as sparse_attacks
from sfumato_research.sparse import cases as sparse_cases
from sfumato_research.sparse import data as sparse_data
from sfumato_research.sparse import entities as sparse_entities
from sfumato_research.sparse import readers as sparse_readers
from sfumato_research.sparse import variants as sparse_variants
from sfumato_research.sparse import words as sparse_words
from sfumato_research.sparse.printed import ATTACKS, EPSILONS, METHODS, TRADE_OFF
from sfumato_research.studies import Setting, load_study, measured
from sfumato_research.studies.heat import heat_map
from sfumato_research.studies.page import whole
from sfumato_research.studies.running import read_result, run_study

WHO = ("the mayor", "a woman", "two students", "the painter", "our neighbour", "an old sailor", "a man")
DID = ("opened a school", "lost the match", "sold a bicycle", "planted trees", "wrote a letter")
PLACES = ("London", "Paris", "Tokyo", "Cuba", "Texas", "France", "China", "Russia", "Pakistan")
DAYS = ("monday", "tuesday", "friday")


def _write(folder, name, lines):
    folder.mkdir(exist_ok=True)
    with gzip.open(folder / name, "wt", encoding="utf-8") as handle:
        handle.write("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    data, rng = tmp_path_factory.mktemp("data"), generator(1)

    def pick(some):
        return some[int(rng.integers(len(some)))]

    def sentence(number: int) -> str:
        where = f" in {pick(PLACES)}" if rng.random() < 0.7 else ""
        return f"{pick(WHO)} {pick(DID)}{where} on {pick(DAYS)} with {pick(('two', 'three'))} {number}"

    for name in ("sts12", "sts14", "stsb"):
        lines = ["score\tsentence1\tsentence2"]
        for row in range(110):
            first, alike = sentence(row), row % 2 == 0
            lines.append(f"{4.5 if alike else 1.0}\t{first}\t{f'{first} again' if alike else sentence(row)}")
        _write(data / name, f"{name}.tsv.gz", lines)
    fiqa = data / "retrieval_fiqa_mini"
    documents = [sentence(row) for row in range(140)]
    _write(
        fiqa, "corpus.jsonl.gz", [json.dumps({"_id": f"d{n}", "text": t}) for n, t in enumerate(documents)]
    )
    asked = [json.dumps({"_id": f"q{n}", "text": f"who {documents[n]}"}) for n in range(30)]
    _write(fiqa, "queries.jsonl.gz", asked)
    judged = ["query-id\tcorpus-id\tscore\tsplit", *(f"q{n}\td{n}\t1\ttest" for n in range(30))]
    _write(fiqa, "qrels.tsv.gz", judged)
    _write(
        data / "sentences", "sentences.tsv.gz", ["source\ttext", *(f"made\t{sentence(n)}" for n in range(99))]
    )
    for folder, name in sparse_attacks.PII.items():
        texts = [f"{pick(('Mr', 'Mrs'))} Smith {sentence(row)}" for row in range(60)]
        _write(data / folder, f"{name}.jsonl.gz", [json.dumps({"text": text}) for text in texts])
    for folder, (name, column) in sparse_attacks.MEDICAL.items():
        notes = [
            f"The {20 + row % 40}-year-old {pick(('man', 'woman'))} slept in bed {row}." for row in range(90)
        ]
        _write(data / folder, f"{name}.jsonl.gz", [json.dumps({column: text}) for text in notes])
    return Setting(data, quick=True)


def _places_found(texts):
    """What NER would find: places, where they are written with a capital."""
    places = Concept.from_terms("location", PLACES)
    return {
        sparse_entities.digest(text): [(span.start, span.end, "location") for span in places.find(text)]
        for text in texts
    }


@pytest.fixture(autouse=True)
def fake_encoder(monkeypatch):
    monkeypatch.setattr(measured, "QUICK", replace(measured.QUICK, rows=130, pool=530, epochs=5, copies=1))
    monkeypatch.setattr(sparse_words, "EPOCHS", 8)

    def encoder(setting, model="minilm"):
        return Fake(dim=40 if model == "minilm" else 32)

    for module in (sparse_data, sparse_attacks, sparse_words, sparse_cases, sparse_readers):
        monkeypatch.setattr(module, "encoder", encoder)
    monkeypatch.setattr(sparse_entities, "find_entities", _places_found)


@pytest.fixture(scope="module", autouse=True)
def masks():
    with quick_masks():
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


def _run(setting, results, *parts):
    done = run_study(load_study("sparse"), setting, results, only=parts)
    return read_result(done.path)["parts"]


def _values(table, label, column):
    at = table["columns"].index(column)
    return [row[at]["value"] for row in table["rows"] if row[0] == label]


def test_printed_tables_are_whole():
    assert len(TRADE_OFF) == 6
    for printed in TRADE_OFF.values():
        for part in (printed.leakage, printed.confidence, printed.utility):
            assert tuple(part) == EPSILONS
            assert all(len(row) == len(METHODS) for row in part.values())
    assert TRADE_OFF["sts12"].kept(10) == pytest.approx(60.72 / 74.25)


def test_table_1_has_every_method_and_its_printed_figure(setting, results):
    parts = _run(setting, results, "table1", "ner-sts12", "ner-fiqa")
    part, *tagged = (parts[name] for name in ("table1", "ner-sts12", "ner-fiqa"))
    tables = [table for each in (part, *tagged) for table in each["tables"]]
    titles = ["sts12", "fiqa", "sts12, entities found by NER", "fiqa, entities found by NER"]
    assert [table["title"] for table in tables] == titles
    for table, name in zip(tables, ("sts12", "fiqa") * 2, strict=True):
        assert [row[0] for row in table["rows"]] == [
            "unprotected", *["Laplace", "Purkayastha", "SPARSE"] * 2, "ours (default protector)",
        ]  # fmt: skip
        at = table["columns"].index("leakage")
        assert table["rows"][1][at]["printed"] == pytest.approx(TRADE_OFF[name].leakage[5][0] / 100)
        clean, noisy = _values(table, "unprotected", "leakage"), _values(table, "Laplace", "leakage")
        assert min(clean) > max(noisy) or min(clean) > 0.9
        assert _values(table, "unprotected", "kept") == [1.0]
        strong, weak = _values(table, "Laplace", "kept")
        assert strong < weak < 1.0
    assert {finding["table"] for each in (part, *tagged) for finding in each["findings"]} == {"Table 1"}
    for name, each in zip(("sts12", "fiqa"), tagged, strict=True):
        assert all(f"({name}, entities found by NER)" in finding["claim"] for finding in each["findings"])
    assert "printed ε" in whole({"table1": part}, "results")


def test_masks_that_know_the_attacker_and_other_lambdas(setting, results):
    parts = _run(setting, results, "table4", "table10")
    rows = parts["table4"]["tables"][0]["rows"]
    assert [row[0] for row in rows] == ["Laplace", "SPARSE", "SPARSE-WB"]
    open_shares = [row[1]["value"] for row in parts["table10"]["tables"][0]["rows"]]
    assert open_shares[0] <= open_shares[2]  # the largest lambda leaves the fewest gates
    assert [row[0] for row in parts["table10"]["tables"][0]["rows"]][-1] == "0.001, mean"


def test_rewriting_is_attacked_and_rated(setting, results):
    table = _run(setting, results, "table9")["table9"]["tables"][0]
    names = [row[0] for row in table["rows"]]
    assert names == ["unprotected", "removal", "random-word", "nearest-term", "sparse", "ours"]
    assert _values(table, "removal", "leakage")[0] < _values(table, "unprotected", "leakage")[0]


def test_encoders_each_get_their_own_noise(setting, results, monkeypatch):
    monkeypatch.setattr(sparse_variants, "encoders", lambda: ["minilm", "other"])
    table = _run(setting, results, "table8")["table8"]["tables"][0]
    assert sum(row[0].startswith("other:") for row in table["rows"]) == 5
    assert sum(row[0].startswith("printed") for row in table["rows"]) == 12


def _says_the_same(setting, name):
    def fit(texts, vectors, victim, embedder, seed):
        return lambda released: ["London and Paris"] * len(released)

    return AttackMethod("writer", "text", fit)


def test_every_attack_gets_its_line(setting, results, monkeypatch):
    monkeypatch.setattr(sparse_readers, "writer", _says_the_same)
    parts = _run(setting, results, "table2", "geia")
    (table,), (other,) = (parts[name]["tables"] for name in ("table2", "geia"))
    assert [row[0] for row in table["rows"]] == ["Vec2Text (practised)", "MLC (tokens)"]
    assert [row[0] for row in other["rows"]] == ["GEIA (language model)"]
    writer, classifier = table["rows"]
    read = [writer[1], writer[2], *writer[4:]]
    assert {cell["value"] for cell in read} == {writer[1]["value"]}  # it says the same of every release
    assert classifier[1]["value"] > classifier[2]["value"]
    printed = dict(zip(table["columns"][1:], (cell["printed"] for cell in writer[1:]), strict=True))
    assert printed["SPARSE, ε 10"] == pytest.approx(ATTACKS["Vec2Text"][6] / 100)
    assert "well enough: Vec2Text." in table["note"] and "SmolLM2" not in table["note"]
    assert "well enough: GEIA." in other["note"] and "SmolLM2" in other["note"]
    assert parts["geia"]["findings"][0]["same"] is None, "an attack that does not count decides nothing"
    assert parts["table2"]["findings"][0]["ours"].count(" of 1") == 1, "the classifier alone counts"


def test_notes_are_sentences_with_the_word(setting):
    notes = sparse_cases._notes(setting, Fake(dim=16), "age")
    assert len(notes.texts) > 20
    for text, terms in zip(notes.texts, notes.terms, strict=True):
        assert terms and all(term in text.lower() for term in terms)


def test_our_release_of_notes_takes_parts_that_nobody_labelled(setting):
    """The attacker practises on parts of notes, too: a concept that is labelled spans would refuse them."""
    notes = sparse_cases._notes(setting, Fake(dim=16), "age")
    protector = sparse_cases._defence(notes, "ours", 0.0, 6, 0).protector
    part = " ".join(notes.texts[0].split()[:-1])
    released = protector.embed([*notes.texts[:6], part])
    assert released.shape == (7, 16) and abs(released).sum() < 1e3
    assert all(protector.mentions(notes.texts)), "every word that is labelled is in its list"


def test_categories_come_from_the_catalog(setting, results):
    table = _run(setting, results, "table3")["table3"]["tables"][0]
    assert [row[0] for row in table["rows"]] == ["pii: sex", "medical: age"]
    assert all(row[1]["value"] > row[2]["value"] for row in table["rows"][:1])  # control above floor


def test_words_and_figures(setting, results, monkeypatch):
    monkeypatch.setattr(sparse_words, "RARE", 3)
    parts = _run(setting, results, "table5", "figures")
    first = parts["table5"]["tables"][0]["rows"][0]
    assert first[0].startswith("weekday (") and first[0][9:-1] in DAYS
    assert first[1]["value"] > 0.5  # the attacker names the clean target
    for name in ("sparse-figure2.svg", "sparse-figure3.svg"):
        ElementTree.fromstring((results / name).read_text(encoding="utf-8"))


def test_time_is_a_ratio(setting, results):
    rows = _run(setting, results, "table11")["table11"]["tables"][0]["rows"]
    assert rows[0][2]["value"] == pytest.approx(1.0)
    assert all(row[1]["value"] > 0 for row in rows)


def test_the_sentence_with_the_word_is_taken():
    text = "He came in. The asthma is stable now. Bye."
    found, start = sparse_cases._sentence_at(text, text.index("asthma"))
    assert found == "The asthma is stable now."
    assert text[start:].startswith(found)


def test_a_heat_map_shades_and_names():
    drawn = heat_map([[0.0, 2.0]], rows=["a<b"], columns=["1", "2"], title="shares")
    root = ElementTree.fromstring(drawn)
    shades = [node.get("fill-opacity") for node in root.iter() if node.get("fill-opacity")]
    assert shades == ["0.00", "1.00"]


def test_missing_data_is_said_in_one_line(tmp_path):
    with pytest.raises(InputError, match=r"reads retrieval_fiqa_mini, sts12, not found"):
        run_study(load_study("sparse"), Setting(tmp_path, quick=True), tmp_path, only=["table1"])


def test_terms_that_stand_in_few_texts_are_not_protected():
    texts = ["from Paris"] * 5 + ["from Oslo"] * 2 + ["to London"] * 6
    concept = sparse_data.listed_concept("entity", texts, sparse_data.ENTITIES, 5)
    assert set(concept.terms) == {"Paris", "London"}
    with pytest.raises(InputError, match="At least 2 terms"):
        sparse_data.listed_concept("entity", texts[:7], sparse_data.ENTITIES, 5)
