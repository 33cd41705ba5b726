"""Frameworks write some of their own tests as coroutines: each is run in a loop of its own."""

from __future__ import annotations

import asyncio
import inspect

import pytest


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
