"""Named entities that spaCy finds in texts, as the papers find what is sensitive (SPARSE, appendix E).

    python -m sfumato_research.sparse.entities DATA FOLDER    # where there is spaCy, for where there is none

FOLDER/NAME.jsonl.gz holds a digest of each text and where its entities stand, and no text.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.concepts.base import Span
from sfumato.concepts.concept import Concept, surfaces
from sfumato.concepts.detectors.dictionary import Dictionary
from sfumato.concepts.detectors.labelled import Labelled
from sfumato.concepts.texts.swaps import TermSwap
from sfumato.errors import InputError
from sfumato.files import write_atomic

KINDS = ("person", "location", "organisation")
"""What counts: appendix E names persons, locations and organisations."""
Found = Mapping[str, Sequence[tuple[int, int, str]]]
"""For the digest of each text: start, end and kind of its entities."""


def digest(text: str) -> str:
    """What stands for a text where the text itself must not."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def find_entities(texts: Sequence[str]) -> Found:
    """Ask spaCy."""
    from sfumato.concepts.detectors.spacy import Spacy

    found = Spacy(labels=KINDS).find_many(texts)
    rows = zip(texts, found, strict=True)
    return {digest(text): [(span.start, span.end, span.label) for span in spans] for text, spans in rows}


def write_entities(found: Found, path: Path) -> None:
    """Keep what was found."""
    lines = [json.dumps([key, list(spans)]) for key, spans in found.items() if spans]
    everything = ("\n".join([json.dumps(len(found)), *lines]) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, gzip.compress(everything, mtime=0))


def read_entities(path: Path) -> Found:
    """What was kept; texts without entities are not in it."""
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        next(handle)
        return {
            key: [(start, end, label) for start, end, label in spans]
            for key, spans in map(json.loads, handle)
        }


def entity_concept(texts: Sequence[str], found: Found, at_least: int) -> Concept:
    """The entities that stand in enough of the texts; one may stand for another of its kind."""
    rows = [[Span(*span) for span in found.get(digest(text), ())] for text in texts]
    counts: Counter[str] = Counter()
    kinds: Counter[tuple[str, str]] = Counter()
    for text, spans in zip(texts, rows, strict=True):
        counts.update(surfaces(text, spans))
        kinds.update((surfaces(text, [span])[0], span.label) for span in spans)
    frequent = {term for term, count in counts.items() if count >= at_least}
    if len(frequent) < 2:
        raise InputError(f"At least 2 entities must stand in {at_least} texts. Found {len(frequent)}.")
    kind = {term: label for (term, label), _ in reversed(kinds.most_common())}
    groups = [sorted(term for term in frequent if kind[term] == each) for each in KINDS]
    kept = [
        (text, [span for span in spans if surfaces(text, [span])[0] in frequent])
        for text, spans in zip(texts, rows, strict=True)
    ]
    terms = tuple(sorted(frequent))
    elsewhere = Dictionary(terms, label="entity", name=f"{len(terms)} entities")
    return Concept(
        "entity",
        terms,
        Labelled(kept, name=f"spaCy, {len(terms)} entities", otherwise=elsewhere),
        placeholder="something",
        swap=TermSwap(*(group for group in groups if len(group) > 1)),
    )


def entities_of(name: str, texts: Sequence[str], cache: Path | None) -> Found:
    """Entities of a set, as they were kept beside its vectors, or found now."""
    path = None if cache is None else cache / "entities" / f"{name}.jsonl.gz"
    if path is not None and path.exists():
        return read_entities(path)
    found = find_entities(texts)
    if path is not None:
        write_entities(found, path)
    return found


def main() -> None:
    """Find and keep the entities of the sets that are run in both ways."""
    from sfumato_research.sparse.data import BOTH_WAYS, load_texts

    data, folder = map(Path, sys.argv[1:3])
    for name in BOTH_WAYS:
        write_entities(find_entities(load_texts(data, name)), folder / f"{name}.jsonl.gz")


if __name__ == "__main__":
    main()
