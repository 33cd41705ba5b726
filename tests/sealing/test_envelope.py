"""A sealed record opens under its own key, in its own place, unchanged; nothing else opens."""

from __future__ import annotations

import hashlib
import hmac
import os
import random
from dataclasses import fields, replace

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.errors import ArtifactError, ParameterError
from sfumato.sealing.crypto.envelope import OVERHEAD, Bound, Envelope

KEY = bytes(range(32))
SALT = bytes(range(50, 82))
BOUND = Bound(
    tenant="acme",
    collection="notes",
    record_id="0f" * 16,
    kind="posting",
    encoder="minilm",
    epoch=3,
    version=7,
)
PLAIN = b"what is sealed" * 30


def by_hand(bound: Bound) -> bytes:
    def text(value: str) -> bytes:
        return len(value.encode()).to_bytes(4, "big") + value.encode()

    shared = bound.format.to_bytes(8, "big") + bound.epoch.to_bytes(8, "big")
    named = (bound.tenant, bound.collection, bound.encoder, bound.kind, bound.record_id)
    return shared + b"".join(map(text, named)) + bound.version.to_bytes(8, "big")


@pytest.mark.parametrize("salt", [None, SALT])
def test_a_record_is_what_plain_cryptography_makes_of_it(salt):
    sealed = Envelope(KEY).seal(PLAIN, BOUND, salt)
    chosen, commitment, text = sealed[1:25], sealed[25:57], sealed[57:]
    both = hmac.new(KEY, chosen + (salt or b""), hashlib.sha512).digest()
    assert sealed[0] == 1 and commitment == both[32:]
    assert AESGCM(both[:32]).decrypt(bytes(12), text, b"\1" + by_hand(BOUND)) == PLAIN
    assert len(sealed) == len(PLAIN) + OVERHEAD

    made = b"\1" + chosen + both[32:] + AESGCM(both[:32]).encrypt(bytes(12), PLAIN, b"\1" + by_hand(BOUND))
    assert made == sealed and Envelope(KEY).open(made, BOUND, salt) == PLAIN


def test_the_same_thing_sealed_twice_has_nothing_in_common():
    sealed = Envelope(KEY).seal_all([PLAIN] * 200, [BOUND] * 200)
    assert len({each[1:25] for each in sealed}) == len({each[25:57] for each in sealed}) == 200
    assert len({each[57:73] for each in sealed}) == 200


@pytest.mark.parametrize("plain", [b"", b"\0", os.urandom(452), bytes(1 << 20)])
def test_any_bytes_come_back(plain):
    envelope = Envelope(KEY)
    assert envelope.open(envelope.seal(plain, BOUND), BOUND) == plain
    assert envelope.open(envelope.seal(plain, BOUND, SALT), BOUND, SALT) == plain


def test_every_one_of_2000_bit_flips_is_refused():
    envelope = Envelope(KEY)
    sealed = envelope.seal(PLAIN[:200], BOUND)
    chosen = random.Random(5).sample(range(len(sealed) * 8), 2000)
    flipped = []
    for bit in chosen:
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        flipped.append(bytes(changed))
    opened = envelope.open_all([*flipped, sealed], [BOUND] * 2001)
    assert opened == [None] * 2000 + [PLAIN[:200]]


def test_cut_lengthened_and_empty_records_are_refused():
    envelope = Envelope(KEY)
    sealed = envelope.seal(PLAIN, BOUND)
    wrong = [sealed[:end] for end in range(len(sealed))] + [sealed + b"\0", sealed * 2]
    assert envelope.open_all(wrong, [BOUND] * len(wrong)) == [None] * len(wrong)


@pytest.mark.parametrize("field", [each.name for each in fields(Bound)])
def test_a_record_moved_to_any_other_place_is_refused(field):
    envelope = Envelope(KEY)
    value = getattr(BOUND, field)
    moved = replace(BOUND, **{field: value + 1 if isinstance(value, int) else value + "x"})
    sealed = envelope.seal(PLAIN, BOUND)
    with pytest.raises(ArtifactError, match="check the key"):
        envelope.open(sealed, moved)
    assert envelope.open(sealed, replace(moved, **{field: value})) == PLAIN


def test_no_two_places_are_written_alike():
    """Fields that run into one another, with lengths and numbers of other fields in them."""
    parts = ("", "a", "aa", "\0\0\0\1a", "a\0\0\0\1", "\ud800", "ä")
    bounds = [
        Bound(tenant=tenant, collection=collection, record_id=record, kind=kind, epoch=epoch)
        for tenant in parts
        for collection in parts
        for record in parts
        for kind in parts
        for epoch in (0, 1)
    ]
    assert len({each.encoded() for each in bounds}) == len(bounds)


@pytest.mark.parametrize("value", [-1, 1 << 64])
def test_numbers_out_of_range_are_refused(value):
    with pytest.raises(ParameterError, match="0 to 2"):
        replace(BOUND, version=value).encoded()


def test_two_keys_never_open_one_anothers():
    envelopes = [Envelope(os.urandom(32)) for _ in range(20)]
    for i, sealer in enumerate(envelopes):
        sealed = sealer.seal(PLAIN, BOUND)
        for j, opener in enumerate(envelopes):
            assert opener.open_all([sealed], [BOUND]) == [PLAIN if i == j else None]


@pytest.mark.parametrize("other", [None, SALT[::-1], SALT[:-1], SALT + b"\0"])
def test_a_salted_record_opens_with_its_own_salt_alone(other):
    envelope = Envelope(KEY)
    assert envelope.open_all([envelope.seal(PLAIN, BOUND, SALT)], [BOUND], [other]) == [None]
    assert envelope.open_all([envelope.seal(PLAIN, BOUND)], [BOUND], [SALT]) == [None]


@pytest.mark.parametrize("salt", [b"", b"short", bytes(65)])
def test_a_salt_that_hides_nothing_is_refused(salt):
    with pytest.raises(ParameterError, match="16 to 64"):
        Envelope(KEY).seal(PLAIN, BOUND, salt)


def _times(a: int, b: int) -> int:
    """Product in GCM's field, bits in its own order."""
    out = 0
    for i in range(127, -1, -1):
        if b >> i & 1:
            out ^= a
        a = a >> 1 ^ (0xE1 << 120 if a & 1 else 0)
    return out


def _power(a: int, exponent: int) -> int:
    out = 1 << 127
    while exponent:
        if exponent & 1:
            out = _times(out, a)
        a, exponent = _times(a, a), exponent >> 1
    return out


def _for_two_keys(first: bytes, second: bytes, associated: bytes) -> bytes:
    """A GCM text of one block, and its tag, that opens under both keys: solve the two tags' equations."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    def block(key: bytes, data: bytes) -> int:
        # ECB of one block is the bare cipher, which GCM is made of.
        return int.from_bytes(Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(data), "big")

    padded = associated + bytes(-len(associated) % 16)
    known = [int.from_bytes(padded[i : i + 16], "big") for i in range(0, len(padded), 16)]
    lengths = (len(associated) * 8) << 64 | 128
    rest, square = [], []
    for key in (first, second):
        h = block(key, bytes(16))
        tag = block(key, bytes(15) + b"\1") ^ _times(lengths, h)
        for place, each in enumerate(known):
            tag ^= _times(each, _power(h, len(known) + 2 - place))
        rest.append(tag)
        square.append(_times(h, h))
    # text * (h1^2 + h2^2) = rest1 + rest2; the inverse is the power 2^128 - 2.
    text = _times(rest[0] ^ rest[1], _power(square[0] ^ square[1], (1 << 128) - 2))
    return text.to_bytes(16, "big") + (rest[0] ^ _times(text, square[0])).to_bytes(16, "big")


def test_a_text_made_to_open_under_two_keys_opens_under_one_at_most():
    first, second = bytes([7] * 32), bytes([8] * 32)
    chosen, associated = bytes(24), b"\1" + BOUND.encoded()
    halves = [hmac.digest(key, chosen, "sha512") for key in (first, second)]
    text = _for_two_keys(halves[0][:32], halves[1][:32], associated)
    for half in halves:  # GCM alone is deceived
        assert len(AESGCM(half[:32]).decrypt(bytes(12), text, associated)) == 16
    for half, key in zip(halves, (first, second), strict=True):
        record = b"\1" + chosen + half[32:] + text
        opened = [Envelope(each).open_all([record], [BOUND])[0] for each in (first, second)]
        assert [each is not None for each in opened] == [each == key for each in (first, second)]


def test_bad_records_among_good_ones_stop_nothing():
    envelope = Envelope(KEY)
    plains = [b"%d" % i for i in range(50)]
    bounds = [replace(BOUND, record_id=str(i)) for i in range(50)]
    sealed = envelope.seal_all(plains, bounds)
    for bad, content in ((3, b""), (4, sealed[5]), (10, b"\2" + sealed[10][1:]), (49, sealed[49][:-1])):
        sealed[bad] = content
    opened = envelope.open_all(sealed, bounds)
    assert [i for i, each in enumerate(opened) if each is None] == [3, 4, 10, 49]
    assert all(each is None or each == plains[i] for i, each in enumerate(opened))


def test_lists_must_have_one_length():
    envelope = Envelope(KEY)
    for call in (envelope.seal_all, envelope.open_all):
        with pytest.raises(ValueError):
            call([PLAIN, PLAIN], [BOUND])
        with pytest.raises(ValueError):
            call([PLAIN, PLAIN], [BOUND, BOUND], [SALT])
        assert call([], []) == []


@pytest.mark.parametrize("key", [b"", KEY[:-1], "k" * 32, bytearray(KEY)])
def test_a_key_of_another_size_is_refused(key):
    with pytest.raises(ParameterError, match="exactly 32"):
        Envelope(key)
