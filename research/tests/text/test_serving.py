"""A tiny language model behind OpenAI's protocol: it answers as the model does, and refuses the rest."""

from __future__ import annotations

import http.client
import json
import urllib.request

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from sfumato.embedders.huggingface.models import quiet
from sfumato.text.chat import Chat
from sfumato_research.text.serving import ChatModel, serving

WORDS = "<pad> </s> <unk> oil price rose fell year city river doctor fever pain user system".split()
TEMPLATE = (
    "{% for one in messages %}{{ one['role'] }} {{ one['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}price {% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("chat")
    backend = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    made.chat_template = TEMPLATE
    made.save_pretrained(place)
    config = transformers.LlamaConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=256,
        pad_token_id=0, eos_token_id=1, bos_token_id=1, initializer_range=0.6,
    )  # fmt: skip
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(4)
        transformers.LlamaForCausalLM(config).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def model(folder):
    return ChatModel(str(folder), "cpu")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


ASKED = [{"role": "system", "content": "oil"}, {"role": "user", "content": "doctor fever rose"}]


def test_answers_are_the_model_s_own(folder, model):
    with quiet():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        weights = transformers.AutoModelForCausalLM.from_pretrained(folder)
    ids = tokenizer.apply_chat_template(
        ASKED, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]
    wanted = weights.generate(ids, max_new_tokens=6, do_sample=False, attention_mask=torch.ones_like(ids))
    found = model.answer(ASKED, most_tokens=6)
    assert found.text == tokenizer.decode(wanted[0, ids.shape[1] :], skip_special_tokens=True)
    assert found.read == ids.shape[1] and found.written <= 6 and found.text
    assert model.answer(ASKED, most_tokens=2).written == 2


def test_a_temperature_draws_by_the_seed(folder):
    drawn = [
        [ChatModel(str(folder), "cpu", seed=seed).answer(ASKED, 1.5, 12).text for _ in range(2)]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_server_speaks_the_protocol(model):
    with serving(model) as address:
        assert address.startswith("http://127.0.0.1:")
        said = Chat("m", base_url=address, temperature=0.0).ask("oil", "doctor fever rose", most_tokens=6)
        with urllib.request.urlopen(f"{address}/models") as answer:
            assert json.load(answer)["data"][0]["id"] == model.model
    assert said == model.answer(ASKED, most_tokens=6).text
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{address}/models")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("chat/completions", b"{", 400),
        ("chat/completions", b"[]", 400),
        ("chat/completions", b'{"messages": []}', 400),
        ("chat/completions", b'{"messages": [{"role": "user"}]}', 400),
        ("chat/completions", b"x" * ((1 << 20) + 1), 413),
        ("embeddings", b"{}", 404),
    ],
)
def test_what_is_no_request_is_refused(model, path, body, status):
    with serving(model) as address:
        line = http.client.HTTPConnection(address.split("/")[2], timeout=10)
        line.putrequest("POST", f"/v1/{path}")
        line.putheader("Content-Length", str(len(body)))
        line.endheaders()
        if status != 413:  # what is too long is refused before it is read
            line.send(body)
        answer = line.getresponse()
        assert answer.status == status and "message" in json.load(answer)["error"]
        line.close()
