"""Every test of an adapter runs with the network cut off; a framework's own coroutines get a loop each."""

from __future__ import annotations

import asyncio
import inspect
import os

import pytest

from tests.offline import QUIET, loopback_only

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = QUIET["HAYSTACK_TELEMETRY_ENABLED"]  # read when it is imported


@pytest.fixture(scope="module", autouse=True)
def offline():
    with loopback_only() as tried:
        yield
    assert not tried


def pytest_configure(config):
    """Their marks, whose plugins are switched off."""
    for name in ("asyncio", "benchmark", "vcr"):
        config.addinivalue_line("markers", f"{name}: of a framework's own tests")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
