"""The generator is ChaCha20 of RFC 8439, and every row has words of its own."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from sfumato.gpu.chacha import keystream, long_word, permute
from sfumato.gpu.coefficients import GAMMA, NORMALS
from sfumato.gpu.streams import Streams, open_streams
from sfumato.randomness import RowKeys, Source


def block(key: bytes, counter: int, nonce: bytes) -> bytes:
    words = struct.unpack("<4I8I", b"expand 32-byte k" + key) + (counter, *struct.unpack("<3I", nonce))
    state = torch.from_numpy(np.array(words, np.uint32).view(np.int32))[:, None]
    return permute(state)[:, 0].numpy().astype("<i4").tobytes()


# RFC 8439, section 2.3.2 and appendix A.1, test vectors 1 to 5.
KNOWN = [
    (
        bytes(range(32)),
        1,
        "000000090000004a00000000",
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    (
        bytes(32),
        0,
        "000000000000000000000000",
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        bytes(32),
        1,
        "000000000000000000000000",
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        bytes(31) + b"\x01",
        1,
        "000000000000000000000000",
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    (
        b"\x00\xff" + bytes(30),
        2,
        "000000000000000000000000",
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    (
        bytes(32),
        0,
        "000000000000000000000002",
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
]


@pytest.mark.parametrize(("key", "counter", "nonce", "expected"), KNOWN)
def test_known_answers(key, counter, nonce, expected):
    assert block(key, counter, bytes.fromhex(nonce)).hex() == expected


def test_keystream_equals_openssl():
    key = bytes(range(7, 39))
    keys = torch.from_numpy(np.frombuffer(key, "<i4").astype(np.int32))[None]
    first = 2**32 - 1
    words = keystream(Streams(keys, 3, False, first), GAMMA, 4).permute(1, 2, 0).contiguous()
    for row in range(3):
        # OpenSSL takes the block number and the three words of the nonce as one value of 16 bytes.
        start = struct.pack("<IQI", 0, first + row, GAMMA)
        expected = Cipher(algorithms.ChaCha20(key, start), None).encryptor().update(bytes(256))
        assert words[row].numpy().astype("<i4").tobytes() == expected


def test_long_words_are_little_endian():
    words = torch.tensor([-1, 2, 3, -4], dtype=torch.int32)[:, None]
    assert long_word(words, 0).item() == (2 << 32) + 0xFFFFFFFF
    assert long_word(words, 1).item() == (-4 << 32) + 3


def test_a_row_keeps_its_words_whatever_is_drawn_beside_it():
    whole = open_streams(Source(), 10, "cpu")
    words = keystream(whole, NORMALS, 2)
    assert torch.equal(keystream(whole.part(3, 7), NORMALS, 2), words[:, 3:7])
    keys = RowKeys(np.arange(96, dtype=np.uint8).reshape(3, 32))
    turned = RowKeys(np.arange(96, dtype=np.uint8).reshape(3, 32)[::-1].copy())
    words = keystream(open_streams(keys, 3, "cpu"), NORMALS, 2)
    assert torch.equal(keystream(open_streams(turned, 3, "cpu"), NORMALS, 2), words.flip(1))


def test_every_call_has_a_key_of_its_own_and_forgets_it():
    source = Source()
    first, second = open_streams(source, 5, "cpu"), open_streams(source, 5, "cpu")
    assert not torch.equal(first.keys, second.keys)
    assert "keys" not in repr(first)
    first.forget()
    assert not first.keys.any()
