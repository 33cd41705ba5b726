"""A concept: what to protect, how it is found in a text, and how it is taken out or replaced."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfumato.concepts.base import Check, Detector, Span
from sfumato.concepts.detectors.dictionary import Dictionary, folded
from sfumato.concepts.detectors.labelled import Labelled
from sfumato.concepts.spans import SpanLike, find_all, is_exact, merge, read_spans, relabel, watched
from sfumato.concepts.texts.edits import cut, exchange, put
from sfumato.concepts.texts.swaps import Swap, TermSwap
from sfumato.errors import ArtifactError, InputError, ParameterError

_ROUNDS = 10
MOST_MENTIONS = 4096
"""Of one concept in one text, where many texts are searched: more is no text anybody wrote."""


@dataclass(frozen=True, repr=False)
class Concept:
    """What to protect: a name, terms where they are known, and what finds it."""

    name: str
    terms: tuple[str, ...] = ()
    detector: Detector | None = field(default=None, compare=False)
    """None where the spans come with the data."""
    source: str = "detector"
    """Where it came from: terms, catalog, detector or spans."""
    labels: tuple[str, ...] = ()
    """Which labels count, where the spans come with the data."""
    placeholder: str = "something"
    """A neutral word that can stand in its place."""
    swap: Swap | None = field(default=None, compare=False)
    """Makes another value of the concept."""
    ignore_case: bool = True
    wide: bool = False
    """Whether capitalised words of any kind count, too."""
    threshold: float | None = None
    """How likely the tagger has to hold a word to be of the kind; None where that is its own."""

    def __post_init__(self) -> None:
        """Check that there is a name and a way to find something."""
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError("A concept must have a name. Found none.")
        if (self.detector is None) != (self.source == "spans"):
            raise ParameterError("A concept must have a detector, or take its spans from the data.")

    @classmethod
    def from_terms(cls, name: str, terms: Iterable[str], *, ignore_case: bool = True) -> Concept:
        """Protect these terms wherever they stand as whole words."""
        if isinstance(terms, str):
            raise ParameterError("`terms` must be a list of strings. Found one string.")
        listed: dict[str, str] = {}
        for term in terms:
            if not isinstance(term, str):
                raise ParameterError(f"Every term must be a string. Found {type(term).__name__}.")
            cleaned = " ".join(term.split())
            if cleaned:
                listed.setdefault(folded(cleaned) if ignore_case else cleaned, cleaned)
        if not listed:
            raise ParameterError(f"The concept `{name}` must have at least one term. Found none.")
        kept = tuple(listed.values())
        detector = Dictionary(kept, label=name, name=f"{len(kept)} listed terms", ignore_case=ignore_case)
        return cls(name, kept, detector, "terms", swap=TermSwap(kept), ignore_case=ignore_case)

    @classmethod
    def from_detector(cls, name: str, detector: Detector, *, terms: Iterable[str] = ()) -> Concept:
        """Protect whatever a detector finds; terms, where given, can stand in for each other."""
        kept = tuple(dict.fromkeys(terms))
        return cls(name, kept, detector, swap=TermSwap(kept) if kept else None)

    @classmethod
    def from_spans(cls, label: str, *, name: str | None = None) -> Concept:
        """Protect the spans that come with the data under a label, or under one of several between commas."""
        labels = tuple(part.strip() for part in label.split(",") if part.strip())
        if not labels:
            raise ParameterError("A concept from spans must name a label. Found none.")
        return cls(name or labels[0].lower(), source="spans", labels=labels)

    @classmethod
    def from_presidio(cls, name: str, results: Iterable[Any]) -> Concept:
        """Protect what Presidio found: pairs of a text and its results, or what its batch engine returns.

        In those texts the spans are Presidio's; in others the same terms count wherever they are written.
        """
        from sfumato.concepts.detectors.presidio import from_results

        rows = [(text, from_results(found)) for text, found in _presidio_rows(results)]
        surfaces = (text[span.start : span.end] for text, spans in rows for span in spans)
        terms = cls.from_terms(name, surfaces)
        labelled = Labelled(rows, name="Presidio's results", otherwise=terms.detector)
        return replace(terms, detector=labelled)

    @classmethod
    def named(cls, name: str, *, wide: bool = False, threshold: float | None = None) -> Concept:
        """Protect a concept of the catalog, found with the best of what is installed.

        Args:
            name: one of `sfumato concepts`.
            wide: for kinds of names: every capitalised word that is not a common one counts, too, so that
                far fewer names are missed and more words are hidden.
            threshold: how likely the tagger has to hold a word to be of the kind, 0 to 1; see
                `sfumato.tagging.calibration`.
        """
        from sfumato.concepts.catalog import lookup

        entry = lookup(name)
        return cls(
            entry.name,
            entry.terms,
            entry.detector(wide=wide, threshold=threshold),
            "catalog",
            placeholder=entry.placeholder,
            swap=entry.swap,
            wide=wide,
            threshold=threshold,
        )

    @property
    def found_by(self) -> str:
        """The name of what finds it."""
        return self.detector.name if self.detector else f"spans labelled {', '.join(self.labels)}"

    @property
    def is_name(self) -> bool:
        """Whether it is a kind of names of the catalog, of which a detector may miss some."""
        from sfumato.concepts.catalog import lookup

        return self.source == "catalog" and lookup(self.name).names

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which a concept of the catalog is found here; none where any will do."""
        from sfumato.concepts.catalog import lookup
        from sfumato.concepts.languages.profiles import LATIN

        if self.source != "catalog":
            return ()
        found = lookup(self.name).languages()
        # Capitalised words are found in whatever is written with Latin letters.
        return tuple(dict.fromkeys((*found, *LATIN))) if self.wide and found else found

    @property
    def blind_to(self) -> str:
        """What is not found."""
        return self.detector.blind_to if self.detector else "Whatever was not labelled."

    def find(self, text: str, spans: Iterable[SpanLike] | None = None) -> list[Span]:
        """Return where the concept stands, in reading order; `spans` are those the text came with."""
        if self.detector is not None:
            return relabel(self.detector.find(text), self.name)
        return self._labelled(text, spans, None)

    def find_all(
        self,
        texts: Sequence[str],
        spans: Sequence[Iterable[SpanLike]] | None = None,
        *,
        check: Check | None = None,
    ) -> Iterator[list[Span]]:
        """Return where the concept stands in each of many texts, in batches where the detector can.

        Args:
            texts: where to look.
            spans: those the texts came with, where the concept takes them from the data.
            check: called before each text and between pieces of a long one; what it raises ends the search.
        """
        return (self._few(found, row) for row, found in enumerate(self._each(texts, spans, check)))

    def _each(
        self, texts: Sequence[str], spans: Sequence[Iterable[SpanLike]] | None, check: Check | None
    ) -> Iterator[list[Span]]:
        if self.detector is not None:
            return (relabel(found, self.name) for found in find_all(self.detector, texts, check))
        given: Sequence[Iterable[SpanLike] | None] = [None] * len(texts) if spans is None else spans
        if len(given) != len(texts):
            raise ParameterError(
                f"Every text must have its spans. Found {len(given)} for {len(texts)} texts."
            )
        return (self._labelled(text, given[row], row) for row, text in enumerate(watched(texts, check)))

    def _few(self, found: list[Span], row: int) -> list[Span]:
        if len(found) > MOST_MENTIONS:
            raise InputError(
                f"A text may hold at most {MOST_MENTIONS:,} mentions of `{self.name}`. "
                f"Found {len(found):,} in row {row}. Split it."
            )
        return found

    def terms_in(self, text: str, spans: Iterable[SpanLike] | None = None) -> list[str]:
        """Return the different sensitive strings of a text, in lower case and in reading order."""
        return surfaces(text, self.find(text, spans))

    def remove(self, text: str, spans: Iterable[SpanLike] | None = None) -> str:
        """Take the concept out, and tidy spaces and punctuation where it stood."""
        return self.without(text, self.find(text, spans))

    def without(self, text: str, found: Sequence[Span]) -> str:
        """Take out what `find` found, and what only shows once that is gone."""
        again = self.detector is not None and is_exact(self.detector)
        for _ in range(_ROUNDS):
            if not found:
                break
            text = cut(text, found)
            # What is left on both sides can make up another term.
            found = self.find(text) if again else []
        return text

    def replace(
        self,
        text: str,
        with_: str | Callable[[str], str] | None = None,
        spans: Iterable[SpanLike] | None = None,
    ) -> str:
        """Put a neutral word, a string or the result of a function in the concept's place."""
        value = self.placeholder if with_ is None else with_
        return put(text, self.find(text, spans), value if callable(value) else lambda found: value)

    def substitute(self, text: str, rng: np.random.Generator, spans: Iterable[SpanLike] | None = None) -> str:
        """Put another value of the concept in its place, in the same case and never the same value."""
        if self.swap is None:
            raise ParameterError(
                f"The concept `{self.name}` must have terms to put one in another's place. Found none: "
                "give it terms, or build pairs from many texts."
            )
        return exchange(text, self.find(text, spans), self.swap, rng)

    def to_dict(self) -> dict[str, Any]:
        """Return what has to be kept to make the concept again: its terms or its name, and no text."""
        kept: dict[str, Any] = {"name": self.name, "source": self.source, "found_by": self.found_by}
        if self.source != "catalog" and self.terms:
            kept["terms"] = list(self.terms)
        if self.source == "terms":
            kept["ignore_case"] = self.ignore_case
        if self.labels:
            kept["labels"] = list(self.labels)
        if self.wide:
            kept["wide"] = True
        if self.threshold is not None:
            kept["threshold"] = self.threshold
        return kept

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], *, detector: Detector | None = None) -> Concept:
        """Make a concept again; one that was found by a detector of your own needs that detector."""
        try:
            name, source = str(kept["name"]), kept["source"]
            if source == "terms":
                return cls.from_terms(name, kept["terms"], ignore_case=bool(kept.get("ignore_case", True)))
            if source == "catalog":
                limit = kept.get("threshold")
                concept = cls.named(
                    name,
                    wide=bool(kept.get("wide", False)),
                    threshold=None if limit is None else float(limit),
                )
                concept._warn_if_found_differently(kept.get("found_by"))
                return concept
            if source == "spans":
                return cls.from_spans(",".join(kept["labels"]), name=name)
            if source == "detector" and detector is not None:
                return cls.from_detector(name, detector, terms=kept.get("terms", ()))
        except (KeyError, TypeError) as error:
            raise ArtifactError("A saved concept has to hold a name, a source and its terms.") from error
        if source == "detector":
            raise ParameterError(
                f"The concept `{name}` was found by a detector of its own. Hand it over as `detector`."
            )
        raise ArtifactError(f"A saved concept has to come from a known source. Found {source!r:.40}.")

    def __repr__(self) -> str:
        """Show how it is found and never a term."""
        return f"Concept({self.name!r}, {len(self.terms)} terms, found by {self.found_by})"

    def _warn_if_found_differently(self, before: object) -> None:
        # A package that is missing here would leave texts unprotected without a word.
        if isinstance(before, str) and before != self.found_by:
            warnings.warn(
                f"The concept `{self.name}` was saved where it was found by {before:.200}; "
                f"here it is found by {self.found_by}.",
                stacklevel=3,
            )

    def _labelled(self, text: str, spans: Iterable[SpanLike] | None, row: int | None) -> list[Span]:
        if spans is None:
            raise ParameterError(
                f"The concept `{self.name}` takes its spans from the data. Found none beside the text: give "
                "`spans`, or name a detector."
            )
        wanted = {label.casefold() for label in self.labels}
        found = read_spans(spans, len(text), row=row)
        kept = merge(span for span in found if span.label.casefold() in wanted)
        return relabel(kept, self.name)


def surfaces(text: str, spans: Iterable[Span]) -> list[str]:
    """Return the different strings under the spans, in lower case and in reading order."""
    return list(dict.fromkeys(" ".join(text[span.start : span.end].lower().split()) for span in spans))


def _presidio_rows(results: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for item in results:
        if hasattr(item, "recognizer_results"):
            many = not isinstance(item.value, str)
            yield from zip(
                item.value if many else [item.value],
                item.recognizer_results if many else [item.recognizer_results],
                strict=True,
            )
        else:
            yield item
