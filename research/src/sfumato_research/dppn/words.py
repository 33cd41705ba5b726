"""DPPN, figure 6 and table 9: masks of single words, and what hiding one does to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from sfumato.concepts import Concept, build_pairs
from sfumato.evaluation import Defence
from sfumato.mechanisms import Identity
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics.leakage import named
from sfumato.randomness import generator
from sfumato.sensitivity import Mask, MaskLearner, MaskSettings
from sfumato.trials.reading import AttackMethod
from sfumato_research.analysis import top_overlap
from sfumato_research.dppn.defences import defence, levels, unaware
from sfumato_research.dppn.printed import SPILL
from sfumato_research.sparse.data import shortened
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.corpora import Corpus
from sfumato_research.studies.data import encoder, rows, sts
from sfumato_research.studies.measured import sizes

GROUPS: Mapping[str, Sequence[str]] = {
    "weekday": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "country": "China Iraq Iran Israel India Japan Russia Syria Pakistan France".split(),
    "month": "January April June July September October".split(),
    "United States": "America American Washington Obama Bush".split(),
    "gender": "he she his her man woman men women".split(),
    "number": "one two three four five six seven".split(),
    "city": "London Boston Moscow Paris Chicago Baghdad".split(),
}
"""Figure 6 has the first six, table 9 weekdays, countries and cities."""
SETS = ("sts12", "sts13", "sts14", "ag_news", "conll2003")
"""The news name weekdays far more often than the sentences of STS."""
Counts = dict[str, tuple[float, float]]
"""For each word: how often it was named, and how often it stood in an attacked text."""
_LEAST = 20
_OTHERS = 60
_NEWS, _FEWEST = 3000, 6
"""Texts of the news that are taken, and words that one has at least."""


def masks(setting: Setting, texts: Sequence[str]) -> dict[str, Mask]:
    """One mask a word, for words that stand in enough texts."""
    embedder = encoder(setting)
    limit = setting.pick(80, 40)
    pairs = {}
    for word in (word for group in GROUPS.values() for word in group):
        able = [text for text in texts if word.lower() in text.lower()]
        concept = Concept.from_terms(word, [word])
        if sum(bool(found) for found in concept.find_all(able)) >= _LEAST:
            made = build_pairs(able, concept, kinds=("removal",), limit=limit, seed=setting.seed)
            if len(made) >= _LEAST:
                plus = embedder.embed([able[row] for row in made.rows])
                pairs[word] = (plus, embedder.embed(made.minus))
    with one_blas_thread():
        learned = MaskLearner(MaskSettings(seed=setting.seed), device=setting.device).fit_many(pairs)
    return {word: each.mask for word, each in learned.items()}


def word_texts(setting: Setting) -> list[str]:
    """Sentences of STS 2012 to 2014, and of the news those that name a word of a group."""
    found = sts(setting.data, *SETS[:3]).texts
    news = [row["text"] for name in SETS[3:] for row in rows(setting.data, name, name)]
    wanted = {word for name in ("weekday", "country", "city") for word in GROUPS[name]}
    order = generator(setting.seed).permutation(len(news))
    named_in = (shortened(news[place]) for place in order)
    held = [text for text in named_in if len(text.split()) >= _FEWEST and wanted & set(text.split())]
    return list(dict.fromkeys([*found, *held[: setting.pick(_NEWS, 0)]]))


def words(setting: Setting) -> StudyOutcome:
    """Run figure 6 and table 9."""
    texts = word_texts(setting)
    setting.on_step("masks of single words")
    learned = masks(setting, texts)
    groups = {name: [word for word in group if word in learned] for name, group in GROUPS.items()}
    groups = {name: group for name, group in groups.items() if len(group) > 1}
    alike, finding = _alike(learned, groups)
    spill, spilled = _spill(setting, texts, learned, groups)
    title = "Figure 6. Masks of single words over the union of their top five dimensions"
    return StudyOutcome(
        [alike, spill],
        [Picture("dppn-figure6.svg", _heat(learned, groups, title), title)],
        [finding, *spilled],
    )


def _alike(learned: dict[str, Mask], groups: dict[str, list[str]]) -> tuple[StudyTable, Finding]:
    """How much of their top tenth words of a group share, and words of different groups."""
    lines: list[list[Cell | str | float | None]] = []
    inside_all, across_all = [], []
    for name, group in groups.items():
        inside = [top_overlap(learned[a], learned[b], 0.1) for a in group for b in group if a < b]
        across = [
            top_overlap(learned[a], learned[b], 0.1)
            for a in group
            for other, members in groups.items()
            if other != name
            for b in members
        ]
        inside_all += inside
        across_all += across
        lines.append(
            [
                name,
                len(group),
                Cell(float(np.mean(inside)), form=".0%"),
                Cell(float(np.mean(across)), form=".0%"),
            ]
        )
    same = float(np.mean(inside_all)) > 1.25 * float(np.mean(across_all))
    table = StudyTable(
        "Figure 6: share of the top tenth of dimensions in common",
        ("group", "words", "within the group", "with other groups"),
        lines,
        "Chance gives 10 %. One mask a word, from removals in sentences of STS 2012 to 2014 and of the news.",
    )
    finding = Finding(
        "Figure 6",
        "words of like meaning share their dimensions",
        "clusters in the picture",
        f"top tenth in common: {np.mean(inside_all):.0%} within groups, {np.mean(across_all):.0%} across, "
        "chance 10 %",
        same,
        "" if same else "masks of single words are learned from few pairs and vary by themselves",
    )
    return table, finding


def _spill(
    setting: Setting, texts: Sequence[str], learned: dict[str, Mask], groups: dict[str, list[str]]
) -> tuple[StudyTable, list[Finding]]:
    """Leakage of a hidden word, of words like it and of others, beside clean vectors."""
    every = [word for group in groups.values() for word in group]
    vocabulary = [*every, *_others(texts, every, setting.seed)]
    suite = sizes(setting, rows=4000, pool=4100, epochs=15, copies=0, seeds=1, draws=2, searches=100)
    words = Corpus("words", list(texts), Concept.from_terms("words", vocabulary))
    on = Comparison(words, encoder(setting), suite, seed=setting.seed)
    ratio = levels(setting, (2,))[2]
    naive = unaware(on)
    clean = _by_word(on, Defence(name="clean", mechanism=Identity()), on.tokens)
    lines: list[list[Cell | str | float | None]] = []
    findings = []
    for name, printed in SPILL.items():
        group = groups.get(name, [])
        targets = _targets(group, clean)[: setting.pick(2, 1)]
        if not targets:
            if _targets(group, clean, read=False):
                lines.append([name, "–", "reads none of them from clean vectors", None, None, None])
            continue
        told = {}
        for label, attacker in (("trained on releases", on.tokens), ("unaware", naive)):
            setting.on_step(f"table 9, {', '.join(targets)}, {label}")
            defences = {word: defence(on, "dppn", ratio, mask=learned[word]) for word in targets}
            hidden = {word: _by_word(on, made, attacker) for word, made in defences.items()}
            told[label] = _change(hidden, clean, {word.lower() for word in group})
            cells = [
                Cell(
                    float(change) if np.isfinite(change) else None,
                    form="+.0%",
                    printed=-value / 100 if label == "unaware" else None,
                )
                for change, value in zip(told[label], printed, strict=True)
            ]
            lines.append([name, ", ".join(targets), label, *cells])
        change = told["unaware"]
        same = bool(change[0] < change[1] < change[2]) if np.isfinite(change).all() else None
        findings.append(
            Finding(
                "Table 9",
                f"hiding one {name} takes leakage from it, less from its like, least from other words",
                ", ".join(f"-{value:.1f} %" for value in printed),
                f"unaware attacker {_listed(told['unaware'])}; trained on releases "
                f"{_listed(told['trained on releases'])}",
                same,
                ""
                if same is not False
                else "the noise hits whatever is read from those dimensions, which no word has for itself",
            )
        )
    note = (
        f"Change of leakage beside clean vectors (their leakage {on.control:.3f} over all {len(vocabulary)} "
        f"words, {len(on.split.learn):,} texts learned from and {len(on.split.test):,} attacked); "
        f"noise ratio {ratio:.2f}, the level of printed ε 2; the mask of the target alone, top 20 %. "
        "Printed beside the unaware attacker."
    )
    columns = ("group", "targets", "attacker", "target", "like it", "other words")
    return StudyTable("Table 9: leakage taken away", columns, lines, note), findings


def _targets(group: Sequence[str], clean: Counts, *, read: bool = True) -> list[str]:
    """Words that stand in enough attacked texts and, if asked, are named from clean vectors at least once."""
    counted = {word: clean.get(word.lower(), (0.0, 0.0)) for word in group}
    return [word for word, (hits, total) in counted.items() if total >= 4 and (hits > 0 or not read)]


def _change(hidden: Mapping[str, Counts], clean: Counts, group: set[str]) -> np.ndarray:
    """Change of leakage of hidden words, of others of their group and of all others, beside clean vectors.

    Not a number where none of them is named from clean vectors: nothing can be taken from nothing.
    """
    parts, before = np.zeros((3, 2)), np.zeros((3, 2))
    for target, counts in hidden.items():
        for word, hits in counts.items():
            role = 0 if word == target.lower() else 1 if word in group else 2
            parts[role] += hits
            before[role] += clean[word]
    rates = parts[:, 0] / np.maximum(parts[:, 1], 1)
    kept = before[:, 0] / np.maximum(before[:, 1], 1)
    return np.where(kept > 0, rates / np.maximum(kept, 1e-9) - 1, np.nan)


def _listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:+.0%}" if np.isfinite(value) else "–" for value in values)


def _others(texts: Sequence[str], known: Sequence[str], seed: int) -> list[str]:
    lowered = {word.lower() for word in known}
    counts = Counter(word for text in texts for word in set(text.lower().split()) if word.isalpha())
    able = sorted(w for w, n in counts.items() if len(w) > 3 and w not in lowered and 30 <= n <= 200)
    return [able[place] for place in generator(seed).permutation(len(able))[:_OTHERS]]


def _by_word(on: Comparison, made: Defence, attacker: AttackMethod) -> Counts:
    """Attack a defence and count by word."""
    split = on.split
    target = on.target(made)
    own = [split.texts[row] for row in split.learned]
    counts: Counts = {}
    with one_blas_thread():
        vectors, victim = target.learning(split.learned)
        read = attacker.fit(own, vectors, victim, None, on.seed)
        for draw in range(target.draws):
            guesses = read(target.documents(draw)[split.attacked])
            for truth, guess in zip(split.truth, guesses, strict=True):
                for parts, hit in named(truth, guess).items():
                    word = " ".join(parts)
                    found, total = counts.get(word, (0.0, 0.0))
                    counts[word] = found + hit, total + 1
    return counts


def _heat(learned: dict[str, Mask], groups: dict[str, list[str]], title: str) -> str:
    """Words down, dimensions across, darker where the score is higher."""
    listed = [word for group in groups.values() for word in group]
    axes = sorted({int(axis) for word in listed for axis in np.argsort(-learned[word].scores)[:5]})
    left, top, high = 90, 34, 14
    wide = max(2.0, 620 / max(1, len(axes)))
    height = top + high * len(listed) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="11">',
        f'<rect width="720" height="{height}" fill="#fff"/>',
        f'<text x="8" y="20" font-size="13" font-weight="600">{escape(title)}</text>',
    ]
    for number, word in enumerate(listed):
        y = top + high * number
        scores = learned[word].scores
        parts.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{escape(word)}</text>')
        for place, axis in enumerate(axes):
            share = float(scores[axis] / scores.max())
            if share > 0.02:
                parts.append(
                    f'<rect x="{left + wide * place:.1f}" y="{y}" width="{wide:.1f}" height="{high - 1}" '
                    f'fill="#1f6f8b" fill-opacity="{share:.2f}"/>'
                )
    middle, below = left + wide * len(axes) / 2, height - 10
    parts.append(f'<text x="{middle:.0f}" y="{below}" text-anchor="middle">{len(axes)} dimensions</text>')
    return "".join([*parts, "</svg>\n"])
