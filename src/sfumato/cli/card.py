"""`sfumato card`: a signed privacy card of a protector and its audit, and the check of one."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from sfumato.cli.card_check import read_audited, verify_card
from sfumato.cli.options.card import (
    AllowRemoteOption,
    AuditOption,
    CandidatesOption,
    NewKeyOption,
    OpeningOption,
    OutOption,
    PageOption,
    ProtectorOption,
    PublicKeyOption,
    SearchesOption,
    SigningKeyOption,
    StoreOption,
    TargetArgument,
    TextsOption,
    ToleranceOption,
    UtilityOption,
    VerifyOption,
)
from sfumato.cli.options.shared import TextColumnOption
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.errors import InputError

NAME = "card"
EXAMPLE = (
    "Examples: sfumato card --new-key card.key  |  "
    "sfumato card places --audit audit.json --signing-key card.key -o card.json  |  "
    "sfumato card --verify card.json --public-key card.key.pub --protector places --audit audit.json"
)


def command(
    target: TargetArgument = None,
    audit: AuditOption = None,
    signing_key: SigningKeyOption = None,
    out: OutOption = None,
    candidates: CandidatesOption = None,
    verify: VerifyOption = None,
    public_key: PublicKeyOption = None,
    page: PageOption = None,
    protector: ProtectorOption = None,
    store: StoreOption = None,
    texts: TextsOption = None,
    text_column: TextColumnOption = None,
    opening: OpeningOption = None,
    searches: SearchesOption = None,
    utility: UtilityOption = None,
    tolerance: ToleranceOption = 0.005,
    allow_remote: AllowRemoteOption = None,
    new_key: NewKeyOption = None,
    json: JsonOption = None,
) -> None:
    """Write a signed privacy card, or check one: 0 valid, 1 not."""
    if sum(each is not None for each in (target, verify, new_key)) != 1:
        raise InputError("Give one of TARGET, --verify CARD and --new-key FILE.")
    if new_key is not None:
        _make_key(new_key)
    elif target is not None:
        others = {"--public-key": public_key, "--page": page, "--protector": protector, "--store": store}
        for option, value in others.items():
            if value is not None:
                raise InputError(f"{option} is for --verify. Leave it out.")
        if audit is None or signing_key is None or out is None:
            raise InputError("A card needs --audit FILE, --signing-key FILE and -o FILE.")
        _make(target, audit, signing_key, out, candidates, (texts, text_column), json)
    else:
        if signing_key is not None or out is not None or public_key is None:
            raise InputError("--verify needs --public-key FILE, and neither a signing key nor -o.")
        if protector is not None and store is not None:
            raise InputError("A card is of one thing. Give --protector DIR or --store URL.")
        inputs = {
            "page": page, "target": store if protector is None else str(protector), "audit": audit,
            "texts": texts, "opening": opening, "searches": searches, "utility": utility,
            "text_column": text_column, "allow_remote": allow_remote or (),
        }  # fmt: skip
        verify_card(Path(str(verify)), public_key, inputs, tolerance, json)


def _make_key(file: Path) -> None:
    from sfumato.cards import new_card_key

    key, beside = new_card_key(file)
    line = console().print
    line(f"Signing key: {file}, for your eyes alone", highlight=False)
    line(f"Public key:  {beside}, for everybody who checks your cards ({key.public})", highlight=False)


def _make(
    target: str,
    audit: Path,
    signing_key: Path,
    out: Path,
    candidates: int | None,
    given: tuple[Path | None, str | None],
    json: Path | None,
) -> None:
    """Make a card, with a digest of the audited texts where their file and column are `given`."""
    from sfumato.accounting.keys import write_private
    from sfumato.cards import CardKey, card_page, describe_audit, make_card, open_target, sign_card
    from sfumato.cards.checking import parse_audit
    from sfumato.cards.making import SALT_BYTES, commit, file_digest
    from sfumato.cards.spelling import LARGEST_AUDIT, read_bounded
    from sfumato.files import write_atomic
    from sfumato.numbers import whole_number

    if out.suffix == ".html":
        raise InputError("-o names the JSON; its page stands beside it. Choose another ending than .html.")
    key = CardKey.from_file(signing_key)
    opened = open_target(target)
    content = read_bounded(audit, LARGEST_AUDIT, "audit")
    found = parse_audit(content)
    count = None if candidates is None else whole_number(candidates, "--candidates", 2, 10**9)
    texts, text_column = given
    committed, beside = None, out.with_suffix(".opening")
    if texts is not None:
        salt = secrets.token_bytes(SALT_BYTES)
        committed = commit(read_audited(texts, describe_audit(found)[1]["texts"], text_column)[0], salt)
    body = make_card(
        opened.described,
        opened.certificate(found.get("certificate"), count),
        found,
        audit_digest=file_digest(content),
        texts=committed,
    )
    card = sign_card(body, key)
    if texts is not None and not write_private(beside, (salt.hex() + "\n").encode(), "opening"):
        raise InputError(f"`{beside}` is there already: it opens another card. Choose another -o.")
    write_json(out, card)
    write_atomic(out.with_suffix(".html"), card_page(card).encode())
    write_json(json, card)
    _tell(card, out, None if texts is None else beside)


def _tell(card: dict[str, Any], out: Path, beside: Path | None) -> None:
    from sfumato.certifying import attacker_words

    def line(text: str) -> None:
        console().print(text, highlight=False, markup=False)

    line(attacker_words(card["certificate"]))
    line(f"Card: {out} and {out.with_suffix('.html')}, signed by {card['signer']['public_key'][:16]}…")
    if beside is not None:
        line(
            f"Keep {beside} with the texts: it opens their digest, and whoever has it can try texts "
            "against it."
        )
