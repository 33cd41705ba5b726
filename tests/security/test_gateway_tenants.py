"""One tenant does not stop another: places, turns, shares of the processor, and work that ends in time."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from sfumato.server.http.budget import MOST_WAITING, Budget
from sfumato.server.http.problems import Problem
from sfumato.server.tenancy.keys import new_key
from sfumato.server.turns.merging import MergingEmbedder
from sfumato.server.turns.queue import Turns
from sfumato.server.turns.shares import ACTIVE, ASKED, CREDIT, PATIENCE, ROOMY, SHARED, TIGHT, Shares
from sfumato.server.turns.work import Work
from tests.contracts.embedder_cases import serving
from tests.security.clients import ROME, connect, request
from tests.server.running import gateway, save_fake
from tests.server.test_limits import save_upstream_protector, slowly
from tests.server.test_parts import Recording

HUGE = [
    " ".join(f"{word:07x}" for word in range(start, start + 12_000)) for start in range(0, 1_800_000, 12_000)
]
"""Under every limit, and minutes of work."""


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def running_now(running, key):
    text = running.ask("GET", "/metrics", key=key)[2]
    return float(text.partition("\nsfumato_requests_running ")[2].split()[0])


def wait_until_idle(running, key, seconds=30.0):
    """Seconds until no request is worked on."""
    begun = time.monotonic()
    while running_now(running, key):
        assert time.monotonic() - begun < seconds, "work goes on that nobody waits for"
        time.sleep(0.1)
    return time.monotonic() - begun


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def keys(folder):
    path = folder / "keys.json"
    return path, {name: new_key(path, name) for name in ("good", "hostile")}


def test_work_ends_when_its_client_is_gone(folder, keys, record_property):
    # Much time, so that the request is taken on: what would not be done in time is refused at once.
    options = ("--keys", str(keys[0]), "--timeout", "600", "--no-console")
    with gateway(folder / "run", save_fake(folder / "plain"), *options) as running:
        assert running.embed(["warm"], keys[1]["good"])[0] == 200
        for _ in range(4):  # clients that die
            with connect(running) as connection:
                connection.sendall(request(HUGE, keys[1]["hostile"]))
                time.sleep(0.2)
        record_property("seconds", wait_until_idle(running, keys[1]["good"]))
        before = processor_seconds(running.process.pid)
        time.sleep(2.0)
        assert processor_seconds(running.process.pid) - before < 1.0
        assert running.embed(["good"], keys[1]["good"])[0] == 200


def test_a_tenant_that_fills_the_queue_gives_another_no_503(folder, keys):
    with serving() as upstream:
        protector = save_upstream_protector(folder / "upstream")
        options = ("--upstream", upstream.url, "--upstream-model", "m", "--keys", str(keys[0]))
        limits = ("--threads", "2", "--max-waiting", "8", "--no-console")
        with gateway(folder / "queue", protector, *options, *limits) as running:
            assert running.embed(["warm"], keys[1]["hostile"])[0] == 200
            upstream.behaviours[:] = [slowly(0.5)] * 40
            hostile, good = [], []
            flood = [
                threading.Thread(
                    target=lambda n=n: hostile.append(running.embed([f"h{n}"], keys[1]["hostile"])[0])
                )
                for n in range(24)
            ]
            for each in flood:
                each.start()
            time.sleep(0.5)
            polite = [
                threading.Thread(target=lambda n=n: good.append(running.embed([f"g{n}"], keys[1]["good"])[0]))
                for n in range(4)
            ]
            for each in polite:
                each.start()
            for each in flood + polite:
                each.join()
            assert good == [200] * 4
            assert hostile.count(503) >= 10 and set(hostile) == {200, 503}


def test_a_flood_of_terms_and_huge_batches_stops_nobody(folder, keys, record_property):
    options = ("--keys", str(keys[0]), "--timeout", "20", "--no-console")
    with gateway(folder / "flood", save_fake(folder / "flooded"), *options) as running:
        stop = threading.Event()

        def flood(texts):
            while not stop.is_set():
                running.embed(texts, keys[1]["hostile"])

        kinds = [[ROME], [ROME] * 8, HUGE[:20], [f"small {n}" for n in range(2048)]] * 3
        threads = [threading.Thread(target=flood, args=(kind,)) for kind in kinds]
        for each in threads:
            each.start()
        try:
            time.sleep(1.0)
            waits, statuses = [], []
            for number in range(10):
                begun = time.perf_counter()
                statuses.append(running.embed([f"good {number}"] * 4, keys[1]["good"])[0])
                waits.append(time.perf_counter() - begun)
        finally:
            stop.set()
            for each in threads:
                each.join()
        record_property("longest", round(max(waits), 2))
        assert statuses == [200] * 10


def test_turns_a_tenant_without_a_request_under_way_has_a_place_of_its_own():
    async def play():
        turns = Turns(2, 4, spare=2)
        for _ in range(2):
            await turns.take("hostile")
        waiting = [asyncio.ensure_future(turns.take("hostile")) for _ in range(4)]
        await asyncio.sleep(0)
        await asyncio.wait_for(turns.take("good"), 1)
        assert turns.waiting == 4 and not any(each.done() for each in waiting)
        second = asyncio.ensure_future(turns.take("good"))  # the queue is full: the longest one gives way
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert isinstance(waiting[-1].exception(), Problem) and turns.waiting == 4
        with pytest.raises(Problem):
            await turns.take("hostile")
        for tenant in ("hostile", "hostile", "good"):
            turns.give_back(tenant)
        await asyncio.wait_for(asyncio.gather(second, *waiting[:1]), 5)
        for each in waiting[1:3]:
            each.cancel()

    asyncio.run(play())


class Clock:
    """A clock that is moved by hand."""

    now = 1000.0

    def __call__(self):
        return self.now


def never():
    return False


def test_shares_whoever_used_least_goes_first_and_a_long_step_blocks_nobody_lighter():
    clock = Clock()
    shares = Shares(clock)
    assert shares.bound("hostile") == ROOMY
    step = shares.enter("hostile", never)
    assert shares.bound("good") == SHARED
    order, steps = [], {}

    def wait(name):
        steps[name] = shares.enter(name.partition(" ")[0], never)
        order.append(name)

    threads = [threading.Thread(target=wait, args=(name,)) for name in ("hostile again", "good")]
    threads[0].start()
    while len(shares._waiting) < 1:
        time.sleep(0.001)
    threads[1].start()
    while len(shares._waiting) < 2:
        time.sleep(0.001)
    time.sleep(2 * PATIENCE)
    assert order == []
    clock.now += 2 * PATIENCE  # the step is long now: who used less goes on beside it, its own tenant waits
    threads[1].join()
    assert order == ["good"]
    shares.leave(step)
    time.sleep(2 * PATIENCE)
    assert order == ["good"]
    shares.leave(steps["good"])
    threads[0].join()
    shares.leave(steps["hostile again"])
    assert shares.enter("gone", lambda: True) is None
    assert shares.bound("hostile") == TIGHT and shares.bound("good") == SHARED
    clock.now += ACTIVE + 1
    assert shares.bound("good") == ROOMY


def use(shares, clock, tenant, seconds):
    step = shares.enter(tenant, never)
    clock.now += seconds
    shares.leave(step)


def test_what_was_used_while_nobody_else_was_there_is_no_debt():
    clock = Clock()
    shares = Shares(clock)
    for _ in range(50):
        use(shares, clock, "good", 1.0)
    use(shares, clock, "hostile", 0.01)
    # Without this rule the newcomer would go first for the fifty seconds it has not had.
    assert shares._used["good"] - shares._used["hostile"] <= CREDIT
    use(shares, clock, "hostile", CREDIT)
    assert shares.bound("hostile") == TIGHT and shares.bound("good") == SHARED


def test_nobody_saves_up_turns_by_staying_away():
    clock = Clock()
    shares = Shares(clock)
    use(shares, clock, "hostile", 1.0)
    for _ in range(50):
        use(shares, clock, "good", 1.0)
    clock.now += 3600.0
    use(shares, clock, "hostile", 0.0)
    assert shares._used["good"] - shares._used["hostile"] <= CREDIT
    assert len(shares._used) <= 2  # and a tenant that is long gone is forgotten
    use(shares, clock, "third", 3.0)
    use(shares, clock, "third", 3.0)
    assert set(shares._used) == {"third"}


def test_who_asks_for_little_goes_before_who_floods_but_not_for_ever():
    clock = Clock()
    shares = Shares(clock)
    held = shares.enter("hostile", never)
    order = []

    def wait(name):
        step = shares.enter(name, never)
        order.append(name)
        clock.now += PATIENCE
        shares.leave(step)

    flood = [threading.Thread(target=wait, args=("hostile",)) for _ in range(10)]
    for each in flood:
        each.start()
    while len(shares._waiting) < 10:
        time.sleep(0.001)
    # More than the other has used, less than the other has used and asks for.
    shares._used["good"] = shares._used["hostile"] + ASKED * 5
    late = threading.Thread(target=wait, args=("good",))
    late.start()
    while len(shares._waiting) < 11:
        time.sleep(0.001)
    shares.leave(held)
    for each in (*flood, late):
        each.join(10)
    assert order.index("good") == 0
    use(shares, clock, "good", ASKED * 20)  # used, not asked for: now it is the heavy one
    assert shares.bound("good") == TIGHT and shares.bound("hostile") == SHARED


def test_texts_of_two_tenants_are_embedded_in_fair_rounds_and_not_for_nobody():
    slow = Recording()
    merged = MergingEmbedder(slow)
    hostile = Work("hostile", merged.shares)
    huge = [f"h{number}" * 200 for number in range(400)]
    threads = [
        threading.Thread(target=lambda: pytest.raises(Problem, merged.embed, huge, on_batch=hostile))
        for _ in range(4)
    ]
    for each in threads:
        each.start()
    while not slow.calls:
        time.sleep(0.001)
    seen = []
    for number in range(5):
        before = len(slow.calls)
        merged.embed([f"good {number}"], on_batch=Work("good", merged.shares))
        seen.append(len(slow.calls) - before)
    assert max(seen) <= 4  # rounds between asking and having, out of more than a thousand
    hostile.stop.set()
    for each in threads:
        each.join(5)
    rounds = len(slow.calls)
    time.sleep(0.2)
    assert len(slow.calls) == rounds < 1000 and not merged._waiting


def test_the_budget_of_bytes_is_shared_and_bounded():
    async def play():
        budget = Budget(100, 40)
        await budget.take("a", 40)
        second = asyncio.ensure_future(budget.take("a", 10))
        await asyncio.sleep(0)
        await budget.take("b", 40)  # nobody waits behind another tenant
        assert not second.done()
        full = asyncio.ensure_future(budget.take("c", 30))
        await asyncio.sleep(0)
        assert not full.done()
        budget.give_back("a", 40)
        await asyncio.gather(second, full)
        waiting = [asyncio.ensure_future(budget.take("b", 40)) for _ in range(MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Problem):
            await budget.take("b", 1)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for tenant, size in (("a", 10), ("b", 40), ("c", 30)):
            budget.give_back(tenant, size)
        assert not budget._held and not budget._waiting

    asyncio.run(play())
