"""Luck: in CI what the operating system draws follows from the test's name, elsewhere it is fresh."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys

from conftest import IN_CI, _following_from


def test_bytes_follow_from_the_name_and_the_number_of_the_call():
    first, again, other = (_following_from(name) for name in ("a", "a", "b"))
    assert [first(32), first(32)] == [again(32), again(32)]
    assert len({first(32), first(32), other(32)}) == 3
    assert len(first(5)) == 5


def test_a_forked_child_draws_its_own():
    drawn = _following_from("a")
    inner, outer = os.pipe()
    child = os.fork()
    if not child:
        os.write(outer, drawn(32))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(inner, 32) != drawn(32)
    os.close(inner)
    os.close(outer)


def test_every_road_to_random_bytes_is_covered_in_ci_and_none_elsewhere(request):
    calls = [secrets.token_bytes(16), secrets.token_hex(16), secrets.randbits(128), os.urandom(16)]
    drawn = _following_from(request.node.nodeid)
    first = [drawn(16) for _ in range(50)]
    met = [calls[0] in first, bytes.fromhex(calls[1]) in first, calls[3] in first]
    met.append(calls[2].to_bytes(16, "big") in first)
    assert met == [IN_CI] * 4


def test_a_program_that_is_started_draws_fresh_bytes():
    line = [sys.executable, "-c", "import os; print(os.urandom(16).hex())"]
    assert subprocess.check_output(line) != subprocess.check_output(line)
