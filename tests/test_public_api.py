"""The names at the root are listed, sorted and really there."""

from __future__ import annotations

import pytest

import sfumato


def test_every_listed_name_is_there_and_no_other():
    assert sfumato.__all__ == sorted(sfumato.__all__, key=lambda name: (not name[0].isupper(), name))
    assert dir(sfumato) == sorted(sfumato.__all__)
    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
    assert len(sfumato.__all__) <= 16
    with pytest.raises(AttributeError, match="no attribute 'protekt'"):
        _ = sfumato.protekt
