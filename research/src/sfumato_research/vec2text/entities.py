"""Kinds of entities that are read: by labels where there are labels, else as our detectors tell (Table 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sfumato.concepts import Concept
from sfumato.metrics import count_leaked
from sfumato.metrics.leakage import named
from sfumato.randomness import generator
from sfumato_research.studies.base import Entry, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import rows
from sfumato_research.studies.kept import KeptCells
from sfumato_research.vec2text.gains import apart, described, share_cell
from sfumato_research.vec2text.texts import ReadyMadeReaders, shortened, steps_label

LABELLED: dict[str, tuple[str, str, Mapping[str, str]]] = {
    # set: folder, file, and the kind that each label is of
    "CoNLL-2003": (
        "conll2003", "conll2003",
        {"PER": "names", "LOC": "places", "ORG": "organisations", "MISC": "other names"},
    ),
    "Presidio": (
        "pii_presidio", "presidio",
        {
            "PERSON": "names", "LOCATION": "places", "GPE": "places", "ORGANIZATION": "organisations",
            "DATE_TIME": "dates", "ADDRESS": "addresses", "STREET_ADDRESS": "addresses", "AGE": "numbers",
            "CREDIT_CARD": "long numbers", "PHONE_NUMBER": "long numbers", "US_SSN": "long numbers",
            "EMAIL_ADDRESS": "e-mail addresses", "ZIP_CODE": "numbers", "NRP": "other names",
        },
    ),
    "contextual": (
        "pii_contextual", "contextual",
        {
            "NAME": "names", "DOCTOR": "names", "DATE": "dates", "COMPANY": "organisations",
            "SCHOOL": "organisations",
            "LOCATION": "places", "ADDRESS": "addresses", "DIAGNOSIS": "diseases", "MEDICATION": "drugs",
            "CURRENCY": "numbers", "TIME": "numbers", "PHONE": "long numbers", "ACCOUNT": "long numbers",
            "EMAIL": "e-mail addresses",
        },
    ),
    "medical notes": (
        "pii_medical_notes", "notes",
        {"NAME": "names", "DATE_OF_BIRTH": "dates", "ADDRESS": "addresses", "PHONE": "long numbers"},
    ),
}  # fmt: skip
DETECTED = {"diseases": "disease", "drugs": "medication"}
"""Kinds and the concepts of ours that find them, in medical reports without labels."""
KINDS = (
    "names", "places", "organisations", "other names", "dates", "numbers", "long numbers", "addresses",
    "e-mail addresses", "diseases", "drugs",
)  # fmt: skip
REPORTS = "medical reports"
_LINE = re.compile(r"[.!?]\s+|\n+")


@dataclass(frozen=True, slots=True, eq=False)
class EntityTexts:
    """Texts of a set, cut, with what stands in them by kind."""

    texts: list[str]
    held: dict[str, list[list[str]]]
    """For each kind, the entities that stand whole in each text."""
    by_labels: bool


def labelled_texts(data: Path, name: str, count: int, seed: int) -> EntityTexts:
    """Texts from the line or sentence of an entity on, cut, with the labelled ones left in them."""
    folder, file, kinds = LABELLED[name]
    given = [row for row in rows(data, folder, file) if any(span["label"] in kinds for span in row["spans"])]
    random = generator(seed)
    texts: list[str] = []
    values: list[list[tuple[str, str]]] = []
    for at in random.permutation(len(given))[:count]:
        row = given[at]
        spans = [span for span in row["spans"] if span["label"] in kinds]
        first = spans[int(random.integers(len(spans)))]["start"]
        begin = max((match.end() for match in _LINE.finditer(row["text"], 0, first)), default=0)
        texts.append(row["text"][begin:])
        values.append([(kinds[span["label"]], row["text"][span["start"] : span["end"]]) for span in spans])
    cut = shortened(texts)
    return EntityTexts(cut, {kind: _standing(kind, cut, values) for kind in KINDS}, True)


def detected_texts(data: Path, count: int, seed: int) -> EntityTexts:
    """Medical reports from the sentence of a disease on, cut, with what our detectors find in them."""
    reports = [row["transcription"] for row in rows(data, "mtsamples", "mtsamples")]
    order = generator(seed).permutation(len(reports))
    concepts = {kind: Concept.named(name) for kind, name in DETECTED.items()}
    texts: list[str] = []
    for at in order:
        text = reports[at][:2000]
        spans = concepts["diseases"].find(text)
        if spans:
            begin = max((match.end() for match in _LINE.finditer(text, 0, spans[0].start)), default=0)
            texts.append(text[begin : begin + 400])
        if len(texts) == count:
            break
    values = [
        [(kind, term) for kind, concept in concepts.items() for term in concept.terms_in(text)]
        + [("numbers", word) for word in re.findall(r"\b\d[\d./-]*\b", text)]
        for text in texts
    ]
    cut = shortened(texts)
    return EntityTexts(cut, {kind: _standing(kind, cut, values) for kind in KINDS}, False)


def _kept_reports(setting: Setting, count: int) -> EntityTexts:
    """The medical reports, as they were found before: a machine with a GPU may lack the detectors' lists."""
    cells = KeptCells(None if setting.cache is None else setting.cache / "vec2text")
    found = cells.value(
        f"{REPORTS}, {count}, seed {setting.seed}",
        lambda: asdict(detected_texts(setting.data, count, setting.seed)),
    )
    return EntityTexts(**found)


def _standing(
    kind: str, texts: Sequence[str], values: Sequence[Sequence[tuple[str, str]]]
) -> list[list[str]]:
    """The entities of one kind that stand whole in each cut text, each once."""
    found: list[list[str]] = []
    for text, own in zip(texts, values, strict=True):
        wanted = list(dict.fromkeys(value for each, value in own if each == kind))
        found.append([value for value in wanted if all((named([value], text) or {(): False}).values())])
    return found


def entities(setting: Setting) -> StudyOutcome:
    """Kinds of entities in several sets, and how many of each are read."""
    readers = ReadyMadeReaders(setting)
    few, steps = setting.pick(200 if readers.gpu else 80, 4), setting.pick(20, 1)
    sets = {
        name: labelled_texts(setting.data, name, few, setting.seed)
        for name, (folder, _, _) in LABELLED.items()
        if (setting.data / folder).is_dir()
    }
    if (setting.data / "mtsamples").is_dir():
        sets[REPORTS] = _kept_reports(setting, few)
    vectors = readers.vectors([text for each in sets.values() for text in each.texts])
    setting.on_step(f"{steps} steps")
    greedy = readers.rounds(vectors, steps)
    read = {"0 steps": greedy.texts(0), steps_label(steps): greedy.texts(steps)}
    read |= readers.beamed(vectors)
    table: list[list[Entry]] = []
    pooled: dict[str, tuple[list[list[str]], list[str]]] = {}
    best = list(read)[-1]
    start = 0
    for name, each in sets.items():
        stop = start + len(each.texts)
        for kind in KINDS:
            kept = [at for at, own in enumerate(each.held[kind]) if own]
            if len(kept) < setting.pick(10, 1):
                continue
            truth = [each.held[kind][at] for at in kept]
            row: list[Entry] = [kind, name, "labels" if each.by_labels else "our detectors"]
            row += [len(kept), sum(map(len, truth))]
            for found in read.values():
                hits = count_leaked(truth, [found[start + at] for at in kept])
                row.append(share_cell(hits.found, hits.total))
            table.append(row)
            whole = pooled.setdefault(kind, ([], []))
            whole[0].extend(truth)
            whole[1].extend(read[best][start + at] for at in kept)
        start = stop
    table.sort(key=lambda row: KINDS.index(str(row[0])))
    return StudyOutcome(
        [
            StudyTable(
                "Entities that were read, by kind",
                ["kind", "set", "truth from", "texts", "entities", *read],
                table,
                "An entity counts when all its words stand in what was read, one after the other. Texts "
                "begin with the line or sentence of one of their entities and are cut at 32 wordpieces; "
                "only entities that stand whole in them count. The paper's kinds are those of a clinical "
                "extractor, run on true and on read notes. Numbers of medical reports: every word of "
                "digits.",
            )
        ],
        findings=_entity_findings(pooled, best),
    )


def _entity_findings(pooled: dict[str, tuple[list[list[str]], list[str]]], label: str) -> list[Finding]:
    cells = {}
    for kind, (truth, found) in pooled.items():
        hits = count_leaked(truth, found)
        cells[kind] = share_cell(hits.found, hits.total)
    ranked = sorted(cells, key=lambda kind: -(cells[kind].value or 0.0))
    if len(ranked) < 2:
        return []
    return [
        Finding(
            "Table 3, kinds",
            "some kinds of entities are read far better than others",
            "clinical events best, detailed descriptions worst, no figure",
            ", ".join(f"{kind} {described(cells[kind])}" for kind in ranked)
            + f"; all sets together, {label}",
            apart(cells[ranked[0]], cells[ranked[-1]]),
        )
    ]
