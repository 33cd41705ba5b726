"""The parts of the memory by themselves: bounds, a store that fails, lines that are too long."""

from __future__ import annotations

import io

import pytest

from sfumato.adapters.memory import memories as kept
from sfumato.adapters.memory.asked import LONGEST_TEXT, MOST_AT_ONCE, TOOLS, asked_texts
from sfumato.adapters.memory.memories import SealedMemories
from sfumato.embedders import Fake
from sfumato.errors import InputError, StoreError
from sfumato.sealing import SealedStore, SealingKey
from sfumato.stores import open_store

SECRET = "Ambrosius-4711"


@pytest.fixture
def opened(tmp_path):
    """What opens the collection, and how often it did."""
    key, times = SealingKey.open(tmp_path / "key"), []

    def opening():
        times.append(len(times))
        store = open_store(f"memory:{tmp_path}/db")
        return SealedStore(store, key=key, folder=tmp_path / "state", embedder=Fake(dim=32))

    opening.times = times
    return opening


def test_a_schema_says_what_is_checked():
    items = TOOLS["remember"].schema["properties"]["texts"]
    assert (items["maxItems"], items["items"]["maxLength"]) == (MOST_AT_ONCE, LONGEST_TEXT)
    assert all(tool.schema["additionalProperties"] is False for tool in TOOLS.values())
    with pytest.raises(InputError, match="surrogate") as caught:
        asked_texts({"texts": [SECRET + "\ud800"]})
    assert SECRET not in str(caught.value) and caught.value.__context__ is None


def test_a_memory_is_bounded(opened, monkeypatch):
    monkeypatch.setattr(kept, "MOST_MEMORIES", 3)
    memory = SealedMemories(opened)
    memory.remember(["one", "two"])
    with pytest.raises(InputError, match="at most 3 texts. Found 2 and 2 new ones"):
        memory.remember(["three", "four"])
    memory.remember(["three"])
    assert memory.prepare() == 3
    memory.close()


def test_a_store_that_failed_is_opened_again(opened):
    memory = SealedMemories(opened)
    memory.remember(["one"])
    inner = memory._sealed

    def fails(*_):
        raise StoreError("The store is away.")

    inner.store.get = fails
    with pytest.raises(StoreError):
        memory.search("one", 1)
    assert memory.search("one", 1)["memories"][0]["text"] == "one"
    assert len(opened.times) == 2
    memory.close()


class Speaking:
    """A server beside its log."""

    def __init__(self, opened):
        pytest.importorskip("mcp")
        from sfumato.adapters.memory.serving import MemoryServer

        self.log = []
        self.memory = SealedMemories(opened)
        self.server = MemoryServer(self.memory, self.log.append, greet=print)

    def __call__(self, name, **given):
        answer = self.server.answer(name, given)
        return answer.is_error, answer.content[0].text


@pytest.mark.parametrize("error", [StoreError("db.example.org is away."), ValueError(SECRET)])
def test_what_goes_wrong_inside_is_told_to_nobody_but_the_log(opened, monkeypatch, error):
    speaking = Speaking(opened)

    def fails(*_):
        raise error

    monkeypatch.setattr(SealedStore, "add", fails)
    wrong, line = speaking("remember", texts=[SECRET])
    assert wrong and "example" not in line and SECRET not in line and "log says more" in line
    (said,) = speaking.log
    assert SECRET not in said and ("db.example.org" in said) == isinstance(error, StoreError)
    monkeypatch.undo()
    assert speaking("remember", texts=[SECRET])[0] is False
    speaking.server.close()


def test_calls_that_wait_are_bounded(opened):
    import anyio

    speaking, answers = Speaking(opened), []
    from mcp_types import CallToolRequestParams

    from sfumato.adapters.memory.serving import MOST_WAITING

    async def one():
        asked = CallToolRequestParams(name="search", arguments={"query": "x"})
        answers.append(await speaking.server._call(None, asked))

    async def many():
        with speaking.memory._turn:
            async with anyio.create_task_group() as tasks:
                for _ in range(MOST_WAITING + 3):
                    tasks.start_soon(one)
                while len(answers) < 3:
                    await anyio.sleep(0.01)
                assert all(
                    each.is_error and "Send this one later" in each.content[0].text for each in answers
                )
                speaking.memory._turn.release()
                while len(answers) < MOST_WAITING + 3:
                    await anyio.sleep(0.01)
                speaking.memory._turn.acquire()

    anyio.run(many)
    assert sum(each.is_error for each in answers) == 3
    speaking.server.close()


def test_lines_are_bounded():
    pytest.importorskip("anyio")
    from sfumato.adapters.memory.lines import BoundedLines

    passed = []
    lines = BoundedLines(
        io.BytesIO(b"1234567\n12345678\n" + b"x" * 100 + b"\nlast"), lambda: passed.append(1), longest=8
    )
    assert [lines.next_line() for _ in range(5)] == ["1234567\n", "\n", "\n", "last", None]
    assert len(passed) == 2
