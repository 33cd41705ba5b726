"""Rules for every test: in CI no silent skips and no luck; public data only where the caller says it is."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import settings

IN_CI = os.environ.get("SFUMATO_CI") == "1"

# Shared machines stall for longer than any honest deadline; in CI the same examples run every time.
settings.register_profile("sfumato", deadline=None, derandomize=IN_CI, print_blob=True)
settings.load_profile("sfumato")


def _public_data() -> Path | None:
    folder = os.environ.get("SFUMATO_DATA")
    return Path(folder) if folder else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of public data sets named by SFUMATO_DATA."""
    folder = _public_data()
    if folder is None or not folder.is_dir():
        pytest.skip("SFUMATO_DATA does not name a folder")
    return folder


@pytest.fixture
def memory_path() -> Generator[Path, None, None]:
    """A folder in memory where there is one: thousands of small writes wait for a disk, for nothing."""
    from tests.stores.servers import quick_folder

    with quick_folder() as folder:
        yield folder


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs the public data sets when nobody said where they are."""
    if _public_data() is not None:
        return
    left_out = [item for item in items if _needs_data(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not _needs_data(item)]


def _needs_data(item: pytest.Item) -> bool:
    return item.get_closest_marker("data") is not None or "data_dir" in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """In CI the operating system's random bytes follow from the test's name: what passed once passes again.

    Everywhere else they are fresh, so that tests of samplers see new draws all the time.
    """
    if not IN_CI:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        drawn = _following_from(item.nodeid)
        for module, name in ((os, "urandom"), (random, "_urandom")):  # all of `secrets` stands on the second
            patch.setattr(module, name, drawn)
        return (yield)


def _following_from(name: str) -> Callable[[int], bytes]:
    """Bytes by number of the call; a forked child's are its own."""
    calls, here = itertools.count(), os.getpid()

    def drawn(size: int, /) -> bytes:
        child = 0 if os.getpid() == here else os.getpid()
        return hashlib.shake_256(f"{name} {child} {next(calls)}".encode()).digest(size)

    return drawn


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failed one: something it needs is missing."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a file that skips itself whole."""
    report = yield
    if IN_CI and report.skipped:
        _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"Skipped, which CI does not allow: {reason.removeprefix('Skipped: ')}"
