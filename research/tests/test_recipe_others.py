"""The recipe for readers of other encoders: the same vectors, a start that loses nothing, the rules."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato_research.sentences import ordinary_sentences

RECIPE = Path(__file__).parents[2] / "weights" / "recipe"
SMALL = Sizes(32, 40, longest=6, width=64, layers=2, heads=2, pairs=1, positions=3, word_width=64)


@pytest.fixture
def recipe(monkeypatch):
    monkeypatch.syspath_prepend(str(RECIPE))
    return importlib.import_module


def units(count: int, dim: int, seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(count, dim, generator=random), dim=1)


def filled(network: Network) -> Network:
    for name, weight in network.named_parameters():
        if weight.abs().max() == 0:  # what starts at nought would hide a mistake
            torch.nn.init.normal_(network.get_parameter(name), std=0.05)
    return network.eval()


@pytest.mark.parametrize("dim", [32, 48])
def test_a_reader_begins_as_the_shipped_one_behind_the_map(recipe, dim):
    others = recipe("others")
    torch.manual_seed(0)
    shipped, network = filled(Network(SMALL)), filled(Network(replace(SMALL, dim=dim)))
    theirs = units(400, 32, 1)
    turned = torch.linalg.qr(torch.randn(dim, dim, generator=torch.Generator().manual_seed(2)))[0][:, :32]
    mine = theirs @ turned.T  # the same vectors, turned into more dimensions
    found, offset = others.translation(mine, theirs, strength=1e-9)
    assert torch.allclose(mine @ found.T + offset, theirs, atol=1e-4)
    others.begun(network, shipped, found, torch.zeros(32))
    text, tokens, told = torch.randint(4, 40, (9, 5)), torch.randint(4, 40, (9, 7)), torch.zeros(9)
    with torch.no_grad():
        one = shipped(theirs[:9], text, told, theirs[9:18], tokens)
        other = network(mine[:9], text, told, mine[9:18], tokens)
        assert torch.allclose(one, other, atol=2e-3)
        others.begun(network, shipped, found.roll(1, 1), torch.zeros(32))
        assert not torch.allclose(one, network(mine[:9], text, told, mine[9:18], tokens), atol=2e-2)


def test_the_map_is_a_ridge_regression_with_an_offset(recipe):
    mine, map_, moved = units(900, 8, 0), units(5, 8, 1), torch.arange(5.0)
    found, offset = recipe("others").translation(mine, mine @ map_.T + moved, strength=1e-9)
    assert torch.allclose(found, map_, atol=1e-4) and torch.allclose(offset, moved, atol=1e-4)


def test_on_a_processor_minilms_vectors_are_made_once_for_every_encoder(recipe, tmp_path, monkeypatch):
    others = recipe("others")
    recipe("prepare").write_encoder(tmp_path)
    tokens = torch.from_numpy(Wordpieces.minilm().encode(ordinary_sentences(9, seed=3), 30).astype(np.int64))
    options = SimpleNamespace(minilm=tmp_path, cache=tmp_path, texts=9, test=2)
    made, rows = SimpleNamespace(device="cpu", options=options, tokens=tokens), torch.tensor([7, 0, 3])
    first = others.Other._theirs(made, rows)
    with_all_digits = others.Encoder(tmp_path, "cpu")(tokens[rows])
    assert (first * with_all_digits).sum(1).min() > 0.9995, "bfloat16 where the processor is faster so"
    monkeypatch.setattr(others.Encoder, "__call__", lambda *given: pytest.fail("they are there"))
    assert torch.equal(others.Other._theirs(made, rows), first)


def test_its_vectors_are_those_of_the_packages_embedder(recipe, tmp_path):
    encoders = recipe("other_encoders")
    recipe("prepare").write_encoder(tmp_path)
    texts = [*ordinary_sentences(12, seed=2), "Dr. Weiß paid 3.50 in Zürich.", "no"]
    for name in ("minilm", "wordllama"):
        found = encoders.encoder_of(name, "cpu", tmp_path)
        assert encoders.likeness(found, name, texts) > 0.9999
        rows = encoders.many(found, texts, rows=5)
        assert torch.allclose(rows.norm(dim=1), torch.ones(len(texts)), atol=1e-3)
        assert torch.allclose(rows[[0]], encoders.many(found, texts[:1]), atol=1e-3), (
            "in the order of the texts"
        )
    other = encoders.encoder_of("wordllama", "cpu", tmp_path)
    assert encoders.likeness(lambda texts: other([text[::-1] for text in texts]), "wordllama", texts) < 0.9


def test_texts_are_sentences_parts_and_joined_ones(recipe):
    other_texts, pieces = recipe("other_texts"), Wordpieces.minilm()
    whole = list(dict.fromkeys(ordinary_sentences(60, seed=3)))
    made = other_texts.varied(whole, 200)
    assert made[: len(whole)] == whole and 150 < len(made) <= 200 and len(set(made)) == len(made)
    assert other_texts.varied(whole, 200) == made
    extra = made[len(whole) :]
    parts = [text for text in extra if any(text in sentence for sentence in whole)]
    assert 0.2 * len(extra) < len(parts) < 0.9 * len(extra)
    fits = other_texts.fitting([*made, "word " * 40, "a"], pieces)
    assert "word " * 40 not in fits and "a" not in fits and set(fits) <= set(made)


def test_sizes_follow_the_device_and_what_is_asked_for(recipe, monkeypatch):
    others, heard = recipe("others"), []
    made = SimpleNamespace(train=lambda: None, read=lambda: None)
    monkeypatch.setattr(others, "Other", lambda found: heard.append(found) or made)
    folders = [part for name in ("data", "minilm", "cache", "out") for part in (f"--{name}", "x")]
    for device, more in (("cpu", []), ("cuda", []), ("cpu", ["--test", "7", "--correct", "2"])):
        command = ["others.py", "--encoder", "minilm", *folders, "--device", device, *more]
        monkeypatch.setattr("sys.argv", command)
        others.main()
    cpu, gpu, asked = (vars(found) for found in heard)
    assert all(cpu[name] == size for name, size in others.SIZES["cpu"].items())
    assert all(gpu[name] == size for name, size in others.SIZES["cuda"].items())
    assert (asked["test"], asked["correct"]) == (7, 2), "what is asked for counts, also where it differs"
    assert asked["batch"] == cpu["batch"]


def planted(folder: Path, pieces: Wordpieces) -> list[str]:
    texts = list(dict.fromkeys(ordinary_sentences(40, seed=6)))[:20]
    rows = pieces.encode(texts, 32).astype(np.int32)
    test = {"test": [("own", text) for text in texts], "documents 64": [("own", text) for text in texts]}
    np.savez(folder / "test.npz", test=rows, **{"documents 64": rows}, begins=np.ones(30522, bool))
    (folder / "test.json").write_text(json.dumps(test))
    return texts


def found_rows(pieces: Wordpieces, readings: dict[str, list[str]]) -> dict[str, np.ndarray]:
    rows = {}
    for name, texts in readings.items():
        rows[f"{name}|tokens"] = pieces.encode(texts, 32).astype(np.int16)
        rows[f"{name}|cosine"] = np.full(len(texts), 0.5, np.float32)
        rows[f"{name}|cost"] = np.array([1.0, 2.0])
    return rows


def test_scores_follow_the_protocols_rules(recipe, tmp_path, monkeypatch):
    score, pieces = recipe("score_more"), Wordpieces.minilm()
    texts = planted(tmp_path, pieces)
    wrong = ["it was the other one."] * len(texts)
    most = [*wrong[:3], *texts[3:]]
    names = (score.STEPS, score.ONE, f"documents 64, {score.ONE}", f"documents 64, {score.STEPS}")
    np.savez(tmp_path / "long.npz", **found_rows(pieces, dict.fromkeys(names, most)))
    np.savez(
        tmp_path / "shipped.npz", **found_rows(pieces, dict.fromkeys(names[:3], texts) | {names[3]: wrong})
    )
    (tmp_path / "others").mkdir()
    rows = {"constant text": wrong, "another text": [*texts[1:], texts[0]], score.ONE: most}
    np.savez(tmp_path / "others" / "use-lite.npz", **found_rows(pieces, rows))
    log = (
        {"encoder": "use-lite", "spent": 9.0},
        {"encoder": "use-lite", "spent": 90.4, "pairs": 4321, "over": True},
    )
    (tmp_path / "others" / "log.jsonl").write_text("\n".join(map(json.dumps, log)))
    study = tmp_path / "study.json"
    study.write_text(json.dumps({"study": "reader", "parts": {"reader": {"kept": True}}}))
    given = {
        "study": study,
        "data": tmp_path,
        "long": tmp_path / "long.npz",
        "shipped": tmp_path / "shipped.npz",
    }
    words = [part for name, path in given.items() for part in (f"--{name}", str(path))]
    monkeypatch.setattr("sys.argv", ["score_more.py", *words, "--others", str(tmp_path / "others")])
    score.main()
    parts = json.loads(study.read_text())["parts"]
    assert list(parts) == ["reader", "long", "encoders"] and parts["reader"] == {"kept": True}
    said = {finding["claim"]: finding for finding in parts["long"]["findings"]}
    lost = said[f"at 32 wordpieces the long weights read as well ({score.STEPS})"]
    assert lost["same"] is False and "-15.0" in lost["ours"], "three of twenty are lost"
    assert (
        said[f"64 wordpieces, {score.STEPS}: the long weights read more than the shipped ones"]["same"]
        is True
    )
    assert (
        said[f"64 wordpieces, {score.ONE}: the long weights read more than the shipped ones"]["same"] is False
    )
    (first,) = parts["encoders"]["findings"]
    assert first["claim"] == "vectors of use-lite are read" and first["same"] is True
    table = parts["encoders"]["tables"][0]["rows"]
    assert [row[:2] for row in table[-3:]] == [["use-lite", name] for name in rows]
    assert table[-1][6]["value"] == pytest.approx(85.0)
    assert "(use-lite 90 s, 4,321 texts)" in parts["encoders"]["tables"][0]["note"]
    assert parts["encoders"]["setting"]["device"] == "cuda", "unless it says otherwise"
    (tmp_path / "others" / "use-lite.npz").rename(tmp_path / "others" / "smollm2.npz")
    (tmp_path / "others" / "log.jsonl").unlink()
    score.main()
    joined = json.loads(study.read_text())["parts"]["encoders"]
    assert [row[:2] for row in joined["tables"][0]["rows"] if row[0] == "use-lite"] == [
        ["use-lite", name] for name in rows
    ], "a reader without a file keeps its rows"
    assert [each["claim"].split()[2] for each in joined["findings"]] == ["use-lite", "smollm2"]
    assert joined["findings"][0] == first and "(use-lite 90 s, 4,321 texts)" in joined["tables"][0]["note"]
    score.main()
    assert json.loads(study.read_text())["parts"]["encoders"]["tables"] == joined["tables"], "once each"
    titles = [table["title"] for table in parts["long"]["tables"]]
    assert titles[1] == "Documents of sources never trained on, by wordpieces"
    assert [row[:3] for row in parts["long"]["tables"][1]["rows"]][0] == [64, "long", score.ONE]


def test_a_row_that_was_not_read_again_is_taken_from_the_study(recipe):
    score = recipe("score_more")
    row = [1000, {"value": 421.0}, *({"value": 50.0, "low": 47.0, "high": 53.0} for _ in range(4))]
    study = {"parts": {"reader": {"tables": [{"rows": [[score.STEPS, *row]]}]}}}
    assert score.shipped_rows(study) == {score.STEPS: row}
    long = {"exact": 45.0, "intervals": {"exact": (41.0, 49.0)}}
    value, interval = score.unpaired(long, row)
    assert value == -5.0 and interval == pytest.approx((-10.0, 0.0))  # half widths of 3 and 4: 5
    assert score.shipped_rows({"parts": {}}) == {}


@pytest.mark.parametrize(
    ("difference", "kept"),
    [
        ((-1.9, (-3.9, 0.1)), True),
        ((-2.1, (-3.0, -1.0)), False),
        ((-1.0, (-4.1, 2.0)), False),
        ((3.0, (1.0, 5.0)), True),
    ],
)
def test_the_long_weights_take_the_place_by_the_rule(recipe, difference, kept):
    assert recipe("score_more").replaces(difference) is kept
