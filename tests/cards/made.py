"""A card made by hand: of a small protector and of an audit that nobody ran."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.cards import new_card_key
from sfumato.cli import main
from sfumato.concepts.concept import Concept
from sfumato.mechanisms import Mahalanobis
from sfumato.protector import Protector
from sfumato.saving import save_protector
from tests.auditing.made import made_audit

KEPT = {"median": 0.05, "p95": 0.2, "max": 0.6}
PRIVATE = "Anna Weber of Lisbon has asthma"


def protector(epsilon=100.0, name="disease") -> Protector:
    return Protector(
        Mahalanobis(epsilon=epsilon, shape=np.linspace(0.5, 1.5, 64)),
        concepts=(Concept.from_terms(name, ("asthma", "gout")),),
        learned={"substitution_distances": KEPT, "dim": 64, "model_id": "model@1", "source": "synthetic"},
    )


def audit_json(of: Protector, **settings) -> dict:
    """What an audit would have written, texts and names of files included."""
    found = made_audit(
        examples=({"row": 3, "text": PRIVATE, "terms": ["asthma"], "read": {}},), notes=(PRIVATE,)
    )
    own = {
        "protector": of.settings_digest(),
        "command": f"sfumato audit 'secret {PRIVATE}.jsonl' --protector p",
    }
    return replace(found, settings=found.settings | own | settings).to_dict()


class Made:
    """A folder with a protector, an audit, keys, and the command to make and check cards there."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capfd = folder, capfd
        self.card, self.page, self.audit = folder / "card.json", folder / "card.html", folder / "audit.json"
        self.key, _ = new_card_key(folder / "key")
        self.protector = protector()
        save_protector(self.protector, folder / "made")
        self.audit.write_text(json.dumps(audit_json(self.protector)))

    def run(self, *arguments: object) -> tuple[int, str]:
        """The exit code, and what is said."""
        with pytest.raises(SystemExit) as stopped:
            main.run(["card", *map(str, arguments)])
        shown = self._capfd.readouterr()
        return int(stopped.value.code or 0), shown.out + shown.err

    def make(self, *more: object, out: str = "card.json") -> tuple[int, str]:
        return self.run(
            self.folder / "made", "--audit", self.audit, "--signing-key", self.folder / "key",
            "-o", self.folder / out, *more,
        )  # fmt: skip

    def verify(self, *more: object, card: Path | None = None) -> tuple[int, str]:
        return self.run("--verify", card or self.card, "--public-key", self.folder / "key.pub", *more)

    def read(self) -> dict:
        return json.loads(self.card.read_text())


@pytest.fixture
def made(tmp_path, capfd):
    folder = tmp_path / "cards"
    folder.mkdir()
    found = Made(folder, capfd)
    code, said = found.make()
    assert code == 0, said
    return found
