"""Contents that no row has are found wherever they stand, and nothing that a row has is taken for one."""

from __future__ import annotations

import base64
import hashlib

import pytest

from sfumato.sealing.crypto.envelope import Bound, Envelope
from sfumato.sealing.inspection.files import blocks
from sfumato.sealing.inspection.leftovers import HEAD_CHARACTERS, SealedContents

PAGE = 4096
ENVELOPE = Envelope(bytes(range(32)))
SALT = b"s" * 32


def text_of(name: str, characters: int = 600) -> bytes:
    """A content as a file holds it: how every one begins, and then characters by chance, the same always."""
    made = hashlib.shake_256(name.encode()).digest(characters)
    return b"AQ" + base64.b64encode(made)[: characters - 2]


LIVE = [text_of(f"live {row}", 540 + 4 * row) for row in range(60)]
STRANGE = [text_of(f"strange {row}") for row in range(6)]


def found_in(*blocks: bytes, live=LIVE, salts=()) -> tuple[SealedContents, dict[bytes, tuple[bytes, ...]]]:
    contents = SealedContents(ENVELOPE, map(base64.b64decode, live), salts)
    found: dict[bytes, tuple[bytes, ...]] = {}
    for block in blocks:
        contents.gather(block, found)
    return contents, found


def heads(*texts: bytes) -> list[bytes]:
    return [each[:HEAD_CHARACTERS] for each in texts]


@pytest.mark.parametrize("before", [b"", b"A", b"AQ", b"AAQ", b"zzAf", b"QAd7AQ", b"/AZ+0AQabc9AQ"])
@pytest.mark.parametrize("after", [b"", b"A", b"AQ", b"zzz", b"AQAQAQAQ"])
def test_a_content_that_is_cut_anywhere_beside_any_character_is_still_that_of_a_row(before, after):
    """As the last byte of a page's number, or the first of the next cell, is when it is a character."""
    whole = b"\0".join(before + text[cut:] + after for text in LIVE[:5] for cut in range(len(text)))
    assert found_in(whole)[1] == {}


def test_a_content_that_ends_anywhere_and_is_followed_by_another_is_still_that_of_a_row():
    first, second = LIVE[0], LIVE[1]
    joined = [first[cut:] + second for cut in range(len(first))]
    joined += [first[:cut] + second for cut in range(len(first))]
    assert found_in(b"\0".join(joined))[1] == {}


@pytest.mark.parametrize("size", [512, PAGE])
def test_pages_that_begin_with_any_number_hold_nothing_strange(size):
    """SQLite continues what is too long for a page on others, after four bytes, the next one's number."""
    whole = b"\x07\x81".join(LIVE * 40)
    step = size - 4
    pages = [(at // step).to_bytes(4, "big") + whole[at : at + step] for at in range(0, len(whole), step)]
    assert any(page[3:4].isalnum() for page in pages)
    contents, found = found_in(b"".join(pages))
    assert found == {} and contents.seen > len(LIVE)


@pytest.mark.parametrize("size", [200, 311, 4096])
def test_blocks_that_are_read_one_by_one_hide_and_invent_nothing(size, tmp_path):
    (tmp_path / "file").write_bytes(b"}{".join([*LIVE[:30], STRANGE[0], *LIVE[30:], STRANGE[1]]))
    _, found = found_in(*blocks(tmp_path / "file", 2 * HEAD_CHARACTERS, size=size))
    every = {head for each in found.values() for head in each}
    assert every >= set(heads(*STRANGE[:2]))
    assert all(any(head in strange for strange in STRANGE[:2]) for head in every)


def test_a_leftover_is_found_whatever_stands_beside_it():
    own, other = STRANGE[0], LIVE[0]
    for before in (b"", b"A", b"AQ", other, other[:40], other[:33], other[100:], STRANGE[1]):
        for after in (b"", b"A", b"AQ", b"=", other, other[40:], STRANGE[2]):
            _, found = found_in(b"\0" + before + own + after + b"\0")
            assert own[:HEAD_CHARACTERS] in {head for each in found.values() for head in each}


def test_a_leftover_is_found_in_what_is_left_of_a_row():
    """Where it was written over the end of a content whose beginning is still there."""
    for cut in range(32, len(LIVE[0])):
        _, found = found_in(LIVE[0][:cut] + STRANGE[0])
        assert STRANGE[0][:HEAD_CHARACTERS] in {head for each in found.values() for head in each}, cut


def test_two_leftovers_behind_one_another_are_both_kept():
    first, second, third = STRANGE[:3]
    for order in ([first + second, first, first + third], [first + third, first + second, first]):
        _, found = found_in(*order)
        assert set(found[first[:HEAD_CHARACTERS]]) >= set(heads(first, second, third))


def test_a_leftover_that_opens_is_told_beside_a_count_of_changes():
    bound = Bound(tenant="", collection="c", record_id="r", kind="text")
    counter, row = (ENVELOPE.seal(b"text", bound, salt) for salt in (None, SALT))
    made = [base64.b64encode(each)[:HEAD_CHARACTERS] for each in (counter, row)]
    contents = found_in(b"", salts=[SALT])[0]
    assert contents.opens(made[:1]) is None and contents.opens(made[1:]) is True
    assert contents.opens(made) is True and contents.opens(heads(STRANGE[0])) is False


def test_without_rows_everything_is_strange():
    assert list(found_in(STRANGE[0], live=[])[1]) == heads(STRANGE[0])
