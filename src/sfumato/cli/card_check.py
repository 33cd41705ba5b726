"""`sfumato card --verify`: everything that can be looked at with what was given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.output import console, write_json
from sfumato.errors import ArtifactError, InputError

if TYPE_CHECKING:
    from sfumato.cards import CardTarget, Check

_LARGEST_PAGE = 4 << 20
REPEATED = {
    "--protector", "--suite", "--fail-above", "--fail-absolute-above", "--worst-case", "--baselines",
    "--attack", "--rows", "--seed", "--limit", "--truth-spans", "--searches", "--utility",
    "--text-column",
}  # fmt: skip
"""Options of an audit that a card, or the inputs given beside it, can repeat."""


def verify_card(
    file: Path, public_key: Path, inputs: Mapping[str, Any], tolerance: float, json: Path | None
) -> None:
    """Check a card, say what holds, and leave with 0 or 1.

    Args:
        file: the card.
        public_key: of the one who should have signed.
        inputs: page, target, audit, texts, opening, searches, utility, text_column and
            allowed hosts, as far as given.
        tolerance: how far a share may be off that is measured again.
        json: where to write the result.
    """
    from sfumato.cards import check_card, read_public_key
    from sfumato.cards.checking import Check
    from sfumato.cards.spelling import LARGEST, read_bounded
    from sfumato.numbers import finite_number

    public = read_public_key(public_key)
    finite_number(tolerance, "--tolerance", 0.0, 1.0)
    try:
        card, checks = check_card(read_bounded(file, LARGEST, "card"), public)
    except ArtifactError as error:
        card, checks = None, [Check("form", False, str(error))]
    left: list[str] = []
    if card is not None:
        checks += _check_inputs(card, inputs, tolerance)
        names = {"page": "--page", "target": "--protector or --store", "audit": "--audit", "texts": "--texts"}
        left = [option for name, option in names.items() if inputs[name] is None]
    valid = all(each.holds for each in checks)
    _show(checks, left, valid)
    write_json(json, {"valid": valid, "checks": [each.to_dict() for each in checks], "not_checked": left})
    raise typer.Exit(0 if valid else 1)


def _check_inputs(card: dict[str, Any], inputs: Mapping[str, Any], tolerance: float) -> list[Check]:
    from sfumato.cards import open_target
    from sfumato.cards.checking import check_audit, check_page, check_target, check_texts
    from sfumato.cards.spelling import LARGEST_AUDIT, read_bounded

    checks: list[Check] = []
    target = None
    if inputs["page"] is not None:
        checks.append(check_page(card, read_bounded(inputs["page"], _LARGEST_PAGE, "page")))
    if inputs["target"] is not None:
        target = open_target(inputs["target"], inputs["allow_remote"])
        checks += check_target(card, target)
    if inputs["audit"] is not None:
        checks += check_audit(card, read_bounded(inputs["audit"], LARGEST_AUDIT, "audit"))
    if inputs["texts"] is not None:
        rows, spans = read_audited(inputs["texts"], card["settings"]["texts"], inputs["text_column"])
        opening = inputs["opening"]
        checks.append(check_texts(card, rows, None if opening is None else _salt(opening)))
        if target is None:
            raise InputError("To audit the texts again, give --protector DIR, too.")
        checks.append(_audit_again(card, target, rows, spans, inputs, tolerance))
    return checks


def _audit_again(
    card: dict[str, Any],
    target: CardTarget,
    texts: list[str],
    spans: Any,
    inputs: Mapping[str, Any],
    tolerance: float,
) -> Check:
    from sfumato.auditing import AuditSettings, audit
    from sfumato.auditing.gold import read_pairs, read_searches
    from sfumato.cards.checking import check_figures
    from sfumato.cli.audit import teller
    from sfumato.cli.progress import progress
    from sfumato.protector import Protector

    settings = card["settings"]
    other = sorted(set(settings["options"] or ()) - REPEATED)
    if other:
        raise InputError(f"The audit was run with {', '.join(other)}, which a card cannot repeat.")
    if not isinstance(target.opened, Protector):
        raise InputError("--texts is for a protector: a sealed collection is looked at without any text.")
    gold: list[Any] = [] if inputs["searches"] is None else [read_searches(inputs["searches"])]
    gold += [] if inputs["utility"] is None else [read_pairs(inputs["utility"])]
    names = ("suite", "seed", "rows", "worst_case", "fail_above", "fail_absolute_above")
    chosen = AuditSettings(attacks=tuple(settings["attacks"]), **{name: settings[name] for name in names})
    with progress("auditing", 100) as bar:
        found = audit(
            texts, protector=target.opened, spans=spans, gold=gold, settings=chosen, on_step=teller(bar),
            truth_spans=",".join(settings["truth_labels"]) or None,
        )  # fmt: skip
    return check_figures(card, found.to_dict(), tolerance)


def read_audited(file: Path, count: int, text_column: str | None = None) -> tuple[list[str], Any]:
    """The texts that were audited, and their spans."""
    from sfumato.cli.options.shared import column_names
    from sfumato.cli.vectors import AuditTexts

    found = AuditTexts(file, count, False, names=column_names(text_column))
    if len(found.texts) != count:
        raise InputError(
            f"{file.name} must hold the {count} texts that were audited. Found {len(found.texts)}."
        )
    return list(found.texts), found.spans


def _salt(file: Path) -> bytes:
    from sfumato.accounting.keys import read_private
    from sfumato.cards.making import SALT_BYTES

    content, _ = read_private(file, 1024, "opening")
    try:
        found = bytes.fromhex(content.decode("ascii").strip())
    except ValueError:
        found = b""
    if len(found) != SALT_BYTES:
        raise InputError(f"The opening {file} must hold {SALT_BYTES} bytes in hex. Found something else.")
    return found


def _show(checks: list[Check], left: list[str], valid: bool) -> None:
    def line(text: str) -> None:
        console().print(text, highlight=False, markup=False, soft_wrap=True)

    for each in checks:
        line(f"{'holds' if each.holds else 'FAILS'}  {each.name}: {each.words}")
    if valid and left:
        line(f"Not looked at, because it was not given: {', '.join(left)}")
    line("VALID" if valid else "NOT VALID")
