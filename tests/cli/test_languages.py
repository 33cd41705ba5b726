"""Texts that no detector reads are counted in one warning: learning, protecting, auditing, at the gateway."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from tests.cli.test_main import sfumato
from tests.server.running import DIM, gateway

from sfumato.auditing.run import _languages
from sfumato.concepts import Concept
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector

CITIES = ("Paris", "Oslo", "Rome", "Madrid", "München")
TEXTS = [
    f"{who} {what} in {where} and was not there for the {n} of us."
    for n, where in enumerate(CITIES)
    for who in ("A tall man", "My old teacher", "Nobody here")
    for what in ("bought boats", "lost the keys", "sang songs")
]
ITALIAN = [
    "Il paziente vive a Torino e non sta bene da due anni.",
    "La signora non è più in ospedale con gli altri.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("languages")
    (path / "notes.txt").write_text("\n".join([*TEXTS[:5], *ITALIAN, *TEXTS[5:]]) + "\n")
    (path / "english.txt").write_text("\n".join(TEXTS) + "\n")
    return path


def said(done):
    return [line for line in done.stderr.splitlines() if "language" in line]


def test_learn_and_protect_say_it_once_with_row_numbers_and_without_text(folder):
    learned = sfumato(
        "learn",
        "notes.txt",
        "--concept",
        "city",
        "--embedder",
        "fake",
        "--neutral",
        "4",
        "-o",
        "p",
        cwd=folder,
    )
    assert learned.returncode == 0, learned.stderr
    lines = said(learned)
    assert len(lines) == 1 and "2 of 47 texts" in lines[0] and "Italian (2)" in lines[0]
    assert "rows 5, 6." in lines[0] and "`city`" in lines[0] and "Torino" not in learned.stderr
    protected = sfumato("protect", "notes.txt", "--protector", "p", "-o", "o.parquet", cwd=folder)
    assert protected.returncode == 0 and len(said(protected)) == 1 and "rows 5, 6." in said(protected)[0]
    quiet = sfumato("protect", "english.txt", "--protector", "p", "-o", "e.parquet", cwd=folder)
    assert quiet.returncode == 0 and not said(quiet)


def test_an_audit_says_it_among_its_cautions():
    given = SimpleNamespace(texts=[*TEXTS, *ITALIAN], protector=None)
    (caution,) = _languages(given, Concept.named("city"))
    assert "2 of 47 texts" in caution and "Torino" not in caution
    assert _languages(SimpleNamespace(texts=TEXTS, protector=None), Concept.named("city")) == []
    assert _languages(given, Concept.from_terms("city", CITIES)) == []


def test_the_gateway_counts_them_in_a_header_and_in_its_log(folder):
    made = Protector(
        Laplace.from_noise_ratio(0.5, dim=DIM), f"fake:{DIM}", (Concept.named("city"),), learned={"dim": DIM}
    )
    save_protector(made, folder / "served")
    with gateway(folder / "gateway", folder / "served") as running:
        status, headers, _ = running.embed([*TEXTS[:3], *ITALIAN])
        assert status == 200 and headers["x-sfumato-unread-texts"] == "2"
        status, headers, _ = running.embed(TEXTS[:3])
        assert status == 200 and "x-sfumato-unread-texts" not in headers
        for _ in range(300):  # a line is written after its answer
            lines = [line for line in running.lines() if line.get("route") == "/v1/embeddings"]
            if len(lines) == 2:
                break
            time.sleep(0.1)
        assert [line["unread"] for line in lines] == [2, 0] and "Torino" not in running.log
