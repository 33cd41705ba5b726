"""Every test of an adapter runs with the network cut off."""

from __future__ import annotations

import os

import pytest

from tests.offline import QUIET, loopback_only

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = QUIET["HAYSTACK_TELEMETRY_ENABLED"]  # read when it is imported


@pytest.fixture(scope="module", autouse=True)
def offline():
    with loopback_only() as tried:
        yield
    assert not tried
