"""What the studies of SPARSE and DPPN share: cells that are kept, runs, passages, entities found by NER."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from sfumato.attacks.huggingface.prefix import PrefixModel
from sfumato.embedders.huggingface import gguf, models
from sfumato.errors import InputError
from sfumato.metrics import Hits
from sfumato.metrics.excess import measure_leakage
from sfumato.metrics.utility import compare_means
from sfumato.randomness import generator
from sfumato_research.dppn.ahead import GROUPS
from sfumato_research.dppn.printed import CLEAN, TRADE_OFF
from sfumato_research.sparse import entities
from sfumato_research.sparse.geia import QUICK, SIZES, NarrowLoss, _nearest, public_sentences
from sfumato_research.sparse.passages import (
    clinical_sentences,
    distinct,
    passages,
    searched_passages,
)
from sfumato_research.sparse.printed import TRADE_OFF as SPARSE_TRADE_OFF
from sfumato_research.sparse.readers import _sized, levels_read, reads_clean, says_nothing, tuned_sizes
from sfumato_research.sparse.short_model import first_blocks
from sfumato_research.studies.base import Cell, Setting, StudyOutcome
from sfumato_research.studies.comparison import _runs
from sfumato_research.studies.kept import KeptCells, by_cells
from sfumato_research.studies.measured import Measured


def _hits(shares):
    return Hits(np.array(shares, np.float64), np.ones(len(shares)))


@pytest.fixture
def found():
    rows = generator(0).random((4, 60)) < np.array([[0.8], [0.2], [0.1], [0.5]])
    control, floor, prior, released = (_hits(row.astype(float)) for row in rows)
    leakage = measure_leakage(control=control, floor=floor, released=released, prior=prior, attack="tokens")
    use = compare_means("search", np.ones(20), np.full(20, 0.5))
    return Measured("laplace", leakage, Cell(0.4, 0.3, 0.5), use, 1.2, float("inf"), (0.5, 0.6, 0.4))


def test_a_measured_cell_comes_back_as_it_was_written(found, tmp_path):
    cells = KeptCells(tmp_path / "cells")
    asked = []

    def make():
        asked.append(1)
        return found

    first, second = (cells.measured("laplace@1.2, unaware", make) for _ in range(2))
    assert first == second == found
    assert len(asked) == 1
    assert KeptCells(tmp_path / "cells").measured("laplace@1.2, unaware", make) == found
    assert len(asked) == 1, "another process finds it, too"
    assert cells.measured("laplace@1.3", make) == found and len(asked) == 2


def test_without_a_folder_cells_live_as_long_as_the_object(found):
    cells, asked = KeptCells(), []
    for _ in range(2):
        cells.measured("one", lambda: asked.append(1) or found)
    assert len(asked) == 1
    KeptCells().measured("one", lambda: asked.append(1) or found)
    assert len(asked) == 2


def test_a_part_says_what_its_cells_took(tmp_path):
    path = tmp_path / "cells"
    KeptCells(path).value("slow", lambda: 1)
    kept = json.loads((path / "slow.json").read_text())
    (path / "slow.json").write_text(json.dumps({**kept, "seconds": 120.0}))

    @by_cells
    def part(setting):
        KeptCells(path).value("slow", lambda: 2)
        return StudyOutcome()

    assert part(Setting(tmp_path)).took.startswith("2.0 minutes of measuring")
    assert by_cells(lambda setting: StudyOutcome())(Setting(tmp_path)).took == ""


def test_a_run_is_an_attacker_with_a_release_of_its_own():
    # three attackers, three releases each: attacker 0 reads 1 of 10 of his first release, and so on
    rates = [[0.1, 0.9, 0.9], [0.9, 0.2, 0.9], [0.9, 0.9, 0.3]]
    hits = [
        _hits([1.0] * round(10 * rate) + [0.0] * (10 - round(10 * rate))) for row in rates for rate in row
    ]
    assert _runs(hits, 3) == pytest.approx((0.1, 0.2, 0.3))
    assert _runs(hits[:2], 2) == pytest.approx((0.1, 0.9))
    several = Measured("", None, Cell(None), None, 0.0, 0.0, (0.1, 0.2, 0.3))
    assert several.spread().value == pytest.approx(0.1)
    assert replace(several, runs=(0.1,)).spread().value is None


def test_passages_are_whole_sentences_as_long_as_they_fit():
    text = "One two three. Four five. Six seven eight nine ten eleven twelve."
    assert passages(text, 5) == ["One two three. Four five.", "Six seven eight nine ten", "eleven twelve."]
    assert passages("", 5) == []
    pieces = distinct([["a", "b"], ["b", "c"]])
    assert (pieces.texts, pieces.groups) == (["a", "b", "c"], [0, 0, 1])


def _write(path, rows):
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as handle:
        handle.write("\n".join(rows) + "\n")


def test_a_search_looks_for_every_passage_of_its_document(tmp_path):
    folder = tmp_path / "set"
    long = " ".join(f"word{n}" for n in range(60)) + "."
    _write(
        folder / "corpus.jsonl.gz",
        [json.dumps({"_id": k, "text": t}) for k, t in (("a", long), ("b", "Short."))],
    )
    _write(folder / "queries.jsonl.gz", [json.dumps({"_id": "q", "text": "which words"})])
    _write(folder / "qrels.tsv.gz", ["query-id\tcorpus-id\tscore\tsplit", "q\ta\t1\ttest"])
    pieces, queries, answers = searched_passages(tmp_path, "set")
    assert queries == ["which words"]
    assert [pieces.texts[row].split()[0] for row in answers[0]] == ["word0", "word25", "word50"]
    assert len({pieces.groups[row] for row in answers[0]}) == 1
    assert len(pieces.texts) == 5 and len(set(pieces.groups)) == 3


def test_sentences_of_a_note_belong_together(tmp_path):
    notes = ["The man slept in bed. He was seen on a cold day. No.", "A woman came in with a cough."]
    _write(tmp_path / "pii_medical_notes" / "notes.jsonl.gz", [json.dumps({"text": note}) for note in notes])
    found = clinical_sentences(tmp_path, ["pii_medical_notes"])
    assert len(found.texts) == 3 and found.groups == [0, 0, 1]
    assert clinical_sentences(tmp_path, ["pii_medical_notes"], most=2).groups == [0, 0], "whole notes only"


def test_entities_count_where_ner_tags_them(tmp_path):
    texts = [f"May Smith met guest {n} in Paris" for n in range(6)] + [
        "It may rain in Rome",
        "Paris, they said",
    ]
    places = {text: text.find("Paris") for text in texts[:6]}
    found = {
        entities.digest(text): [(0, 9, "person"), (at, at + 5, "location")] for text, at in places.items()
    }
    found[entities.digest(texts[6])] = [(15, 19, "location")]
    concept = entities.entity_concept(texts, found, 5)
    assert concept.terms == ("may smith", "paris"), "Rome stands in one text alone"
    assert concept.terms_in(texts[0]) == ["may smith", "paris"]
    assert concept.terms_in(texts[7]) == [], "NER saw no place there"
    assert concept.terms_in("a new text about Paris") == ["paris"], "texts made by an attacker are searched"
    path = tmp_path / "entities" / "set.jsonl.gz"
    entities.write_entities(found, path)
    assert entities.read_entities(path) == found
    assert entities.entities_of("set", texts, tmp_path) == found
    with pytest.raises(InputError, match="At least 2 entities"):
        entities.entity_concept(texts, found, 7)


def test_public_sentences_are_unlike_attacked_texts(tmp_path):
    rows = [f"made\tthe dog number {n} runs over green fields at night" for n in range(50)]
    rows.append("made\ta cat sat on the old mat in London")
    _write(tmp_path / "sentences" / "sentences.tsv.gz", ["source\ttext", *rows])
    attacked = ["A cat sat on the mat in London."]
    assert _nearest(["a cat sat on the old mat in london", "dogs"], attacked) == pytest.approx([8 / 9, 0.0])
    drawn = public_sentences(tmp_path, 60, attacked, 0)
    assert len(drawn) == 50 and not any("cat" in text for text in drawn)


def test_the_first_blocks_are_a_language_model_of_their_own(tmp_path, monkeypatch):
    import torch
    import transformers

    sizes = dict(vocab_size=40, hidden_size=16, intermediate_size=32, num_attention_heads=2)

    def tiny(file, layers):
        config = transformers.LlamaConfig(num_hidden_layers=layers, num_key_value_heads=1, **sizes)
        made = transformers.LlamaModel(config)
        made.norm = torch.nn.Identity()
        return made.requires_grad_(False)

    class Tokenizer:
        def save_pretrained(self, folder):
            pass

    local = models.Local("smollm2", tmp_path, "model.gguf")
    monkeypatch.setattr(models, "find_model", lambda name: local)
    monkeypatch.setattr(models, "load_tokenizer", lambda local: Tokenizer())
    monkeypatch.setattr(gguf, "first_layers", tiny)
    folder = first_blocks(tmp_path / "cut", 3)
    network = transformers.LlamaForCausalLM.from_pretrained(folder)
    assert len(network.model.layers) == 3
    assert network.get_output_embeddings().weight is network.get_input_embeddings().weight
    assert isinstance(network.model.norm, type(network.model.layers[0].input_layernorm))
    assert all(weight.requires_grad for weight in network.parameters())
    assert first_blocks(folder, 2) == folder, "what is there stays"
    assert len(transformers.LlamaForCausalLM.from_pretrained(folder).model.layers) == 3


def test_an_attack_counts_only_above_prior_and_floor(found):
    assert reads_clean(found)
    above = replace(found, leakage=replace(found.leakage, prior=0.75))
    assert not reads_clean(above), "the prior lies within the control's interval"
    assert not reads_clean(replace(found, leakage=replace(found.leakage, floor=found.leakage.control - 0.05)))


def test_a_narrow_loss_is_the_whole_one_where_every_piece_stands_in_the_texts():
    config = transformers.LlamaConfig(
        vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=32, tie_word_embeddings=True,
    )  # fmt: skip
    torch.manual_seed(0)
    network = PrefixModel(transformers.LlamaForCausalLM(config), 8, 2)
    vectors, tokens = torch.randn(2, 8), torch.tensor([[3, 5, 7, 1], [9, 1, -100, -100]])
    whole = network(vectors, tokens)
    every, few = NarrowLoss(network, [range(40)]), NarrowLoss(network, [[3, 5, 7, 1], [9, 1]])
    assert torch.allclose(every(vectors, tokens), whole, atol=1e-5)
    few(vectors, tokens).backward()
    assert few(vectors, tokens) < whole, "fewer pieces to choose from"
    assert network.base.get_input_embeddings().weight.grad is None, "word vectors stay"
    assert all(weight.grad is not None for weight in network.project.parameters())


def test_the_language_model_learns_what_its_device_carries_and_cells_say_so(tmp_path):
    full, quick = Setting(tmp_path, device="cpu"), Setting(tmp_path, quick=True)
    assert tuned_sizes(full) == SIZES["cpu"] and tuned_sizes(quick) == QUICK
    assert _sized(full, "GEIA") != _sized(quick, "GEIA"), "a cell of another size is another cell"
    assert _sized(full, "GEIA").startswith("GEIA ") and _sized(full, "Vec2Text") == "Vec2Text"


def test_releases_are_read_where_a_language_model_without_a_gpu_reads_clean_vectors(found, tmp_path):
    blind = replace(found, leakage=replace(found.leakage, prior=0.75))
    full, quick = Setting(tmp_path, device="cpu"), Setting(tmp_path, quick=True)
    assert says_nothing(full, "GEIA", blind) and not says_nothing(full, "GEIA", found)
    assert not says_nothing(full, "Vec2Text", blind), "what is read on a GPU has its row"
    assert not says_nothing(quick, "GEIA", blind)
    assert levels_read(full, ("GEIA",), (5, 10)) == (10,) and levels_read(full, ("Vec2Text",), (5, 10)) == (
        5,
        10,
    )


def test_both_papers_print_the_same_noise_under_two_names():
    for name, printed in TRADE_OFF.items():
        for epsilon, cells in printed.items():
            other = SPARSE_TRADE_OFF[name]
            assert cells[:2] == other.leakage[5 * epsilon][:2]
            assert cells[3:5] == other.confidence[5 * epsilon][:2]
            assert cells[6:8] == other.utility[5 * epsilon][:2]
        assert CLEAN[name] == SPARSE_TRADE_OFF[name].clean


def test_groups_have_the_names_that_runs_ask_for():
    assert list(GROUPS)[:3] == ["prepare", "sts12", "fiqa"]
    assert {"fiqa-ner", "encoder-wordllama", "set-quora", "sparse-medical-age", "GEIA", "notes"} <= set(
        GROUPS
    )
