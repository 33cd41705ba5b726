"""Attacks on the files that stores write: databases, logs and indexes, as bytes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.embedders.base import Embedder
from sfumato.sealing.records import Records
from sfumato.stores import open_store
from sfumato.types import Floats, Vectors
from sfumato_research.sealed.corpus import SealedCorpus
from sfumato_research.sealed.graphs import trained
from sfumato_research.sealed.views import StoreView, seal_rows, sealed_store, seen, simulated_records

KINDS = ("qdrant", "lancedb", "chroma")
_PAGE, _CHUNK = 4096, 1 << 16
_WORD = re.compile(r"[A-Za-z]{9,}")
_PUT_AT_ONCE = 2000


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """Everything a store wrote while it was still open, logs with it, by name."""

    contents: dict[str, bytes]

    @classmethod
    def under(cls, folder: Path) -> StoreFiles:
        """Every file under a folder."""
        return cls(
            {
                str(each.relative_to(folder)): each.read_bytes()
                for each in sorted(folder.rglob("*"))
                if each.is_file()
            }
        )

    def pages(self) -> Floats:
        """`[n, 66]` how often bytes occur in each page, its entropy, and its equal neighbours."""
        found = []
        for content in self.contents.values():
            for start in range(0, len(content), _PAGE):
                page = np.frombuffer(content[start : start + _PAGE], np.uint8)
                if len(page) > _PAGE // 8 and page.any():
                    counts = np.bincount(page, minlength=256) / len(page)
                    entropy = -(counts[counts > 0] * np.log2(counts[counts > 0])).sum()
                    repeated = float((page[1:] == page[:-1]).mean())
                    found.append([*counts.reshape(64, 4).sum(axis=1), entropy, repeated])
        return np.array(found)

    def compressed(self) -> Floats:
        """`[n]` what zlib leaves of each piece of 64 kB."""
        pieces = [
            content[start : start + _CHUNK]
            for content in self.contents.values()
            for start in range(0, len(content), _CHUNK)
        ]
        return np.array([len(zlib.compress(each)) / len(each) for each in pieces if len(each) > _CHUNK // 8])

    def words_found(self, texts: Sequence[str]) -> Floats:
        """`[n]` whether a long word of each text stands anywhere, in either case."""
        joined = b"\n".join(self.contents.values()).lower()
        longest = [max(_WORD.findall(text), key=len, default="") for text in texts]
        return np.array([bool(word) and word.lower().encode() in joined for word in longest], np.float64)


def sealed_files(
    kind: str, folder: Path, corpus: SealedCorpus, rows: int, embedder: Embedder
) -> tuple[StoreFiles, StoreView]:
    """Rows sealed into a store of that kind."""
    place = folder / "store"
    with sealed_store(open_store(f"{kind}:{place}#notes"), folder / "state", embedder) as store:
        seal_rows(store, corpus, range(rows))
        return StoreFiles.under(place), seen(store)


def simulated_files(kind: str, folder: Path, sizes: Sequence[int]) -> StoreFiles:
    """Records of these sizes in a store of that kind, written as the product writes its own."""
    place = folder / "store"
    made = sorted(simulated_records(sizes))
    with open_store(f"{kind}:{place}#notes") as store:
        records = Records(store)
        for start in range(0, len(made), _PUT_AT_ONCE):
            part = made[start : start + _PUT_AT_ONCE]
            records.put([name for name, _ in part], [content for _, content in part])
        records.settle()
        return StoreFiles.under(place)


def plain_files(kind: str, folder: Path, texts: Sequence[str], vectors: Vectors) -> StoreFiles:
    """The same rows in the clear."""
    place = folder / "store"
    with open_store(f"{kind}:{place}#notes") as store:
        for start in range(0, len(texts), _PUT_AT_ONCE):
            part = slice(start, start + _PUT_AT_ONCE)
            names = [f"{row:032x}" for row in range(start, start + len(texts[part]))]
            ids = [f"{each[:8]}-{each[8:12]}-{each[12:16]}-{each[16:20]}-{each[20:]}" for each in names]
            store.add(ids, vectors[part], [{"text": text} for text in texts[part]])
        store.flush()
        return StoreFiles.under(place)


def page_judge(one: Floats, other: Floats) -> Any:
    """A classifier that tells two kinds of pages apart."""
    return trained(np.concatenate([one, other]), np.repeat([1, 0], [len(one), len(other)]))


def told_apart(judge: Any, asked: Floats, beside: Floats) -> float:
    """The AUC of a judge's being sure of pages, beside others."""
    sure, others = (judge.predict_proba(each)[:, 1] for each in (asked, beside))
    held = np.sort(others)
    low, high = np.searchsorted(held, sure, "left"), np.searchsorted(held, sure, "right")
    return float(((low + high) / 2 / len(held)).mean())
