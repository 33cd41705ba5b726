"""The paragraphs of a file, by its kind: pages, manuals, messages, dictionaries, modules, data."""

from __future__ import annotations

import gzip
import html
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

TAG = re.compile(r"<[^>]*>")
BLOCK = re.compile(
    r"(?i)</?(?:p|div|li|ul|ol|td|th|tr|table|dd|dt|dl|h\d|pre|br|section|title|para|item|note|entry|listitem|screen"
    r"|simpara|term|desc|blockquote|programlisting|figure)\b[^>]*>"
)
DROPPED = re.compile(r"(?is)<(script|style|pre|code-block|screen|programlisting|svg|head)\b.*?</\1>")
QUOTED = re.compile(r'"((?:[^"\\\n]|\\.){15,1500})"')
TRIPLE = re.compile(r'"""(.{15,8000}?)"""', re.S)
PAGES = (".html", ".htm", ".xhtml", ".page", ".docbook", ".xml", ".dbk", ".xhp", ".qhp")
PROSE = (".txt", ".md", ".rst", ".texi", ".adoc", ".csv", ".tsv", ".u8", ".log", ".diff0", ".pod", ".tex", "")
DATA = (
    ".json",
    ".cfg",
    ".lua",
    ".dat",
    ".js",
    ".ts",
    ".ruleset",
    ".yml",
    ".yaml",
    ".aiml",
    ".ent",
    ".stg",
    ".inf",
    ".ftl",
    ".properties",
    ".dtd",
)


def paragraphs_of(name: str, raw: bytes) -> Iterator[str]:
    """Texts in a file; none for a kind that holds none."""
    path = PurePosixPath(name)
    if path.suffix in (".gz", ".dz"):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            return
        path = path.with_suffix("")
    kind = path.suffix.lower()
    if kind == ".mo":
        yield from messages(raw)
    elif kind in (".bzz", ".czz", ".zdt", ".rdb"):
        yield from modules(raw)
    elif b"\0" not in raw[:4000]:
        yield from _texts(path, kind, raw.decode("utf-8", "ignore"))


def _texts(path: PurePosixPath, kind: str, text: str) -> Iterator[str]:
    """Of a file that is no archive."""
    marked = text[:200].lstrip().startswith(("<?xml", "<!DOCTYPE", "<html"))
    if path.name in ("data.noun", "data.verb", "data.adj", "data.adv"):
        yield from glosses(text)
    elif kind in (*PAGES, ".aiml") or marked:
        yield from page(text)
    elif re.fullmatch(r"\.[1-9]\w*", kind):
        yield from manual(text)
    elif kind == ".py":
        for found in TRIPLE.findall(text):
            yield from prose(found)
    elif kind in DATA:
        yield from data(text)
    elif kind == ".dict":
        yield from dictionary(text)
    elif kind in PROSE:
        yield from prose(text)


def glosses(text: str) -> Iterator[str]:
    """Of WordNet's own files: definitions and examples."""
    for line in text.split("\n"):
        yield from (part.strip(' "') for part in re.split(r"; ?", line.partition(" | ")[2]))


def page(text: str) -> Iterator[str]:
    """Of HTML and XML: what stands between two blocks."""
    text = DROPPED.sub("\n\n", text)
    for part in BLOCK.sub("\0", text).split("\0"):
        if len(part) > 15:
            yield html.unescape(html.unescape(TAG.sub("", part)))


def manual(text: str) -> Iterator[str]:
    """Of a page in roff."""
    text = re.sub(r"(?m)^[.'](?:[BIRSM]{1,2}|Nm|Em|Fl|Ar|Pa|Xr|Cm|Dv|Va|Li|Ic)\s+(.*)$", r"\1", text)
    text = re.sub(r"\\f[BIRPCW]|\\f\(..|\\&|\\c|\\/|\\,", "", text).replace("\\-", "-").replace("\\(aq", "'")
    for part in re.split(r"(?m)^[.'].*$|\n\s*\n", text):
        yield part.replace('"', "")


def prose(text: str) -> Iterator[str]:
    """Of plain text: what stands between empty lines, bullets and fortune's signs."""
    for part in re.split(r"\n\s*\n|\n%\n|\n\s*(?:[-*+•]|\d+[.)])\s+|\n\s*(?=:\w+:)|\t|\r\n\r\n", text):
        if len(part) > 15:
            yield TAG.sub("", part) if "<" in part else part


def dictionary(text: str) -> Iterator[str]:
    """Of a dictionary: definitions and examples, without pronunciations, sources and the signs of links."""
    text = re.sub(r"\[[^\]\n]{0,60}\]|\\\\[^\\\n]{0,60}\\\\|[{}]", "", text)
    for part in re.split(r"\n\s*\n|\n(?=\S)|\n\s+(?=(?:\d+|\([a-z]\)|--|Note:|Syn:|[a-z]+ \d+:)[. :])", text):
        yield re.sub(r"^\s*(?:\d+\.|\([a-z]\)|(?:n|v|adj|adv|\d+) ?\d*:|Note:|Syn:|--)\s*", "", part)
        yield from re.findall(r'"([^"]{15,200})"', part)


def data(text: str) -> Iterator[str]:
    """Of data and programs: long strings in quotation marks, and what follows a key."""
    for found in QUOTED.findall(text):
        if " " in found:
            plain = found.replace("\\n", "\n").replace('\\"', '"').replace("\\/", "/").replace("\\u2019", "'")
            yield from page(plain) if "<" in plain else plain.split("\n\n")
    yield from re.findall(r"(?m)^\s*(?:-\s+|[\w-]+\s*[:=]\s+)([A-Z][^\"{}\n]{15,400})$", text)


def messages(raw: bytes) -> Iterator[str]:
    """The originals of a catalogue of messages."""
    order = "<" if raw[:4] == b"\xde\x12\x04\x95" else ">"
    count, at = struct.unpack(order + "2I", raw[8:16])
    for number in range(min(count, 200_000)):
        length, offset = struct.unpack(order + "2I", raw[at + 8 * number : at + 8 * number + 8])
        text = raw[offset : offset + length].decode("utf-8", "ignore").rpartition("\4")[2].partition("\0")[0]
        if " " in text:
            yield from page(text.replace("_", "", 1).replace("&", "") if len(text) < 60 else text)


def modules(raw: bytes) -> Iterator[str]:
    """Of compressed modules: every deflated block that is there."""
    at = 0
    while at < len(raw) - 8:
        start = raw.find(b"\x78", at)
        if start < 0:
            return
        unpacker = zlib.decompressobj()
        try:
            text = unpacker.decompress(raw[start:], 1 << 25)
        except zlib.error:
            at = start + 1
            continue
        used = len(raw) - start - len(unpacker.unused_data)
        at = start + max(used, 2)
        for part in re.split(rb"[\0-\x08\x0b-\x1f]+", text):
            if len(part) > 15:
                yield from page(part.decode("utf-8", "ignore"))
