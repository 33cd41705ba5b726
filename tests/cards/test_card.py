"""A card holds what it should, and nothing private; checked with its inputs it is the same again."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from sfumato.cards import sign_card
from sfumato.cards.page import card_page
from sfumato.cards.schema import card_schema, problems
from sfumato.certificates import certificate_of
from sfumato.certifying import miss_rate_of
from sfumato.saving import load_protector, save_protector
from tests.auditing.small import shrink
from tests.cards.made import PRIVATE, Made, audit_json, made, protector
from tests.report.test_browser import browser, opened, probed

__all__ = ["browser", "made"]


def resigned(made: Made, change) -> None:
    """The card as its own signer would sign it after a change."""
    card = made.read()
    change(card)
    body = {name: value for name, value in card.items() if name not in ("signer", "signature")}
    made.card.write_text(json.dumps(sign_card(body, made.key)))


def test_a_card_holds_the_certificate_the_figures_and_what_they_are_of(made):
    card = made.read()
    again = load_protector(made.folder / "made")
    assert card["certificate"] == certificate_of(again, candidates=10).to_dict()
    audit = json.loads(made.audit.read_text())
    assert card["measured"]["leakage"]["released"] == audit["leakage"]["released"]
    assert card["measured"]["informed"] == audit["informed"]
    assert card["target"]["settings_digest"] == made.protector.settings_digest()
    assert card["target"]["promise"]["epsilon"] == 100.0 and card["versions"]["sfumato"]
    assert list(card)[3:5] == ["certificate", "measured"]


def test_it_is_valid_alone_and_with_everything_it_was_made_of(made):
    code, said = made.verify()
    assert code == 0 and said.strip().endswith("VALID") and "Not looked at" in said
    code, said = made.verify("--page", made.page, "--protector", made.folder / "made", "--audit", made.audit)
    assert code == 0 and "FAILS" not in said
    assert all(name in said for name in ("page:", "protector:", "certificate:", "audit's file:", "audit:"))
    made.verify("--json", made.folder / "said.json")
    found = json.loads((made.folder / "said.json").read_text())
    assert found["valid"] is True and [each["name"] for each in found["checks"]][:2] == ["form", "signature"]


def test_no_text_no_term_and_no_name_of_a_file_is_on_it(made):
    assert PRIVATE in made.audit.read_text()
    for file in (made.card, made.page):
        shown = file.read_text()
        assert PRIVATE not in shown and "asthma" not in shown and "Lisbon" not in shown
        assert str(made.folder) not in shown


def test_others_can_check_the_signature_with_the_spelling_that_is_written_down(made):
    card = made.read()
    signature = bytes.fromhex(card.pop("signature"))
    spelled = json.dumps(card, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    key = load_pem_public_key((made.folder / "key.pub").read_bytes())
    key.verify(signature, b"sfumato privacy card 1\0" + spelled.encode())


def test_the_schema_is_strict_everywhere():
    def walk(schema):
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if "object" in kinds:
            assert schema["additionalProperties"] is False
            assert set(schema["required"]) == set(schema["properties"])
        assert "string" not in kinds or {"maxLength", "pattern"} <= set(schema)
        assert "array" not in kinds or {"maxItems", "items"} <= set(schema)
        assert not {"number", "integer"} & set(kinds) or {"minimum", "maximum"} <= set(schema)
        for part in (*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()):
            walk(part)
        if "items" in schema:
            walk(schema["items"])

    walk(card_schema())


def test_a_page_is_made_of_the_card_alone_and_certifies_before_it_speaks_of_epsilon(made):
    page = made.page.read_text()
    assert page == card_page(made.read())
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("</style>")[2]).replace("\u00a0", " "))
    certified = words.index("An attacker who knows everything but the term, with 10 equally likely terms")
    assert certified < words.index("What was measured") < words.index("The promise in epsilons")
    assert "psilon" not in words[: words.index("What was measured")]
    assert "claims compliance with no law" in words and made.key.public in words
    assert "default-src 'none'" in page and "<script" not in page


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_the_screen_and_asks_for_nothing(browser, made, tmp_path, width):
    page = made.page.read_text()
    policy = re.search(r"<meta http-equiv[^>]+>\n", page)[0]
    # The page's own policy would keep the probe from running.
    inner, scroll, resources = probed(browser, page.replace(policy, ""), tmp_path, width)
    assert inner == width and scroll <= width and resources == 0


def test_no_script_runs_in_it_even_if_one_got_in(browser, made, tmp_path):
    taken = made.page.read_text().replace("</body>", "<script>document.title = 'taken'</script></body>")
    assert "<title>taken" not in opened(browser, taken, tmp_path)
    policy = re.search(r"<meta http-equiv[^>]+>\n", taken)[0]
    assert "<title>taken" in opened(browser, taken.replace(policy, ""), tmp_path)


def test_an_attacker_who_got_more_than_is_certified_is_pointed_out_on_the_page(made):
    said = "more than what is certified for the worst pair"
    assert said not in made.page.read_text()
    card = made.read()
    card["measured"]["informed"] |= {"value": 0.99, "interval": [0.9, 1.0]}
    for name in card["certificate"]["success"]:
        card["certificate"]["success"][name] = 0.2
    assert said in card_page(card)


INJECTED = "<script>document.title='taken'</script>\"'><img src=x onerror=alert(1)>"


def test_names_in_an_audit_and_of_a_protector_are_text_and_nothing_else(browser, tmp_path, capfd):
    made = Made(tmp_path, capfd)
    made.protector = protector(name=INJECTED)
    odd = tmp_path / "<b>made<\\b>"
    save_protector(made.protector, odd)
    audit = audit_json(made.protector, concept={"name": INJECTED})
    audit["cautions"] = [INJECTED]
    audit["leakage"]["attack"] = INJECTED
    audit["utilities"][0]["metric"] = INJECTED
    made.audit.write_text(json.dumps(audit))
    arguments = ("--audit", made.audit, "--signing-key", tmp_path / "key", "-o", made.card)
    code, said = made.run(odd, *arguments)
    assert code == 0, said
    page = made.page.read_text()
    assert "<script" not in page and "<img" not in page and "<b>made" not in page
    assert page.count("&lt;script&gt;") >= 4
    shown = opened(browser, page, tmp_path)
    assert "<title>Privacy card" in shown and "<img" not in shown
    assert made.verify("--page", made.page)[0] == 0


@pytest.mark.parametrize("odd", ["\u202egnp.exe", "two\nlines", "nul\x00", "hid\u200bden", "x" * 300])
def test_names_that_show_as_something_else_are_refused(made, odd):
    audit = audit_json(made.protector, concept={"name": odd})
    made.audit.write_text(json.dumps(audit))
    code, said = made.make()
    assert code == 2 and len(said.strip().splitlines()) == 1 and odd not in said


def test_an_audit_of_another_protector_is_refused(made):
    made.audit.write_text(json.dumps(audit_json(protector(epsilon=50.0))))
    code, said = made.make()
    assert code == 2 and "of this protector" in said


@pytest.mark.parametrize(
    "odd", ["x", {}, {"candidates": "many"}, {"candidates": 10, "detector": {"texts": 1}}]
)
def test_an_audit_with_an_odd_certificate_is_refused_in_one_line(made, odd):
    made.audit.write_text(json.dumps(audit_json(made.protector) | {"certificate": odd}))
    code, said = made.make()
    assert code == 2 and len(said.strip().splitlines()) == 1


@pytest.mark.parametrize("written", ["[]", "{}", "{", '{"settings": 3, "leakage": null}', "[" * 10**6])
def test_what_is_no_audit_is_refused_in_one_line(made, written):
    made.audit.write_text(written)
    code, said = made.make()
    assert code == 2 and len(said.strip().splitlines()) == 1


def test_another_protector_and_another_audit_are_told_apart(made):
    save_protector(protector(epsilon=99.0), made.folder / "other")
    code, said = made.verify("--protector", made.folder / "other")
    assert code == 1 and "FAILS  protector" in said and "FAILS  certificate" in said
    made.audit.write_text(made.audit.read_text() + "\n")
    code, said = made.verify("--audit", made.audit)
    assert code == 1 and "FAILS  audit's file" in said and "holds  audit:" in said


def test_a_signer_who_lies_about_the_certificate_is_caught_by_the_protector(made):
    def lie(card):
        found = card["certificate"]
        for name in found["success"]:
            found["success"][name] = found["pairs"][name]["success"] = found["prior"]
            found["bits"] = found["pairs"][name]["bits"] = 0.0

    resigned(made, lie)
    assert made.verify()[0] == 0  # he signed it, and it contradicts nothing
    code, said = made.verify("--protector", made.folder / "made")
    assert code == 1 and "FAILS  certificate: 10 places differ" in said and "holds  protector" in said


def test_a_signer_who_lies_about_the_audit_is_caught_by_its_file(made):
    resigned(made, lambda card: card["measured"]["leakage"].update(released=0.01))
    assert made.verify()[0] == 0
    code, said = made.verify("--audit", made.audit)
    assert code == 1 and "measured.leakage.released" in said


def test_a_signer_who_lies_about_the_detector_s_misses_is_caught_by_the_audit(made):
    """Whatever is computed from them is then consistent with the protector: only the audit counted them."""
    again = load_protector(made.folder / "made")
    audit = json.loads(made.audit.read_text())
    audit["certificate"] = certificate_of(again, detector=miss_rate_of(400, 100)).to_dict()
    made.audit.write_text(json.dumps(audit))
    assert made.make()[0] == 0
    inputs = ("--protector", made.folder / "made", "--audit", made.audit)
    assert made.read()["certificate"]["detector"]["missed"] == 100 and made.verify(*inputs)[0] == 0
    fewer = certificate_of(again, detector=miss_rate_of(400, 1)).to_dict()
    resigned(made, lambda card: card.update(certificate=fewer))
    code, said = made.verify(*inputs)
    assert code == 1 and "holds  certificate" in said and "the first at detector.missed" in said


@pytest.mark.parametrize("name", ["bits", "bayes_security", "any_guess"])
def test_figures_of_a_pair_that_do_not_go_together_are_a_contradiction(made, name):
    resigned(made, lambda card: card["certificate"]["pairs"]["median"].update({name: 0.3}))
    code, said = made.verify()
    assert code == 1 and "FAILS  figures: figures contradict each other" in said


def test_a_page_that_was_changed_or_is_of_another_card_is_caught(made):
    page = made.page.read_bytes()
    made.page.write_bytes(page.replace(b"names it with probability", b"never names it with probability"))
    code, said = made.verify("--page", made.page)
    assert code == 1 and "FAILS  page" in said
    made.page.write_bytes(page)
    assert made.make("--candidates", 99, out="other.json")[0] == 0
    assert made.verify("--page", made.folder / "other.html")[0] == 1


def test_the_audit_is_run_again_and_compared(tmp_path, capfd, monkeypatch):
    """A real one: learn, audit, card, and the same figures once more; a lie about them is caught."""
    from sfumato.cli import main
    from sfumato.records import DISEASES, make_records

    shrink(monkeypatch)
    made = Made(tmp_path, capfd)
    texts, terms, folder = tmp_path / "in.txt", tmp_path / "terms.txt", tmp_path / "learned"
    texts.write_text("\n".join(record.text for record in make_records(220, seed=0)) + "\n")
    terms.write_text("\n".join(DISEASES) + "\n")
    for words in (
        ["learn", texts, "--terms", terms, "--embedder", "fake:64", "--origin", "synthetic", "-o", folder],
        ["audit", texts, "--protector", folder, "--json", made.audit],
    ):
        with pytest.raises(SystemExit) as stopped:
            main.run([str(word) for word in words])
        assert stopped.value.code in (0, 3)  # so few texts may allow no verdict
    arguments = ("--audit", made.audit, "--signing-key", tmp_path / "key", "--texts", texts, "-o", made.card)
    code, said = made.run(folder, *arguments)
    assert code == 0, said
    opening = tmp_path / "card.opening"
    again = ("--protector", folder, "--texts", texts, "--opening", opening)
    code, said = made.verify(*again, "--tolerance", 0)
    assert code == 0 and "holds  audit again" in said and "holds  texts: the very texts" in said
    resigned(made, lambda card: card["measured"]["informed"].update(value=1.0))
    code, said = made.verify(*again)
    assert code == 1 and "FAILS  audit again: 1 places differ, the first at measured.informed.value" in said
    # One word of one text is another: told without running anything.
    texts.write_text(texts.read_text().replace("asthma", "gout", 1))
    code, said = made.verify(*again)
    assert code == 1 and "FAILS  texts: other texts" in said


def test_the_digest_of_the_texts_is_no_oracle_for_who_knows_all_but_a_term(made):
    from sfumato.cards.making import commit

    texts = made.folder / "in.txt"
    rows = [f"note {number} about asthma" for number in range(900)]
    texts.write_text("\n".join(rows) + "\n")
    assert made.make("--texts", texts)[0] == 0
    opening, first = made.folder / "card.opening", made.read()["data"]["texts"]
    assert opening.stat().st_mode & 0o777 == 0o600
    # Without what is in that file the digest is that of no guess; the same texts have another one each time.
    salt = bytes.fromhex(opening.read_text())
    assert commit(rows, salt) == first and commit(rows, bytes(32)) != first
    assert salt.hex() not in made.card.read_text() + made.page.read_text()
    code, said = made.make("--texts", texts)
    assert code == 2 and "opens another card" in said
    assert made.make("--texts", texts, out="again.json")[0] == 0
    assert json.loads((made.folder / "again.json").read_text())["data"]["texts"] != first
    opening.chmod(0o644)
    code, said = made.verify("--texts", texts, "--opening", opening, "--protector", made.folder / "made")
    assert code == 2 and "closed to group and others" in said


def test_an_audit_that_a_card_cannot_repeat_is_not_called_wrong(made):
    own = {"command": "sfumato audit in.txt --protector p --terms t.txt", "texts": 2}
    made.audit.write_text(json.dumps(audit_json(made.protector, **own)))
    assert made.make()[0] == 0
    (made.folder / "in.txt").write_text("one\ntwo\n")
    code, said = made.verify("--texts", made.folder / "in.txt", "--protector", made.folder / "made")
    assert code == 2 and "--terms, which a card cannot repeat" in said


def test_the_options_have_to_go_together(made):
    for arguments in (
        (),
        ("--verify", made.card),
        (made.folder / "made",),
        (made.folder / "made", "--verify", made.card),
        (made.folder / "made", "--audit", made.audit, "--signing-key", made.folder / "key", "-o", "x.html"),
        ("--verify", made.card, "--public-key", made.folder / "key.pub", "--tolerance", "nan"),
        ("--verify", made.folder / "none.json", "--public-key", made.folder / "key.pub"),
        ("--verify", made.folder, "--public-key", made.folder / "key.pub"),
    ):
        code, said = made.run(*arguments)
        assert code == 2 and len(said.strip().splitlines()) == 1, arguments


def test_checking_a_card_alone_loads_no_encoder_and_no_attack():
    code = "import sys, sfumato.cards.checking; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {"torch", "fastapi", "pyarrow", "sfumato.attacks.terms.tokens"} & loaded


def test_a_card_without_signature_is_no_card(made):
    card = made.read()
    assert problems(card) == [] and problems({**card, "signature": None})
    assert problems({key: value for key, value in card.items() if key != "signer"}) == [
        "card.signer is missing"
    ]
