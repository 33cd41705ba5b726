"""The parts under the gateway: merging, turns, requests, tokens, answers."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting import Ledger, Secret
from sfumato.embedders import Fake
from sfumato.embedders.wordllama import WordLlama
from sfumato.errors import BudgetError, InputError, place_of
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.release import shortened
from sfumato.server.http.answers import written
from sfumato.server.http.logs import JsonLines
from sfumato.server.http.problems import Problem, problem_of
from sfumato.server.http.requests import EmbeddingRequest, read_request
from sfumato.server.settings import GatewaySettings
from sfumato.server.tenancy.tokens import Tokens
from sfumato.server.turns.engine import Reply
from sfumato.server.turns.merging import SHARE, MergingEmbedder
from sfumato.server.turns.queue import Turns
from sfumato.server.turns.releasing import Releaser
from sfumato.server.turns.shares import ROOMY, Shares
from sfumato.server.turns.work import Work

SETTINGS = GatewaySettings(protector=Path("x"), max_batch=50, max_characters=1000)


class Recording(Fake):
    """Notes what it is asked for, takes its time, and refuses one text."""

    def __init__(self):
        super().__init__(dim=16)
        self.calls, self.inside, self.most = [], 0, 0

    def embed(self, texts, *, on_batch=None):
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.calls.append(list(texts))
        time.sleep(0.005)
        self.inside -= 1
        if "refuse" in texts:
            raise InputError("Row 0 is refused.")
        return super().embed(texts)


def standing():
    """Shares whose clock stands still, so that a step that is held never counts as a long one."""
    return Shares(clock=lambda: 0.0)


def run_all(jobs, held=None, waiting=0):
    """Run jobs in threads of their own; `held` is kept busy until so many of them wait for it."""
    found = [None] * len(jobs)
    merging = isinstance(held, MergingEmbedder)
    if merging:
        step = held.shares.enter("another", lambda: False)
    elif held is not None:
        held._busy = True

    def work(number):
        try:
            found[number] = jobs[number]()
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(jobs))]
    for each in threads:
        each.start()
    if held is not None:
        while len(held._waiting) < waiting:
            time.sleep(0.001)
        if merging:
            held.shares.leave(step)
        else:
            with held._free:
                held._busy = False
                held._free.notify_all()
    for each in threads:
        each.join()
    return found


def test_merged_requests_get_their_own_vectors_and_the_encoder_is_never_called_twice_at_once():
    slow, plain = Recording(), Fake(dim=16)
    merged = MergingEmbedder(slow, standing())
    texts = [[f"{row} of {number}" for row in range(number % 7)] for number in range(60)]
    found = run_all([lambda t=t: merged.embed(t) for t in texts], merged, sum(map(bool, texts)))
    for wanted, got in zip(texts, found, strict=True):
        assert got.tobytes() == plain.embed(wanted).tobytes() and got.shape == (len(wanted), 16)
    assert slow.most == 1 and len(slow.calls) < 60
    assert max(map(len, slow.calls)) <= ROOMY.texts


def test_one_refused_text_fails_its_own_request_alone():
    merged = MergingEmbedder(Recording(), standing())
    jobs = [["refuse"] if number == 3 else [f"fine {number}"] for number in range(12)]
    found = run_all([lambda t=t: merged.embed(t) for t in jobs], merged, len(jobs))
    assert isinstance(found[3], InputError)
    assert all(isinstance(each, np.ndarray) for number, each in enumerate(found) if number != 3)
    assert merged.embed(["after"]).shape == (1, 16)


def test_a_huge_request_does_not_hold_up_a_small_one():
    slow = Recording()
    merged = MergingEmbedder(slow)
    huge = threading.Thread(target=merged.embed, args=([f"h{number}" for number in range(3000)],))
    huge.start()
    while not slow.calls:
        time.sleep(0.001)
    merged.embed(["small"])
    seen = len(slow.calls)
    huge.join()
    assert seen < len(slow.calls) and SHARE < ROOMY.texts


@pytest.fixture
def counted(tmp_path):
    """A sticky protector whose ledger lets a query through twice."""
    secret = Secret.generate()
    mechanism = Laplace(epsilon=10.0)
    ledger = Ledger(tmp_path / "ledger", secret=secret, ceiling=20.0)
    return Protector(mechanism, Fake(dim=16), secret=secret, ledger=ledger)


def releasing(protector, texts, role="document", *, stopped=False):
    releaser, ready = Releaser(protector), [protector.prepare(each) for each in texts]
    work = Work("anybody")
    if stopped:
        work.stop.set()
    jobs = [lambda t=t, r=r: releaser.release(t, r, role, work) for t, r in zip(texts, ready, strict=True)]
    return run_all(jobs, releaser, len(texts))


def test_requests_that_share_a_write_get_what_they_would_get_alone(counted):
    texts = [[f"{row} of {number}" for row in range(1 + number % 4)] for number in range(24)]
    got = releasing(counted, texts)
    alone = replace(counted, ledger=None)
    for wanted, found in zip(texts, got, strict=True):
        assert found.tobytes() == alone.embed(wanted).tobytes()
    summary = counted.ledger.summary()
    assert summary["accounts"][0]["accounts"] == sum(map(len, texts))
    assert summary["spends"][0]["calls"] == 1


def test_a_refused_request_costs_its_neighbours_nothing(counted):
    for _ in range(2):
        counted.embed(["often"], role="query")
    found = releasing(counted, [["often", "new"] if n == 5 else [f"query {n}"] for n in range(10)], "query")
    assert isinstance(found[5], BudgetError)
    assert all(each.shape == (1, 16) for number, each in enumerate(found) if number != 5)
    assert counted.spent("new").releases == 0
    assert {counted.spent(f"query {n}").releases for n in range(10) if n != 5} == {1}


def test_what_nobody_waits_for_is_not_charged(counted):
    found = releasing(counted, [["gone"], ["gone too"]], stopped=True)
    assert all(isinstance(each, Problem) for each in found) and counted.ledger.total() == {}


def test_turns_go_round_the_tenants():
    async def play():
        turns, order = Turns(1, 100), []
        await turns.take("first")

        async def one(tenant):
            await turns.take(tenant)
            order.append(tenant)
            turns.give_back(tenant)

        waiting = [asyncio.ensure_future(one(name)) for name in ["greedy"] * 5 + ["modest"]]
        await asyncio.sleep(0)
        gone = asyncio.ensure_future(one("gone"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        assert turns.waiting == 6
        turns.give_back("first")
        await asyncio.gather(*waiting)
        await turns.take("again")
        return order, turns.waiting

    order, left = asyncio.run(play())
    assert order.index("modest") == 1 and order.count("greedy") == 5 and left == 0


def test_a_full_queue_is_503():
    async def play():
        turns = Turns(1, 0)
        await turns.take("a")
        with pytest.raises(Problem) as caught:
            await turns.take("b")
        return caught.value

    problem = asyncio.run(play())
    assert problem.status == 503 and problem.headers["Retry-After"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["input", "model", "encoding_format", "dimensions", "input_type", "user"]), VALUES
    )
    | VALUES
)
def test_any_json_is_read_or_refused_and_never_repeated(body):
    raw = json.dumps(body).encode()
    try:
        found = read_request(raw, SETTINGS, None, 8)
    except Problem as problem:
        assert problem.status == 400 and "\n" not in problem.message
        strings = [body] if isinstance(body, str) else []
        assert not [text for text in strings if len(text) > 3 and text in problem.message]
    else:
        assert all(isinstance(text, str) for text in found.texts) and found.texts


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw):
    try:
        read_request(raw, SETTINGS, None, 8)
    except Problem as problem:
        assert problem.status == 400


def test_tokens_come_back_as_text_or_not_at_all():
    tokens = Tokens.of(WordLlama())
    text = "The patient came back on Monday."
    own = tokens._tokenizer.encode(text, add_special_tokens=False).ids
    assert tokens.decode(own) == text and tokens.count([text, text]) == 2 * len(own)
    assert tokens.decode([10**9]) is None and tokens.decode([-1]) is None
    # Two halves of one token are another spelling, which this tokenizer would never write.
    split = [tokens._tokenizer.token_to_id(piece) for piece in ("▁", "t", "h", "e")]
    assert None not in split and tokens.decode(split) is None
    assert Tokens.of(Fake(dim=8)) is None
    found = read_request(json.dumps({"input": [own, own]}).encode(), SETTINGS, tokens, 8)
    assert found.texts == [text, text]
    with pytest.raises(Problem, match="tokenizer"):
        read_request(json.dumps({"input": split}).encode(), SETTINGS, tokens, 8)


@pytest.mark.parametrize("encoding", ["float", "base64"])
@pytest.mark.parametrize("count", [1, 64, 65, 200])
def test_an_answer_in_pieces_is_one_json_document(encoding, count):
    vectors = np.random.Generator(np.random.PCG64(0)).normal(size=(count, 5)).astype(np.float32)
    released = Reply(EmbeddingRequest(["x"] * count, encoding), vectors, 7)
    answer = json.loads(b"".join(written(released, 'a"b')))
    assert [each["index"] for each in answer["data"]] == list(range(count)) and answer["model"] == 'a"b'
    if encoding == "float":
        assert (
            np.array([each["embedding"] for each in answer["data"]], np.float32).tobytes()
            == vectors.tobytes()
        )


def test_shortening_keeps_unit_length():
    kept = shortened(np.array([[3.0, 4.0, 12.0], [0.0, 0.0, 1.0]], np.float32), 2)
    assert np.allclose(kept, [[0.6, 0.8], [0, 0]])


def test_an_unknown_error_says_nothing_and_its_place_holds_no_value():
    secret = "a private text"
    try:
        raise KeyError(secret)
    except KeyError as error:
        assert secret not in str(problem_of(error).body()) and problem_of(error).status == 500
        assert secret not in place_of(error) and "test_parts.py" in place_of(error)


def test_a_foreign_librarys_log_line_is_cut_to_its_pattern():
    import logging

    record = logging.LogRecord("uvicorn.error", logging.ERROR, "f", 1, "bad %s", ("a private text",), None)
    assert json.loads(JsonLines().format(record))["event"] == "bad %s"
