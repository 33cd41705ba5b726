"""What tests of several parts share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def few_steps() -> Iterator[None]:
    """Fewer and larger steps an epoch for the token classifier, whose time is the number of its steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.attacks.terms.perceptron.SMALLEST_STEPS", 16)
        yield
