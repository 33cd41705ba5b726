"""Every test of an adapter runs with the network cut off."""

from __future__ import annotations

import pytest

from tests.offline import loopback_only


@pytest.fixture(scope="module", autouse=True)
def offline():
    with loopback_only() as tried:
        yield
    assert not tried
