"""Randomness: published answers, no repeats across threads, forks and processes, and a key that stays put."""

from __future__ import annotations

import copy
import hashlib
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest

from sfumato import randomness
from sfumato.errors import ParameterError, RandomnessError
from sfumato.mechanisms import Laplace
from sfumato.randomness import InsecureSeedWarning, RowKeys, Source, StreamDraws
from sfumato.workspace import Workspace
from tests.contracts.mechanism_cases import unit_vectors


def keystream(cipher: str, key: bytes, stream: int, size: int) -> bytes:
    draws = StreamDraws(cipher, key, stream, 1, Workspace())
    return draws.words(size // 8).astype("<u8").tobytes()


def test_aes_known_answer_from_nist():
    # SP 800-38A, F.5.5 (CTR-AES256): counter block f0f1..ff; keystream = ciphertext xor plaintext.
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172a")
    cipher = bytes.fromhex("601ec313775789a5b7a7f504bbf3d228")
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(bytes(range(0xF0, 0x100)))
    assert bytes(a ^ b for a, b in zip(block, plain, strict=True)) == cipher
    # Ours: the same block function over stream number and block number.
    for stream in (0, 1, 2**63 + 5):
        blocks = b"".join(stream.to_bytes(8, "big") + index.to_bytes(8, "big") for index in range(4))
        wanted = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(blocks)
        assert keystream("aes-256-ctr", key, stream, 64) == wanted


def test_chacha20_known_answer():
    # RFC 8439, A.1, test vector 1: all-zero key and nonce, block 0.
    wanted = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    assert keystream("chacha20", bytes(32), 0, 32).hex() == wanted
    assert keystream("chacha20", bytes(32), 1, 32).hex() != wanted


@pytest.mark.parametrize("cipher", ["aes-256-ctr", "chacha20"])
def test_same_bits_as_the_openssl_command(cipher):
    key = hashlib.sha256(cipher.encode()).digest()
    iv = {"aes-256-ctr": (9).to_bytes(8, "big") + bytes(8), "chacha20": bytes(8) + (9).to_bytes(8, "little")}[
        cipher
    ]
    try:
        done = subprocess.run(
            ["openssl", "enc", f"-{cipher}", "-K", key.hex(), "-iv", iv.hex(), "-nopad"],
            input=bytes(4096),
            capture_output=True,
            check=True,
        )
    except FileNotFoundError:
        pytest.skip("the openssl command is not installed (make system)")
    assert keystream(cipher, key, 9, 4096) == done.stdout


def test_cipher_follows_the_processor(monkeypatch, tmp_path):
    def fake_cpuinfo(text):
        (tmp_path / "cpuinfo").write_text(text)
        real = randomness.Path
        monkeypatch.setattr(randomness, "Path", lambda name: real(tmp_path / "cpuinfo"))
        monkeypatch.setattr(randomness.platform, "system", lambda: "Linux")
        return randomness.hardware_cipher.__wrapped__()

    assert fake_cpuinfo("flags\t: fpu sse2 aes avx\n") == "aes-256-ctr"
    assert fake_cpuinfo("Features\t: fp asimd aes pmull\n") == "aes-256-ctr"
    assert fake_cpuinfo("flags\t: fpu sse2 vaes_not\n") == "chacha20"


def test_both_ciphers_serve_a_release(monkeypatch):
    vectors = unit_vectors(20, 16)
    for cipher in ("aes-256-ctr", "chacha20"):
        monkeypatch.setattr(randomness, "hardware_cipher", lambda cipher=cipher: cipher)
        source = Source()
        assert source.cipher == cipher
        one, two = (Laplace(epsilon=10.0).privatize(vectors, source) for _ in range(2))
        assert not np.array_equal(one, two)


def test_seed_is_loud_recorded_and_repeatable():
    with pytest.warns(InsecureSeedWarning, match="protects nobody"):
        source = Source.seeded(3)
    assert source.seed == 3 and Source().seed is None
    for bad in (-1, 1.5, "1", True, None):
        with pytest.raises(ParameterError):
            Source.seeded(bad)


def test_rng_argument():
    vectors = unit_vectors(3, 4)
    mechanism = Laplace(epsilon=5.0)
    with pytest.warns(InsecureSeedWarning):
        one = mechanism.privatize(vectors, randomness.generator(1))
    with pytest.warns(InsecureSeedWarning):
        assert np.array_equal(one, mechanism.privatize(vectors, randomness.generator(1)))
    for bad in ("secure", 1.5, object(), True):
        with pytest.raises(ParameterError):
            mechanism.privatize(vectors, bad)
    with pytest.raises(ParameterError, match="one key per row"):
        mechanism.privatize(vectors, RowKeys(np.zeros((2, 32), np.uint8)))
    with pytest.raises(ParameterError):
        RowKeys(np.zeros((2, 16), np.uint8))


GOLDEN = [0.7095947265625, -0.4443359375, -0.0413818359375, -0.4918212890625, 0.15869140625]


def test_golden_noise():
    """The same key gives the same noise in every version, or NOISE_VERSION has to rise."""
    keys = np.frombuffer(b"".join(hashlib.sha256(bytes([i])).digest() for i in range(3)), np.uint8).reshape(
        3, 32
    )
    vectors = np.eye(3, 5, dtype=np.float32)
    released = Laplace(epsilon=10.0).privatize(vectors, RowKeys(keys))
    assert randomness.NOISE_VERSION == 1
    assert released[0].tolist() == GOLDEN


def test_keyed_rows_do_not_depend_on_their_neighbours():
    keys = np.frombuffer(os.urandom(32 * 700), np.uint8).reshape(700, 32)
    vectors = unit_vectors(700, 384)
    for mechanism in (Laplace(epsilon=50.0),):
        whole = mechanism.privatize(vectors, RowKeys(keys))
        order = np.random.Generator(np.random.PCG64(0)).permutation(700)
        assert np.array_equal(mechanism.privatize(vectors[order], RowKeys(keys[order])), whole[order])
        one = mechanism.privatize(vectors[5:6], RowKeys(keys[5:6]))
        assert np.array_equal(one[0], whole[5])


def test_the_key_never_leaves():
    source = Source()
    key = source._key
    for text in (repr(source), str(source), str(vars(type(source)))):
        assert key.hex() not in text and repr(key) not in text
    assert key not in pickle.dumps(source)
    for other in (pickle.loads(pickle.dumps(source)), copy.copy(source), copy.deepcopy(source)):
        assert other._key != key
    with pytest.warns(InsecureSeedWarning):
        seeded = Source.seeded(1)
    rows = RowKeys(np.zeros((1, 32), np.uint8))
    for thing in (seeded, rows):
        for travel in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(RandomnessError):
                travel(thing)
    assert "rows" in repr(rows)


def _noise(count: int, source: Source | None = None, threads: int = 1) -> np.ndarray:
    """The bytes of `count` noise vectors, one opaque value a row, so that equal means equal throughout."""
    vectors = np.zeros((count, 16), np.float32)
    vectors[:, 0] = 1.0
    return Laplace(epsilon=1.0).privatize(vectors, source, threads=threads).view("V64")[:, 0]


SPAWNED = """
    import sys
    import numpy as np
    from tests.test_randomness import _noise
    np.save(sys.argv[1], _noise(62_500))
"""


def test_no_noise_repeats_in_a_million(tmp_path):
    """16 threads, 8 forked and 8 spawned processes: no noise vector appears twice among a million."""
    shared = Source()
    found: list[np.ndarray] = []
    workers = [threading.Thread(target=lambda: found.append(_noise(4_000, shared))) for _ in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    children = []
    for index in range(8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads around is the point
            child = os.fork()
        if child == 0:
            try:
                # Both the process's own source and one that the parent has used already.
                np.save(
                    tmp_path / f"fork{index}.npy", np.concatenate([_noise(31_250), _noise(31_250, shared)])
                )
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(child)
    script = textwrap.dedent(SPAWNED)
    spawned = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / f"spawn{index}.npy")])
        for index in range(8)
    ]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
    assert [process.wait() for process in spawned] == [0] * 8
    found += [np.load(path) for path in sorted(tmp_path.glob("*.npy"))]
    rows = np.concatenate(found)
    assert len(rows) >= 1_000_000
    assert len(np.unique(rows)) == len(rows)


def test_a_seeded_source_refuses_to_work_after_a_fork():
    with pytest.warns(InsecureSeedWarning):
        source = Source.seeded(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            source.blocks([(0, 1)])
        except RandomnessError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    source.blocks([(0, 1)])


def test_a_lock_held_at_fork_does_not_hang_the_child():
    source = Source()
    with source._lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:
            source.blocks([(0, 1)])
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_pool_workers_draw_their_own_noise():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context("fork").Pool(4) as pool:
            parts = pool.map(_noise, [1000] * 8)
    rows = np.concatenate(parts)
    assert len(np.unique(rows)) == 8000
