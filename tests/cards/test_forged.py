"""Cards that a forger would hand over, and keys that should not be used."""

from __future__ import annotations

import copy
import json
import os

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from sfumato.artifacts import canonical_json
from sfumato.cards import CardKey, check_card, new_card_key, sign_card
from sfumato.errors import InputError, RandomnessError
from sfumato.sealing.crypto.signing import signed_by
from tests.cards.made import made

__all__ = ["made"]


def leaves(value, path=()):
    """Where every single value of a card stands."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from leaves(each, (*path, number))
    else:
        yield path


def parent(card, path):
    for step in path[:-1]:
        card = card[step]
    return card


def other(value):
    """Another value, as close to it as can be."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1 if value < 2 else value - 1
    if isinstance(value, float):
        return value * 0.999 if value else 0.001
    if isinstance(value, str):
        return ("1" if value[:1] == "0" else "0") + value[1:]
    return 0 if value is None else ["x"]


def valid(made, card) -> bool:
    content = card if isinstance(card, bytes) else json.dumps(card).encode()
    return all(each.holds for each in check_card(content, made.key.public)[1])


def test_no_value_can_be_changed_taken_out_or_added(made):
    card = made.read()
    assert valid(made, card)
    places = list(leaves(card))
    assert len(places) > 90
    for path in places:
        forged = copy.deepcopy(card)
        place = parent(forged, path)
        place[path[-1]] = other(place[path[-1]])
        assert not valid(made, forged), path
        forged = copy.deepcopy(card)
        del parent(forged, path)[path[-1]]
        assert not valid(made, forged), path
    for path in {path[:-1] for path in places}:
        forged = copy.deepcopy(card)
        place = parent(forged, (*path, ""))
        place.append("more") if isinstance(place, list) else place.update(more=1)
        assert not valid(made, forged), path


def test_whole_numbers_do_not_pass_for_others(made):
    card = made.read()
    card["format"] = True
    assert not valid(made, card)
    card["format"] = 1.0
    assert not valid(made, card)


def test_swapped_fields_are_caught_even_when_they_are_signed(made):
    def swap(card, one, two):
        first, second = parent(card, one), parent(card, two)
        first[one[-1]], second[two[-1]] = second[two[-1]], first[one[-1]]

    pairs = [
        (("certificate", "success", "median"), ("certificate", "success", "worst")),
        (("certificate", "pairs", "median"), ("certificate", "pairs", "worst")),
        (("certificate", "prior"), ("certificate", "total_variation")),
        (("measured", "leakage", "control"), ("measured", "leakage", "released")),
        (("data", "audit_sha256"), ("target", "settings_digest")),
    ]
    for one, two in pairs:
        card = made.read()
        swap(card, one, two)
        assert not valid(made, card), one
    for one, two in [*pairs[:3], pairs[4]]:  # whoever holds the key can lie, but not against himself
        card = made.read()
        swap(card, one, two)
        body = {key: value for key, value in card.items() if key not in ("signer", "signature")}
        assert not valid(made, sign_card(body, made.key)), one


def test_a_signature_of_another_card_or_for_another_purpose_is_worth_nothing(made):
    card = made.read()
    assert made.make("--candidates", 99, out="other.json")[0] == 0
    second = json.loads((made.folder / "other.json").read_text())
    assert valid(made, second)
    assert not valid(made, {**card, "signature": second["signature"]})
    bare = canonical_json({key: value for key, value in card.items() if key != "signature"})
    plain = made.key.sign(bare).hex()
    assert not valid(made, {**card, "signature": plain})
    assert not signed_by(made.key.public, bare, bytes.fromhex(card["signature"]))
    assert not valid(made, {**card, "signature": "0" * 128})


def test_a_forger_with_a_key_of_his_own_is_not_the_signer(made):
    forger, _ = new_card_key(made.folder / "forger")
    body = {key: value for key, value in made.read().items() if key not in ("signer", "signature")}
    body["measured"]["verdict"] = "pass"
    forged = sign_card(body, forger)
    made.card.write_text(json.dumps(forged))
    code, said = made.verify()
    assert code == 1 and "another key" in said
    # His signature under the name of the other.
    honest = {**forged, "signer": {"algorithm": "Ed25519", "public_key": made.key.public}}
    assert not valid(made, honest)
    with pytest.raises(SystemExit):  # and with his public key it is his card
        from sfumato.cli import main

        main.run(["card", "--verify", str(made.card), "--public-key", str(made.folder / "forger.pub")])


@pytest.mark.parametrize(
    ("honest", "forged"),
    [
        ('"verdict": "pass"', '"verdict": "fail", "verdict": "pass"'),
        ('"verdict": "pass"', '"verdict": "pass", "verdict": "pass"'),
        ('"format": 1,', '"format": 1, "format": 1,'),
        ('"control": 0.9,', '"control": 0.90,'),
        ('"control": 0.9,', '"control": 9e-1,'),
        ('"control": 0.9,', '"control": 0.90000000000000000001,'),
        ('"control": 0.9,', '"control": NaN,'),
        ('"control": 0.9,', '"control": Infinity,'),
        ('"control": 0.9,', '"control": 1e999,'),
        ('"delta": 0.0,', '"delta": -0.0,'),
        ('"seed": 0,', '"seed": -0,'),
        ('"seed": 0,', f'"seed": {"9" * 5000},'),
    ],
)
def test_what_two_readers_could_read_differently_is_no_card(made, honest, forged):
    written = made.card.read_text()
    assert written.count(honest) >= 1
    made.card.write_text(written.replace(honest, forged, 1))
    code, said = made.verify()
    assert code == 1 and "NOT VALID" in said


def test_another_spelling_of_the_same_values_is_the_same_card(made):
    card = made.read()
    assert valid(made, json.dumps(card, sort_keys=True).encode())
    assert valid(made, json.dumps(dict(reversed(card.items())), indent=8).encode())


@pytest.mark.parametrize(
    "content",
    [
        b"", b"null", b"[]", b"{}", b'"card"', b"[" * 500_000, b'{"a":' * 100_000, b"\xff\xfe{}",
        b"\xef\xbb\xbf{}", b'{"format": 1}', b" " * ((1 << 20) + 1),
    ],
    ids=lambda content: f"{content[:6]!r} {len(content)}",
)  # fmt: skip
def test_what_is_no_card_is_not_valid_and_said_in_one_line(made, content):
    made.card.write_bytes(content)
    code, said = made.verify()
    assert code == 1 and said.startswith("FAILS  form") and len(said.strip().splitlines()) == 2


def test_a_card_in_another_encoding_or_with_something_behind_it_is_none(made):
    written = made.card.read_text()
    for forged in (written.encode("utf-16"), written.encode("utf-8-sig"), written.encode() + b"{}"):
        assert not valid(made, forged)


def test_a_pipe_is_refused_and_not_waited_for(made):
    made.card.unlink()
    os.mkfifo(made.card)
    code, said = made.verify()
    assert code == 2 and "plain file" in said
    os.mkfifo(made.folder / "key.fifo")
    assert made.run("--verify", made.audit, "--public-key", made.folder / "key.fifo")[0] == 2


def test_fields_that_a_stranger_named_are_counted_and_not_shown(made):
    card = made.read()
    card["target"]["\x1b[31mAnna Weber"] = 1
    made.card.write_text(json.dumps(card))
    code, said = made.verify()
    assert code == 1 and "Anna" not in said and "\x1b" not in said and "1 fields that no card has" in said


# Keys


def test_a_new_key_is_closed_to_others_and_never_replaced(made):
    code, said = made.run("--new-key", made.folder / "fresh")
    assert code == 0 and "PRIVATE" not in said
    private, public = made.folder / "fresh", made.folder / "fresh.pub"
    assert private.stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE" in private.read_bytes() and b"PRIVATE" not in public.read_bytes()
    before = private.read_bytes()
    assert made.run("--new-key", private)[0] == 2 and private.read_bytes() == before
    private.unlink()
    assert made.run("--new-key", private)[0] == 2 and not private.exists()  # the public half is there


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o666])
def test_a_signing_key_that_others_may_read_is_refused(made, mode):
    (made.folder / "key").chmod(mode)
    code, said = made.make()
    assert code == 2 and "closed to group and others" in said and len(said.strip().splitlines()) == 1


def pem(key, password=None):
    kept = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, kept)


def test_other_keys_are_refused_in_one_line_that_shows_none(made):
    wrong = {
        "rsa": pem(generate_private_key(65537, 2048)),
        "passphrase": pem(Ed25519PrivateKey.generate(), b"secret"),
        "public": (made.folder / "key.pub").read_bytes(),
        "hex": os.urandom(32).hex().encode(),
        "empty": b"",
        "long": b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 10**6,
    }
    for name, content in wrong.items():
        place = made.folder / "key"
        place.unlink()
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)
        code, said = made.make()
        assert code == 2 and len(said.strip().splitlines()) == 1, (name, said)
        assert content[30:60].decode("ascii", "replace") not in said or len(content) < 60


def test_a_private_key_is_not_taken_for_a_public_one(made):
    code, said = made.run("--verify", made.card, "--public-key", made.folder / "key")
    assert code == 2 and "public half" in said
    (made.folder / "key.pub").write_text("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
    assert made.verify()[0] == 2
    assert made.run("--verify", made.card, "--public-key", made.folder / "none")[0] == 2


def test_a_key_does_not_travel_and_shows_its_public_half_alone(made):
    import copy as copying

    key = CardKey.from_file(made.folder / "key")
    assert key.public == made.key.public and key.public[:16] in repr(key)
    with pytest.raises(RandomnessError):
        copying.copy(key)
    with pytest.raises(InputError, match="never replaced"):
        new_card_key(made.folder / "key")
