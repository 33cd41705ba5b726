"""What is begun next: the first that fits, and nothing that would keep an earlier one waiting."""

from __future__ import annotations

import pytest

from sfumato.randomness import generator
from sfumato_research.queue.fitting import QueueLimits, RunningClaim, next_job
from sfumato_research.queue.plan import QueuedJob

LIMITS = QueueLimits(10, 4)


def job(name, memory, cores=1, minutes=1.0, **more):
    return QueuedJob(name, ("true",), memory, cores, minutes, **more)


def held(*jobs_and_left):
    return [RunningClaim(each, 60 * left) for each, left in jobs_and_left]


@pytest.mark.parametrize(
    ("jobs", "fits"),
    [
        ([], True),
        ([job("a", 6), job("b", 4)], True),
        ([job("a", 6), job("b", 4.1)], False),
        ([job("a", 0.1)] * 3 + [job("b", 9.7)], True),
        ([job("a", 0, cores=2), job("b", 0, cores=3)], False),
        ([job("a", 1, exclusive=True), job("b", 1)], False),
        ([job("a", 1, exclusive=True), job("b", 1, exclusive=True)], False),
        ([job("a", 1, exclusive=True), job("b", 0), job("c", 0)], True),
        ([job("a", 1), job("b", 0, exclusive=True)], False),
    ],
)
def test_limits_are_of_all_jobs_together(jobs, fits):
    assert LIMITS.hold(jobs) is fits and LIMITS.hold(jobs[::-1]) is fits


def test_the_first_that_fits_is_begun():
    first, second = job("first", 5), job("second", 5)
    assert next_job([first, second], [], LIMITS) is first
    assert next_job([second], held((first, 1)), LIMITS) is second
    assert next_job([], [], LIMITS) is None
    assert next_job([job("third", 1)], held((first, 1), (second, 1)), LIMITS) is None


def test_a_later_job_goes_before_one_that_waits_if_it_is_over_by_then():
    running, large = held((job("running", 6), 2)), job("large", 8)
    short, long = job("short", 4, minutes=2), job("long", 4, minutes=2.1)
    assert next_job([large, short], running, LIMITS) is short
    assert next_job([large, long], running, LIMITS) is None
    assert next_job([large, long, short], running, LIMITS) is short
    late = held((job("running", 6), 0))
    assert next_job([large, short], late, LIMITS) is None, "it may end at any time"


def test_or_if_there_is_room_for_both():
    running = held((job("running", 6), 2), (job("other", 1), 50))
    large = job("large", 7)
    assert next_job([large, job("long", 2, minutes=99)], running, LIMITS).name == "long"
    assert next_job([large, job("long", 3, minutes=99)], running, LIMITS) is None
    alone = job("alone", 1, exclusive=True)
    assert next_job([alone, job("gpu", 1, minutes=99)], running, LIMITS) is None
    assert next_job([alone, job("cores", 0, minutes=99)], running, LIMITS).name == "cores"


@pytest.mark.parametrize("seed", range(20))
def test_no_job_is_kept_waiting_by_a_later_one(seed):
    """With estimates that hold, the first that waits begins when it would if nothing were behind it."""
    rng = generator(seed)
    jobs = [
        job(
            str(number),
            float(rng.integers(0, 11)),
            int(rng.integers(1, 5)),
            float(rng.integers(1, 20)),
            exclusive=bool(rng.random() < 0.15),
        )
        for number in range(25)
    ]
    known, ends, now, promised = {each.name: each for each in jobs}, {}, 0.0, {}
    waiting = list(jobs)
    while waiting or ends:
        while waiting:
            running = [known[name] for name in ends]
            if waiting[0].name not in promised and not LIMITS.hold([*running, waiting[0]]):
                promised[waiting[0].name] = soonest(waiting[0], known, ends)
            chosen = next_job(waiting, [RunningClaim(known[name], ends[name] - now) for name in ends], LIMITS)
            if chosen is None:
                break
            waiting.remove(chosen)
            ends[chosen.name] = now + 60 * chosen.minutes
            assert LIMITS.hold([known[name] for name in ends])
            assert now <= promised.get(chosen.name, now)
        now = min(ends.values())
        ends = {name: end for name, end in ends.items() if end > now}
    assert promised


def soonest(wanted, known, ends):
    return next(
        last
        for last in sorted(ends.values())
        if LIMITS.hold([wanted, *(known[name] for name, end in ends.items() if end > last)])
    )
