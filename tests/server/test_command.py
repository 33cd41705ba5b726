"""`sfumato serve` as somebody types it: what it refuses, the keys it makes, TLS."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import subprocess
import urllib.request

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sfumato.mechanisms import Identity
from sfumato.protector import Protector
from sfumato.saving import save_protector
from sfumato.server.tenancy.keys import KeyRing
from tests.cli.test_main import sfumato
from tests.server.running import COMMAND, gateway, save_fake


def serve(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60)


@pytest.fixture
def protector(tmp_path):
    return save_fake(tmp_path / "plain")


def test_a_new_key_is_shown_once_and_works(tmp_path, protector):
    keys = tmp_path / "keys.json"
    done = serve("--new-key", "acme", "--keys", keys, "--ceiling", "5", "--protector", protector)
    assert done.returncode == 0, done.stderr
    key = done.stdout.split()[-1]
    assert key.startswith("sfm-") and key not in keys.read_text()
    ring = KeyRing(keys)
    assert ring.tenant_of(key) == "acme" and ring.file.tenants["acme"].ceiling == 5.0
    assert serve("--help").stdout.count("Examples:") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--protector"),
        (("--protector", "nowhere"), "nowhere"),
        (("--protector", "PLAIN", "--host", "0.0.0.0"), "Without keys"),
        (("--protector", "PLAIN", "--keys", "nowhere.json"), "cannot be read"),
        (("--protector", "PLAIN", "--tls-cert", "x"), "--tls-key"),
        (("--protector", "PLAIN", "--tls-cert", "nowhere", "--tls-key", "nowhere"), "for TLS"),
        (("--protector", "PLAIN", "--upstream", "http://127.0.0.1:1/v1"), "model's name"),
        (("--protector", "PLAIN", "--port", "99999"), "port"),
        (("--protector", "PLAIN", "--state", "/dev/null/x"), "state folder"),
        (("--protector", "NOTHING", "--ceiling", "1"), "promises nothing"),
        (("--new-key", "acme"), "--keys"),
        (("--new-key", "A B", "--keys", "k.json"), "tenant's name"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path, protector, arguments, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_protector(Protector(Identity(), "fake:8"), tmp_path / "nothing")
    known = {"PLAIN": protector, "NOTHING": tmp_path / "nothing"}
    done = sfumato("serve", *(known.get(each, each) for each in arguments))
    assert done.returncode == 2 and words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and done.stderr.startswith("sfumato: ")


def test_the_wrong_encoder_is_refused_when_it_starts(tmp_path):
    made = Protector(Identity(), "fake:8", learned={"model_id": "another-model"})
    save_protector(made, tmp_path / "other")
    done = serve("--protector", tmp_path / "other", "--state", tmp_path / "state", "--port", "0")
    assert done.returncode != 0 and "another-model" in done.stderr and "cannot start" in done.stderr


def write_certificate(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate, private


def test_tls(tmp_path, protector):
    certificate, private = write_certificate(tmp_path)
    context = ssl.create_default_context(cafile=str(certificate))

    def up(port):
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{port}/health", context=context) as answer:
                return answer.status == 200
        except OSError:
            return False

    options = ("--tls-cert", str(certificate), "--tls-key", str(private), "--no-console")
    with gateway(tmp_path / "run", protector, *options, up=up) as running:
        with pytest.raises(OSError):
            running.ask("GET", "/health")
        assert up(running.port)
