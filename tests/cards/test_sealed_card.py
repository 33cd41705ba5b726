"""A card of a sealed collection: what its store shows, looked at again without any key."""

from __future__ import annotations

import json

import pytest

from sfumato.cli import main
from sfumato.sealing.records import vectors_of
from sfumato.stores import open_store
from tests.cards.made import Made, made
from tests.cli.test_sealed_audit import ROWS, held
from tests.sealing.collections import metadata, names, notes

__all__ = ["held", "made"]


def audited(made: Made, url: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main.run(["audit", "--store", url, "--json", str(made.audit)])
    return int(stopped.value.code or 0)


def test_a_sealed_collection_has_a_card_and_a_changed_one_is_told(held, made):
    url = f"memory:{held}/db"
    assert audited(made, url) == 0
    arguments = ("--audit", made.audit, "--signing-key", made.folder / "key", "-o", made.card)
    code, said = made.run(url, *arguments)
    assert code == 0, said
    assert "names it with probability at most 10 %; by guessing, 10 %" in said
    card = made.read()
    assert card["target"]["sealed"]["records"] == 2 * ROWS + 1 and card["target"]["sealed"]["broken"] == 0
    assert card["certificate"]["total_variation"] == 0.0 and card["measured"]["verdict"] == "pass"
    code, said = made.verify("--store", url, "--audit", made.audit, "--page", made.page)
    assert code == 0 and "holds  sealed collection" in said, said
    shown = made.page.read_text()
    assert f"{2 * ROWS + 1} sealed records" in shown and notes(1)[0] not in shown
    # One more row, in the open: the audit and the card are of another collection.
    with open_store(url) as store:
        store.add(["more"], vectors_of(["more"]), [{"text": "in the open"}])
    code, said = made.verify("--store", url)
    assert code == 1 and "FAILS  sealed collection" in said and "FAILS  certificate" in said
    code, said = made.run(url, *arguments)
    assert code == 2 and "of this collection as it is now" in said
    assert names(1)[0] not in json.dumps(card) and str(metadata(1)) not in json.dumps(card)


def test_a_store_that_is_not_sealed_has_no_card_of_its_own(made):
    url = f"memory:{made.folder}/open"
    with open_store(url) as store:
        store.add(["a"], [[1.0, 0.0]], [{"text": "x"}])
    arguments = ("--audit", made.audit, "--signing-key", made.folder / "key", "-o", made.card)
    code, said = made.run(url, *arguments)
    assert code == 2 and "is not sealed" in said and len(said.strip().splitlines()) == 1


def test_a_protectors_card_is_not_that_of_a_collection(held, made):
    code, said = made.verify("--store", f"memory:{held}/db")
    assert code == 1 and "FAILS  protector" in said
    code, said = made.verify("--store", "memory:x", "--protector", made.folder / "made")
    assert code == 2 and "of one thing" in said
