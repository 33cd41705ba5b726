"""A folder that names an encoder on another machine gets no text and no key without the user's word."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.concepts.concept import Concept
from sfumato.embedders import OpenAIEndpoint, load_embedder
from sfumato.errors import ArtifactError, ParameterError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.reference import ProtectorReference, open_protector
from sfumato.saving import load_protector, save_protector
from sfumato.scale.portable import PortableProtector
from sfumato.text.chat import Chat
from tests.contracts.embedder_cases import SERVED_DIM, serving

KEY = "sk-of-the-user"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as running:
        yield running


@pytest.fixture
def folder(server, tmp_path):
    """A protector as a stranger hands it out: everything in order, and an encoder of his own."""
    concept = Concept.from_terms("places", ["Rome", "Oslo"])
    made = Protector(Laplace(epsilon=50.0), f"openai:any@{server.url}", (concept,))
    save_protector(made, tmp_path / "p")
    return tmp_path / "p"


def host(server) -> str:
    return server.url.split("//")[1].split("/")[0]


def command_line(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(list(arguments))
    return int(ended.value.code or 0)


def test_nothing_is_sent_unasked(folder, server):
    with pytest.raises(ArtifactError) as caught:
        load_protector(folder).embed(["a private text about Rome"])
    assert host(server) in str(caught.value) and "\n" not in str(caught.value)
    for other in ("example.org", "127.0.0", f"{host(server)}0", "", "*"):
        with pytest.raises(ArtifactError):
            sf.load(folder, allow_remote=[other])
    assert not server.requests


@pytest.mark.parametrize("command", ["protect", "attack", "audit"])
def test_commands_ask_first(command, folder, server, tmp_path, capsys):
    texts = tmp_path / "in.txt"
    texts.write_text("one about Rome\ntwo about Oslo\n" * 30)
    options = {
        "protect": ["-o", str(tmp_path / "out.npy")],
        "attack": ["--attack", "linkage"],
        "audit": ["--concept", "location"],
    }[command]
    assert command_line(command, str(texts), "--protector", str(folder), *options) == 2
    said = capsys.readouterr().err
    assert host(server) in said and "--allow-remote" in said
    assert not server.requests


def test_with_consent_texts_go_and_the_key_of_another_host_does_not(folder, server, tmp_path):
    texts = tmp_path / "in.txt"
    texts.write_text("one\ntwo\n")
    given = ["protect", str(texts), "--protector", str(folder), "-o", str(tmp_path / "out.npy")]
    assert command_line(*given, "--allow-remote", host(server)) == 0
    assert server.requests and all("Authorization" not in headers for _, headers, _ in server.requests)


def test_a_key_is_sent_to_its_own_host_alone(server, monkeypatch):
    OpenAIEndpoint("m", base_url=server.url, dim=SERVED_DIM).embed(["a"])
    assert "Authorization" not in server.requests[-1][1]
    monkeypatch.setenv("SFUMATO_KEY_127_0_0_1", "sk-of-this-server")
    OpenAIEndpoint("m", base_url=server.url, dim=SERVED_DIM).embed(["a"])
    assert server.requests[-1][1]["Authorization"] == "Bearer sk-of-this-server"
    monkeypatch.setenv("OURS", "sk-ours")
    OpenAIEndpoint("m", base_url=server.url, key_variable="OURS", dim=SERVED_DIM).embed(["a"])
    assert server.requests[-1][1]["Authorization"] == "Bearer sk-ours"
    with pytest.raises(Exception):  # noqa: B017 - this server does not chat
        Chat("m", base_url=server.url, retries=0).ask("a", "b")
    assert server.requests[-1][1].get("Authorization") != f"Bearer {KEY}"


@pytest.mark.parametrize(
    "address",
    [
        "https://api.openai.com@evil.test/v1",
        "https://api.openai.com\\@evil.test/v1",
        "https://api.openai.com\n.evil.test/v1",
        "https://api.openai.com .evil.test/v1",
        "https://api.openai.com%2eevil.test/v1",
        "https:/api.openai.com/v1",
        "https://évil.test/v1",
        "file:///etc/passwd",
    ],
)
def test_an_address_that_reads_in_two_ways_is_refused(address):
    with pytest.raises(ParameterError):
        OpenAIEndpoint("m", base_url=address, dim=3)


@pytest.mark.parametrize(
    ("address", "variable"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://API.openai.com/v1/", "OPENAI_API_KEY"),
        ("http://api.openai.com/v1", "SFUMATO_KEY_API_OPENAI_COM"),
        ("https://api.openai.com.evil.test/v1", "SFUMATO_KEY_API_OPENAI_COM_EVIL_TEST"),
        ("https://api-openai.com/v1", "SFUMATO_KEY_API__OPENAI_COM"),
    ],
)
def test_which_variable_holds_the_key_of_a_host(address, variable):
    from sfumato.embedders.remote import key_variable

    assert key_variable(address) == variable


def test_workers_adapters_and_saved_attacks_ask_too(folder, server, monkeypatch, tmp_path):
    with pytest.raises(ArtifactError):
        open_protector(folder)
    with pytest.raises(ArtifactError):
        open_protector(ProtectorReference(str(folder)))
    # What an adapter wrote down lies in the store, where a stranger may have put it.
    with pytest.raises((ArtifactError, ParameterError)):
        open_protector({"folder": str(folder), "allow_remote": [host(server)]})
    with pytest.raises(ArtifactError):
        load_embedder(f"openai:any@{server.url}", allow_remote=())
    assert not server.requests
    opened = open_protector(ProtectorReference(str(folder), allow_remote=(host(server),)))
    assert "allow_remote" not in opened.config()
    made = load_protector(folder, allow_remote=[host(server)])
    worker = PortableProtector.of(made).open()
    assert np.isfinite(worker.embed(["one"])).all() and server.requests
    monkeypatch.setenv("SFUMATO_ALLOW_REMOTE", f"other.test, {host(server)}")
    assert load_protector(folder).embedder == made.embedder
    assert open_protector(opened.config()).protector.embedder == made.embedder
