from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.artifacts import CONFIG, TENSORS, canonical_json, load, save
from sfumato.errors import ArtifactError, ParameterError

CONFIG_VALUES = {
    "epsilon": 1e16,
    "concept": "naïve café",
    "dim": 96,
    "share": 0.2,
    "layers": [256, 128],
    "nested": {"on": True, "none": None, "tiny": 5e-324},
}


def example(value: float = 0.5) -> dict[str, np.ndarray]:
    return {
        "mask": np.linspace(value, 1.0, 96),
        "small": np.full((4, 5), value, dtype=np.float32),
        "index": np.arange(7),
        "flags": np.array([True, False]),
    }


@pytest.fixture
def saved(memory_path: Path) -> Path:
    save(memory_path / "mask", "mask", CONFIG_VALUES, example())
    return memory_path / "mask"


def forge(folder: Path, tensors: bytes, **changes: object) -> None:
    """Seal any content the way an attacker who knows the format would."""
    top = json.loads((folder / CONFIG).read_bytes()) | changes
    head = canonical_json({"format": 1, "kind": top["kind"], "config": top["config"]})
    top["digest"] = hashlib.sha256(len(head).to_bytes(8, "little") + head + tensors).hexdigest()
    (folder / TENSORS).write_bytes(tensors)
    (folder / CONFIG).write_bytes(
        json.dumps(top, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"
    )


def safetensors_bytes(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def test_round_trip(saved):
    artifact = load(saved, "mask")
    assert artifact.kind == "mask"
    assert artifact.config == CONFIG_VALUES
    assert artifact.tensors.keys() == example().keys()
    for name, array in example().items():
        assert artifact.tensors[name].dtype == array.dtype
        np.testing.assert_array_equal(artifact.tensors[name], array)
        assert not artifact.tensors[name].flags.writeable
    assert artifact.digest == json.loads((saved / CONFIG).read_text())["digest"]
    assert sorted(path.name for path in saved.parent.iterdir()) == ["mask"]
    assert sorted(path.name for path in saved.iterdir()) == [CONFIG, TENSORS]


def test_odd_arrays_come_back_equal(tmp_path):
    grid = np.arange(12.0).reshape(3, 4)
    tensors = {
        "transposed": grid.T,
        "strided": grid[::2, ::-1],
        "swapped": grid.astype(">f8"),
        "scalar": np.array(2.5),
        "empty": np.zeros((0, 3)),
        "negative zero": np.array([-0.0]),
    }
    save(tmp_path / "a", "odd", {}, tensors)
    loaded = load(tmp_path / "a", "odd").tensors
    for name, array in tensors.items():
        assert loaded[name].shape == array.shape
        np.testing.assert_array_equal(loaded[name], array)
    assert np.signbit(loaded["negative zero"][0])


def test_digest_names_the_content_not_the_place(tmp_path):
    (tmp_path / "deep").mkdir()
    first = save(tmp_path / "deep" / "a", "mask", CONFIG_VALUES, example())
    assert first == save(tmp_path / "b", "mask", dict(reversed(CONFIG_VALUES.items())), example())
    others = {
        save(tmp_path / "b", "shape", CONFIG_VALUES, example()),
        save(tmp_path / "b", "mask", CONFIG_VALUES | {"dim": 96.0}, example()),
        save(tmp_path / "b", "mask", CONFIG_VALUES, example(0.25)),
        save(tmp_path / "b", "mask", CONFIG_VALUES, {}),
    }
    assert len(others | {first}) == 5


def test_two_thousand_flipped_bits_are_refused(saved):
    rng = random.Random(1)
    originals = {name: (saved / name).read_bytes() for name in (CONFIG, TENSORS)}
    places = [(name, bit) for name, data in originals.items() for bit in range(8 * len(data))]
    refused = 0
    for name, bit in rng.sample(places, 2000):
        data = bytearray(originals[name])
        data[bit // 8] ^= 1 << bit % 8
        (saved / name).write_bytes(data)
        with pytest.raises(ArtifactError):
            load(saved, "mask")
        refused += 1
        (saved / name).write_bytes(originals[name])
    assert refused == 2000
    load(saved, "mask")


def test_every_bit_of_a_small_config_is_sealed(memory_path):
    save(memory_path / "a", "mask", {"e": 1e16, "é": [1.5, True]}, {})
    original = (memory_path / "a" / CONFIG).read_bytes()
    for bit in range(8 * len(original)):
        data = bytearray(original)
        data[bit // 8] ^= 1 << bit % 8
        (memory_path / "a" / CONFIG).write_bytes(data)
        with pytest.raises(ArtifactError):
            load(memory_path / "a", "mask")


def test_five_hundred_truncations_are_refused(saved):
    rng = random.Random(2)
    originals = {name: (saved / name).read_bytes() for name in (CONFIG, TENSORS)}
    places = [(name, length) for name, data in originals.items() for length in range(len(data))]
    for name, length in rng.sample(places, 500):
        (saved / name).write_bytes(originals[name][:length])
        with pytest.raises(ArtifactError):
            load(saved, "mask")
        (saved / name).write_bytes(originals[name])
    load(saved, "mask")


@pytest.mark.parametrize("name", [CONFIG, TENSORS])
@pytest.mark.parametrize("garbage", [b"\x00", b"\n", b" ", b"{}", b"x" * 1000])
def test_trailing_garbage_is_refused(saved, name, garbage):
    (saved / name).write_bytes((saved / name).read_bytes() + garbage)
    with pytest.raises(ArtifactError):
        load(saved, "mask")


@pytest.mark.parametrize("name", [CONFIG, TENSORS])
def test_missing_or_odd_file_is_refused(saved, name):
    (saved / name).unlink()
    with pytest.raises(ArtifactError, match=f"{name} is missing"):
        load(saved, "mask")
    os.mkfifo(saved / name)
    with pytest.raises(ArtifactError, match="plain file"):
        load(saved, "mask")
    (saved / name).unlink()
    (saved / name).mkdir()
    with pytest.raises(ArtifactError):
        load(saved, "mask")


def test_no_folder_or_a_file_in_its_place_is_refused(tmp_path):
    with pytest.raises(ArtifactError, match="no such folder"):
        load(tmp_path / "none", "mask")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(ArtifactError, match="Not a directory"):
        load(tmp_path / "file", "mask")
    with pytest.raises(ArtifactError, match="has to be a folder"):
        save(tmp_path / "file", "mask", {}, {})
    with pytest.raises(ArtifactError, match="there is no folder"):
        save(tmp_path / "none" / "mask", "mask", {}, {})
    assert not (tmp_path / "none").exists()


def test_other_kind_is_refused(saved):
    with pytest.raises(ArtifactError, match="has to hold 'ellipsoid'. Found 'mask'"):
        load(saved, "ellipsoid")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": true}',
        b'{"format": 1}',
        b'{"format": 1.0}',
        b'{"format": 2}',
        b'{"format": ' + b"9" * 10_000 + b"}",
        b'{"format": 1, "kind": "mask", "config": [], "digest": ""}',
        b'{"format": 1, "kind": "mask", "config": {"a": NaN}, "digest": ""}',
        b'{"format": 1, "kind": "mask", "config": {"a": 1e999}, "digest": ""}',
        b'{"format": 1, "kind": "mask", "config": {"a": "\\ud800"}, "digest": ""}',
        b'{"format": 1, "kind": ["mask"], "config": {}, "digest": ""}',
    ],
)
def test_hostile_config_is_refused(saved, text):
    (saved / CONFIG).write_bytes(text)
    with pytest.raises(ArtifactError) as caught:
        load(saved, "mask")
    assert "\n" not in str(caught.value)


def test_newer_format_says_so(saved):
    forge(saved, b"", format=2)
    with pytest.raises(ArtifactError, match="has to be of format 1. Found 2"):
        load(saved, "mask")


def test_unknown_key_is_refused_even_when_sealed(saved):
    forge(saved, (saved / TENSORS).read_bytes(), note="hello")
    with pytest.raises(ArtifactError, match="nothing else"):
        load(saved, "mask")


def test_oversized_config_is_refused(saved, monkeypatch):
    monkeypatch.setattr(artifacts, "_LARGEST_CONFIG", 100)
    with pytest.raises(ArtifactError, match="under 100 bytes"):
        load(saved, "mask")
    with pytest.raises(ParameterError, match="under 100 bytes"):
        save(saved, "mask", CONFIG_VALUES, {})


SEALED_FORGERIES = {
    "not finite": safetensors_bytes(
        {"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, struct.pack("<d", float("nan"))
    ),
    "infinite float32": safetensors_bytes(
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, struct.pack("<f", float("inf"))
    ),
    "bfloat16": safetensors_bytes(
        {"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, b"\x00\x00"
    ),
    "complex": safetensors_bytes({"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)),
    "unknown type": safetensors_bytes(
        {"a": {"dtype": "F99", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)
    ),
    "hole": safetensors_bytes({"a": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}}, bytes(16)),
    "trailing": safetensors_bytes({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, bytes(9)),
    "short": safetensors_bytes({"a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}, bytes(8)),
    "shape too large": safetensors_bytes(
        {"a": {"dtype": "F64", "shape": [2**62], "data_offsets": [0, 8]}}, bytes(8)
    ),
    "huge header length": struct.pack("<Q", 2**63) + b"{}",
    "long header": safetensors_bytes(b"{}" + b" " * (2 << 20)),
    "header is not JSON": safetensors_bytes(b"{nonsense"),
    "empty file": b"",
    "seven bytes": b"\x01" * 7,
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.",
}


@pytest.mark.parametrize("tensors", SEALED_FORGERIES.values(), ids=SEALED_FORGERIES.keys())
def test_forged_tensors_are_refused_even_when_sealed(saved, tensors):
    forge(saved, tensors)
    with pytest.raises(ArtifactError) as caught:
        load(saved, "mask")
    assert "SHA-256" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.0, np.nan]),
        np.array([np.inf], dtype=np.float32),
        np.array([1 + 2j]),
        np.array([1.0], dtype=np.float16),
        np.array(["text"]),
        np.array([None]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.ma.array([1.0, 2.0], mask=[True, False]),
        [1.0, 2.0],
        3.0,
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}",
)
def test_save_refuses_what_load_would(tmp_path, array):
    with pytest.raises(ArtifactError):
        save(tmp_path / "a", "mask", {}, {"values": array})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["", "Mask", "../mask", "mask\n", "9"])
def test_save_refuses_odd_kinds(tmp_path, kind):
    with pytest.raises(ParameterError):
        save(tmp_path / "a", kind, {}, {})


def test_save_never_deletes_what_it_did_not_write(tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    save(folder, "mask", {}, {})
    (folder / "chapter.txt").write_text("years of work")
    with pytest.raises(ArtifactError, match=r"1 other files in it, such as 'chapter.txt'"):
        save(folder, "mask", {"new": 1}, {})
    assert (folder / "chapter.txt").read_text() == "years of work"
    assert load(folder, "mask").config == {}


def test_replacing_keeps_the_folder_closed_to_others_and_follows_links(tmp_path):
    save(tmp_path / "real", "mask", {"v": 1}, {})
    (tmp_path / "real").chmod(0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    save(tmp_path / "link", "mask", {"v": 2}, {})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o700
    assert load(tmp_path / "link", "mask").config == load(tmp_path / "real", "mask").config == {"v": 2}


def test_load_takes_about_a_millisecond(saved):
    times = []
    for _ in range(50):
        start = time.perf_counter()
        load(saved, "mask")
        times.append(time.perf_counter() - start)
    assert min(times) < 0.005
