"""Hold a protector to a limit in CI: leakage at most so much, utility at least so much.

    python examples/ci_leakage.py TEXTS PROTECTOR [--most 0.10] [--least 0.95] [--json FILE]

TEXTS is any input file of Sfumato, PROTECTOR a folder made by `sfumato learn`. Without arguments the example
makes up records and a protector for them, which needs no model (but torch, for the attack).
Exit codes: 0 within both limits, 1 not, 3 no verdict because no attack works.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import sfumato as sf
from sfumato.auditing import Audit, AuditSettings
from sfumato.embedders import Fake
from sfumato.inputs import read_texts
from sfumato.learning import LearnSettings
from sfumato.records import DISEASES, make_records


def made_up() -> tuple[list[str], sf.Protector]:
    """Records of a clinic and a shop, and a protector that hides the diseases."""
    concept = sf.Concept.from_terms("disease", DISEASES)
    others = [record.text for record in make_records(300, seed=1)]
    settings = LearnSettings(source="synthetic")
    protector = sf.learn(others, concept, embedder=Fake(dim=256), settings=settings)
    return [record.text for record in make_records(240, seed=2)], protector


def check(audit: Audit, least: float) -> int:
    """Say in one line each what was measured; return the exit code."""
    print(audit.verdict.reason)
    kept = audit.utility.kept
    print(
        f"{audit.utility.metric}: {'undefined' if kept is None else f'{kept:.1%} kept'}, wanted {least:.0%}."
    )
    if audit.outcome != "pass":
        return audit.exit_code
    return 0 if kept is not None and kept >= least else 1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path, nargs="?")
    parser.add_argument("protector", type=Path, nargs="?")
    parser.add_argument("--most", type=float, default=0.10, help="highest excess leakage")
    parser.add_argument("--least", type=float, default=None, help="lowest share of clean utility kept")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.texts is None or options.protector is None:
        texts, protector = made_up()
        least = (
            0.0 if options.least is None else options.least
        )  # the encoder for tests has no meaning to keep
    else:
        texts, protector = read_texts(options.texts), sf.load(options.protector)
        least = 0.95 if options.least is None else options.least
    found = sf.audit(texts, protector=protector, settings=AuditSettings(fail_above=options.most))
    if options.json is not None:
        options.json.write_text(json.dumps(found.to_dict(), indent=2))
    sys.exit(check(found, least))


if __name__ == "__main__":
    main()
