"""Sticky noise keys are the documented HMACs, change with every setting, and show no text."""

from __future__ import annotations

import hashlib
import re
import traceback

import numpy as np
import pytest

from sfumato.accounting import Secret, Sticky
from sfumato.accounting.identity import canonical
from sfumato.errors import InputError, ParameterError, RandomnessError
from sfumato.mechanisms import Laplace, Mahalanobis
from sfumato.randomness import NOISE_VERSION

KEY = bytes(range(32))
TEXTS = ["", "Ada lives in Zürich.", "Ada lives in Basel.", "naïve " * 500, "\0", "😀"]


class Stub:
    def __init__(self, fingerprint: bytes = b"stub") -> None:
        self.value = fingerprint

    def fingerprint(self) -> bytes:
        return self.value


def sticky(key: bytes = KEY, **changes: str) -> Sticky:
    return Sticky(
        Secret(key), **{"model": "minilm@1", "tenant": "t", "collection": "c", "version": "v"} | changes
    )


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """HMAC written out from RFC 2104, so that the test shares no code with the library."""
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in block) + message).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in block) + inner).digest()


def fields(purpose: bytes) -> bytes:
    parts = [purpose, str(NOISE_VERSION).encode(), b"stub", b"384", b"minilm@1", b"t", b"c", b"v"]
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def test_keys_are_the_documented_hmacs():
    context = hmac_sha256(KEY, fields(b"sfumato sticky noise"))
    expected = [list(hmac_sha256(context, text.encode())) for text in TEXTS]
    assert sticky().keys(TEXTS, Stub(), 384)._keys.tolist() == expected


def test_the_stream_id_is_the_documented_hmac_after_the_key_id():
    stream = sticky().stream_id(Stub(), 384)
    assert stream == Secret(KEY).key_id + hmac_sha256(KEY, fields(b"sfumato stream id"))[:16].hex()
    assert re.fullmatch(r"[0-9a-f]{48}", stream)


def test_no_stream_id_is_part_of_a_key():
    """The id is stored in the open, so it must not be a row key or a context key, whatever the text."""
    stream = bytes.fromhex(sticky().stream_id(Stub(), 384))[8:]
    texts = [*TEXTS, "sfumato stream id", "sfumato sticky noise"]
    assert stream not in sticky().keys(texts, Stub(), 384)._keys.tobytes()


CHANGES = {
    "secret": (sticky(key=KEY[::-1]), Stub(), 384),
    "model": (sticky(model="minilm@2"), Stub(), 384),
    "tenant": (sticky(tenant="u"), Stub(), 384),
    "collection": (sticky(collection="d"), Stub(), 384),
    "version": (sticky(version="w"), Stub(), 384),
    "fingerprint": (sticky(), Stub(b"stub2"), 384),
    "dim": (sticky(), Stub(), 385),
    "moved letter": (sticky(tenant="tc", collection=""), Stub(), 384),
    "swapped": (sticky(tenant="c", collection="t"), Stub(), 384),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_setting_changes_every_key_and_the_stream(change):
    other, mechanism, dim = CHANGES[change]
    before, after = sticky().keys(TEXTS, Stub(), 384)._keys, other.keys(TEXTS, mechanism, dim)._keys
    assert not set(map(bytes, before)) & set(map(bytes, after))
    assert sticky().stream_id(Stub(), 384) != other.stream_id(mechanism, dim)


def test_real_parameters_change_every_key():
    variances = np.ones(8)
    bent = variances.copy()
    bent[3] = np.nextafter(1.0, 2.0)
    mechanisms = [Laplace(epsilon=10.0), Laplace(epsilon=10.000001), Laplace(epsilon=10.0, max_norm=2.0)]
    mechanisms += [Mahalanobis(epsilon=10.0, shape=shape) for shape in (variances, bent)]
    keys = {bytes(row) for mechanism in mechanisms for row in sticky().keys(TEXTS, mechanism, 8)._keys}
    assert len(keys) == len(mechanisms) * len(TEXTS)
    assert len({sticky().stream_id(mechanism, 8) for mechanism in mechanisms}) == len(mechanisms)


def test_canonically_equal_texts_share_a_key_and_others_do_not():
    forms = ["caf\u00e9", "cafe\u0301", "cafe", "Caf\u00e9", "caf\u00e9 ", "ﬁ", "fi"]
    rows = [bytes(row) for row in sticky().keys(forms, Stub(), 4)._keys]
    assert rows[0] == rows[1]
    assert len(set(rows)) == len(forms) - 1  # ligatures differ: NFC, not NFKC
    assert canonical(forms[1]) == forms[0]


def test_order_batch_and_neighbours_do_not_matter():
    whole = sticky().keys(TEXTS, Stub(), 4)._keys
    for row, text in enumerate(TEXTS):
        assert np.array_equal(sticky().keys([text], Stub(), 4)._keys[0], whole[row])
    assert np.array_equal(sticky().keys(tuple(reversed(TEXTS)), Stub(), 4)._keys, whole[::-1])
    assert len(sticky().keys([], Stub(), 4)) == 0


def test_a_release_is_sticky_end_to_end():
    mechanism, vectors = Laplace(epsilon=10.0), np.eye(6, 16)
    first = mechanism.privatize(vectors, rng=sticky().keys(TEXTS, mechanism, 16))
    again = mechanism.privatize(vectors[::-1], rng=sticky().keys(TEXTS[::-1], mechanism, 16))[::-1]
    other = mechanism.privatize(vectors, rng=sticky(tenant="u").keys(TEXTS, mechanism, 16))
    assert np.array_equal(first, again)
    assert not np.isclose(first, other).any(axis=1).all()
    assert len(np.unique(first - vectors, axis=0)) == len(TEXTS)


@pytest.mark.parametrize("wrong", [b"SECRETTEXT", None, 3, ["SECRETTEXT"], float("nan"), "SECRETTEXT\ud800"])
def test_bad_texts_are_named_by_row_and_never_shown(wrong, caplog):
    with pytest.raises(InputError, match=r"Row 1 of `texts`") as caught:
        sticky().keys(["fine", wrong], Stub(), 4)
    error = caught.value
    assert error.__context__ is None  # a UnicodeEncodeError would carry the text along
    assert "SECRETTEXT" not in str(error) + repr(error) and len(str(error).splitlines()) == 1
    assert "SECRETTEXT" not in "".join(traceback.format_exception(error))
    assert not caplog.records


@pytest.mark.parametrize("texts", ["one text", b"one text"])
def test_a_single_text_is_not_a_list_of_letters(texts):
    with pytest.raises(InputError, match="list of str"):
        sticky().keys(texts, Stub(), 4)


@pytest.mark.parametrize("dim", [0, -1, 1.0, True, "4", None])
def test_bad_dimensions_are_refused(dim):
    with pytest.raises(ParameterError, match="dim"):
        sticky().keys(TEXTS, Stub(), dim)


@pytest.mark.parametrize("name", ["model", "tenant", "collection", "version"])
@pytest.mark.parametrize("value", [None, b"x", 3, "\udc80"])
def test_bad_names_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        sticky(**{name: value})


def test_it_needs_a_secret_a_model_and_a_fingerprint():
    with pytest.raises(ParameterError, match="model"):
        sticky(model="")
    with pytest.raises(ParameterError, match="Secret"):
        Sticky(KEY, model="m")
    for bad in (b"", "text"):
        with pytest.raises(ParameterError, match="fingerprint"):
            sticky().keys(TEXTS, Stub(bad), 4)


def test_it_shows_no_key_and_cannot_travel():
    import pickle

    assert KEY.hex() not in repr(sticky()) and repr(KEY) not in repr(sticky())
    with pytest.raises(RandomnessError):
        pickle.dumps(sticky())
