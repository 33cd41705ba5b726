"""DPPN, table 4: kinds of sensitive words in personal, medical and general texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from sfumato.concepts import Concept
from sfumato.concepts.lists import medical, people, places
from sfumato.errors import InputError
from sfumato.randomness import generator
from sfumato_research.dppn.defences import NAMES, levels, measured
from sfumato_research.dppn.printed import CATEGORIES, METHODS
from sfumato_research.sparse.data import cells_of, listed_concept, shortened
from sfumato_research.sparse.passages import MEDICAL, CutTexts, clinical_sentences, distinct
from sfumato_research.sparse.tradeoff import clean_of
from sfumato_research.studies.base import Cell, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.corpora import Corpus
from sfumato_research.studies.data import encoder, rows, sts
from sfumato_research.studies.kept import by_cells
from sfumato_research.studies.measured import sizes

FOLDERS = ("pii_presidio", "pii_contextual", *MEDICAL, "sts12")
_AGES = [f"{age}-year-old" for age in range(1, 100)]
_LEAST = 4
_RANDOM = 100


@lru_cache(maxsize=3)
def texts_of(data: Path, name: str) -> CutTexts:
    """Texts of one source of table 4."""
    if name == "medical":
        return clinical_sentences(data)
    if name == "PII":
        found = [
            [shortened(row["text"])]
            for folder, file in (("pii_presidio", "presidio"), ("pii_contextual", "contextual"))
            for row in rows(data, folder, file)
        ]
        return distinct(found)
    return distinct([text] for text in sts(data, "sts12").texts)


def _random_words(texts: Sequence[str], seed: int) -> Concept:
    """A hundred words that stand in enough texts, drawn at random."""
    counts = Counter(word for text in texts for word in set(text.lower().split()) if word.isalpha())
    able = sorted(word for word, count in counts.items() if len(word) > 3 and 8 <= count <= 0.02 * len(texts))
    drawn = generator(seed).permutation(len(able))[:_RANDOM]
    return Concept.from_terms("random", [able[place] for place in drawn])


_KINDS: dict[str, Sequence[Sequence[str]]] = {
    "sex": (people.FEMALE, people.MALE),
    "city": (places.CITIES,),
    "state": (places.STATES,),
    "country": (places.COUNTRIES,),
    "age": (_AGES,),
    "disease": (medical.DISEASES,),
    "symptom": (medical.SYMPTOMS,),
    "name": (people.NAMES,),
    "location": (places.COUNTRIES, places.STATES, places.CITIES, places.REGIONS),
}


def _concept(kind: str, texts: Sequence[str], seed: int) -> Concept:
    if kind == "random":
        return _random_words(texts, seed)
    return listed_concept(kind, texts, _KINDS[kind], _LEAST)


def category_comparison(setting: Setting, source: str, kind: str) -> Comparison:
    """The texts that hold a word of one category."""
    suite = sizes(setting, rows=800, pool=1000, epochs=15, copies=1, seeds=2, draws=2, searches=200)
    if setting.quick:
        suite = replace(suite, rows=200, pool=350)
    pieces = texts_of(setting.data, source)
    concept = _concept(kind, pieces.texts, setting.seed)
    corpus = Corpus(kind, pieces.texts, concept, groups=pieces.groups)
    kept = cells_of(setting, suite, "dppn", source, kind)
    return Comparison(corpus, encoder(setting), suite, kept=kept, seed=setting.seed)


@by_cells
def table4(setting: Setting) -> StudyOutcome:
    """Each category on its own texts."""
    ratio = levels(setting, (2,))[2]
    wanted = setting.pick(list(CATEGORIES), [("PII", "city"), ("medical", "disease"), ("STS12", "location")])
    lines: list[list[Cell | str | float | None]] = []
    gaps: dict[str, float] = {}
    left_out = []
    for source, kind in wanted:
        setting.on_step(f"table 4, {source}, {kind}")
        try:
            on = category_comparison(setting, source, kind)
        except InputError as error:
            left_out.append(f"{source} {kind}: {error}")
            continue
        printed = [number / 100 for number in CATEGORIES[source, kind]]
        clean = clean_of(on)
        leakage = clean.leakage
        found = {method: measured(on, method, ratio) for method in METHODS}
        gaps[f"{source} {kind}"] = found["dppn"].leakage.released - found["laplace"].leakage.released
        cells = [found[method].leaked(printed[at + 1]) for at, method in enumerate(METHODS)]
        lines.append(
            [source, kind, len(on.split.vocabulary.terms), leakage.rows, clean.leaked(printed[0]),
             Cell(leakage.floor), Cell(leakage.prior), *cells, found["laplace"].excess(),
             found["dppn"].excess()]
        )  # fmt: skip
    return StudyOutcome([_table(lines, ratio, left_out)], findings=[_finding(gaps)])


def _table(lines: list[list[Cell | str | float | None]], ratio: float, left_out: list[str]) -> StudyTable:
    note = (
        f"Noise ratio {ratio:.2f}, the level of printed ε 2; an attacker trained on releases. Personal "
        "texts: Presidio's and contextual PII in place of PII-300K; medical: sentences of MTSamples and of "
        "made-up notes in place of MIMIC-III, those of a note on one side of the cut. Two attackers, two "
        "releases each. Words are those of lists that stand in at least four "
        "texts; random: a hundred words. In "
        "brackets: printed." + "".join(f" Left out: {reason}" for reason in left_out)
    )
    columns = ("texts", "category", "terms", "attacked", "clean", "floor", "prior", *NAMES.values(),
               "excess, Laplace", "excess, DPPN")  # fmt: skip
    return StudyTable("Table 4: categories", columns, lines, note)


def _finding(gaps: dict[str, float]) -> Finding:
    printed = [cells[3] - cells[1] for cells in CATEGORIES.values()]
    lower = sum(gap < 0 for gap in gaps.values())
    mean = sum(gaps.values()) / max(1, len(gaps))
    same = bool(gaps) and lower > len(gaps) / 2 and mean < 0
    return Finding(
        "Table 4",
        "DPPN leaks less than Laplace noise in every category",
        f"less in {len(printed)} of {len(printed)}, by {sum(printed) / len(printed):+.1f} points on average",
        f"less in {lower} of {len(gaps)}, by {100 * mean:+.1f} points on average",
        same if gaps else None,
        "" if same else "as in table 1: adaptive attackers read what is left without noise",
    )
