from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.artifacts import canonical_json
from sfumato.errors import ParameterError

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


def typed(value):
    """A form in which 1, 1.0 and True differ, and so do 0.0 and -0.0, and the order of keys does not."""
    if isinstance(value, dict):
        return "dict", frozenset((key, typed(item)) for key, item in value.items())
    if isinstance(value, list):
        return "list", tuple(typed(item) for item in value)
    return type(value).__name__, value.hex() if isinstance(value, float) else value


def encodable(value) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@given(values.filter(encodable), values.filter(encodable))
def test_canonical_json_is_injective_and_reversible(first, second):
    assert (canonical_json(first) == canonical_json(second)) == (typed(first) == typed(second))
    assert typed(json.loads(canonical_json(first))) == typed(first)


def test_canonical_json_is_frozen():
    value = {"b": [1, 1.0, True, None, -0.0, 1e16, 0.1, 5e-324], "a": "é😀\n", "c": (np.float64(0.1),)}
    expected = '{"a":"é😀\\n","b":[1,1.0,true,null,-0.0,1e+16,0.1,5e-324],"c":[0.1]}'
    assert canonical_json(value) == expected.encode()


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        {"a": [float("-inf")]},
        {1: "a"},
        {None: 1},
        {"a": b"bytes"},
        {"a": {1, 2}},
        np.float32(1),
        np.int64(1),
        np.array([1.0]),
        "\ud800",
        {"\ud83d\ude00": 1},
        Path("x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_canonical_json_refuses_what_has_no_single_spelling(value):
    with pytest.raises(ParameterError) as caught:
        canonical_json(value)
    assert "\n" not in str(caught.value)


def test_canonical_json_refuses_endless_nesting():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ParameterError):
        canonical_json(loop)
