"""The part on a stolen store: every attack on the store, on the simulator's, and on a control."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfumato.embedders.base import Embedder
from sfumato.metrics.intervals import Resampling, mean_interval, percentile_interval
from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import unit
from sfumato.stores import Memory
from sfumato.types import Floats
from sfumato_research.sealed.attacked import Attacked
from sfumato_research.sealed.corpus import two_corpora
from sfumato_research.sealed.files import (
    KINDS,
    StoreFiles,
    page_judge,
    plain_files,
    sealed_files,
    simulated_files,
    told_apart,
)
from sfumato_research.sealed.following import across, followed, kept_ids
from sfumato_research.sealed.readings import READINGS, StoreReading
from sfumato_research.sealed.views import StoreView, seal_rows, sealed_store, seen, simulated
from sfumato_research.studies.base import Cell, Entry, Finding, Setting, StudyOutcome, StudyTable

DRAWS = 6
"""Stores, each with a key and cells of its own, and simulators."""
PAGE_DRAWS = 3
"""Stores whose pages are asked about."""
COLUMNS = ("attack", "figure", "store", "simulator", "difference", "holds 0", "control", "where it works")
NOTE = (
    "Store: what the product wrote, the mean of six keys. Simulator: records made from sizes alone, "
    "the mean of six. Difference: store less simulator, 95 % interval over keys, simulators and "
    "rows. What sizes tell is in both columns."
)


def prepared(setting: Setting, embedder: Embedder) -> Attacked:
    """The rows that are sealed, a public corpus, and vectors of both."""
    corpus, public = two_corpora(setting)
    vectors = [unit(np.asarray(embedder.embed(each.texts), np.float32)) for each in (corpus, public)]
    return Attacked(corpus, vectors[0], public, vectors[1])


def compared(
    name: str, figure: str, stores: Floats, simulators: Floats, control: Floats, works: str
) -> list[Entry]:
    """One row of the table, from `[r, n]` figures of draws and rows."""
    low, high = drawn_difference(stores, simulators)
    return [
        name, figure, cell(stores.mean(axis=0)), cell(simulators.mean(axis=0)),
        Cell(float(stores.mean() - simulators.mean()), low, high), "yes" if low <= 0 <= high else "**no**",
        cell(control), works,
    ]  # fmt: skip


def cell(values: Floats) -> Cell:
    """A mean with its interval."""
    return Cell.between(float(values.mean()), mean_interval(values, Resampling()))


def drawn_difference(stores: Floats, simulators: Floats) -> tuple[float, float]:
    """The 95 % interval of a difference of means over draws (`[r, n]` each) and rows.

    An attack that is led astray goes astray on all rows at once, so rows alone would make it too narrow.
    """
    from scipy.stats import t

    apart = stores.mean(axis=0) - simulators.mean(axis=0)
    spread = float(apart.var(ddof=1) / len(apart)) if len(apart) > 1 else 0.0
    freedom = len(stores) + len(simulators) - 2
    if freedom:
        spread += sum(float(each.mean(axis=1).var(ddof=1)) / len(each) for each in (stores, simulators))
    half = float(t.ppf(0.975, freedom or len(apart))) * np.sqrt(spread)
    return float(apart.mean() - half), float(apart.mean() + half)


def _row(
    reading: StoreReading, views: list[StoreView], others: list[StoreView], shared: Attacked
) -> list[Entry]:
    stores, simulators = (
        np.stack([reading.on_records(each, shared) for each in several]) for several in (views, others)
    )
    control = reading.on_control(shared)
    return compared(reading.name, reading.figure, stores, simulators, control, reading.control)


def snapshot_rows(
    shared: Attacked, views: list[StoreView], readings: Sequence[StoreReading], setting: Setting
) -> list[list[Entry]]:
    """Attacks on snapshots, and on as many simulators."""
    others = [simulated(view) for view in views]
    made = []
    for reading in readings:
        setting.on_step(f"{reading.name}: {reading.figure}")
        made.append(_row(reading, views, others, shared))
    return made


def sealed_view(shared: Attacked, embedder: Embedder, folder: Path, calls: int = 1) -> StoreView:
    """The corpus as one sealed collection."""
    with sealed_store(Memory(), folder / "state", embedder) as store:
        seal_rows(store, shared.corpus, range(len(shared.corpus)), calls)
        return seen(store)


def verdict(what: str, rows: list[list[Entry]]) -> Finding:
    """How many attacks got the same from both, and in how many the control says that they can work."""
    equal = sum(row[5] == "yes" for row in rows)
    working = sum(_apart(row[6], row[3]) for row in rows)
    return Finding(
        what, "every attack gets the same from the store and from a simulator", f"{len(rows)} of {len(rows)}",
        f"{equal} of {len(rows)}; the control works in {working}", equal == len(rows) == working,
        "" if equal == len(rows) == working else "see the table and the text above",
    )  # fmt: skip


def _apart(control: Entry, simulator: Entry) -> bool:
    """Whether two intervals do not meet."""
    assert isinstance(control, Cell) and isinstance(simulator, Cell)
    ends = (control.low, control.high, simulator.low, simulator.high)
    if any(each is None for each in ends):
        return False
    return max(control.low or 0, simulator.low or 0) > min(control.high or 0, simulator.high or 0)


def snapshot_outcome(setting: Setting, embedder: Embedder) -> StudyOutcome:
    """Snapshots of collections that were added in one call, then of some that were added in many."""
    shared, draws, calls = prepared(setting, embedder), setting.pick(DRAWS, 2), setting.pick(40, 7)
    several: dict[int, list[StoreView]] = {1: [], calls: []}
    for number, views in several.items():
        for _ in range(draws if number == 1 else 2):
            with tempfile.TemporaryDirectory() as place:
                views.append(sealed_view(shared, embedder, Path(place), number))
    view = several[1][0]
    rows = snapshot_rows(shared, several[1], READINGS, setting)
    title = f"{len(shared.corpus):,} rows, {len(view):,} records, {len(set(view.sizes()))} sizes"
    whole = StudyTable(f"One snapshot: {title}", COLUMNS, rows, NOTE)
    ordered = [each for each in READINGS if each.name.startswith("order")]
    note = (
        "The same rows, source after source, in many calls: within a call records stand in the order "
        "of ids, between calls in that of time, wherever a product keeps the order of writing."
    )
    late = snapshot_rows(shared, several[calls], ordered, setting)
    tables = [whole, StudyTable(f"Rows that came in {calls} calls", COLUMNS, late, note)]
    return StudyOutcome(
        tables, (), [verdict("one snapshot", rows), verdict(f"one snapshot, {calls} calls", late)]
    )


def following_outcome(setting: Setting, embedder: Embedder) -> StudyOutcome:
    """Rows followed from one snapshot to the next, with several keys."""
    shared, draws = prepared(setting, embedder), setting.pick(4, 2)
    found: dict[str, list[tuple[Floats, Floats]]] = {}
    control: dict[str, Floats] = {}
    for number in range(draws):
        with tempfile.TemporaryDirectory() as place:
            pairs = across(shared.corpus, embedder, Path(place))
        for name, (first, second) in pairs.items():
            setting.on_step(f"{name}, key {number + 1}")
            both = followed(first, second), followed(simulated(first), simulated(second))
            found.setdefault(name, []).append(both)
            control.setdefault(name, followed(first, kept_ids(first, second)))
    rows = [
        compared(name, "rows followed", *_stacked(each), control[name], "ids kept")
        for name, each in found.items()
    ]
    note = (
        "Whether the text of a row is found again, by size, bytes of id and content, and place; four keys. "
        "Of an update the rows that changed. What is followed is followed by size, in both columns."
    )
    return StudyOutcome(
        [StudyTable("Two snapshots", COLUMNS, rows, note)], (), [verdict("two snapshots", rows)]
    )


def _stacked(several: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    return np.stack([one for one, _ in several]), np.stack([other for _, other in several])


def files_outcome(setting: Setting, embedder: Embedder) -> StudyOutcome:
    """Files as bytes, a kind of store after the other."""
    shared, count = prepared(setting, embedder), setting.pick(1000, 100)
    texts, rows = shared.corpus.texts[:count], list[list[Entry]]()
    for kind in setting.pick(KINDS, KINDS[:1]):
        setting.on_step(kind)
        with tempfile.TemporaryDirectory() as place:
            made = _files(kind, Path(place), shared, count, embedder)
        rows.append(_pages(kind, made))
        zipped = [several[1].compressed() for several in made]
        rows.append(apart(f"{kind}: zlib", "size left", zipped[0], zipped[1], zipped[2], "plain store"))
        words = [several[1].words_found(texts[count // 2 :]) for several in made]
        what = "rows with a long word there"
        rows.append(apart(f"{kind}: words", what, words[0], words[1], words[2], "plain store"))
    note = (
        f"{count:,} rows, every file of the folder: database, log and index. Pages of 4 kB by how often "
        "bytes occur: the classifier is trained on one store and one simulator and asked about three others "
        "of each beside a simulator's; interval over draws. zlib: pieces of 64 kB, one store of each. A "
        "control that does not differ (LanceDB packs its texts) says nothing."
    )
    return StudyOutcome([StudyTable("Files as bytes", COLUMNS, rows, note)], (), [verdict("files", rows)])


def _pages(kind: str, made: tuple[list[StoreFiles], list[StoreFiles], list[StoreFiles]]) -> list[Entry]:
    """Whether pages of sealed stores can be told from simulated ones, better than simulated ones can."""
    stores, simulators, plains = ([each.pages() for each in several] for several in made)
    judge, count = page_judge(stores[0], simulators[0]), len(stores) - 1
    beside, others = simulators[1 : count + 1], simulators[count + 1 :]
    one = np.array([told_apart(judge, *each) for each in zip(stores[1:], beside, strict=True)])
    two = np.array([told_apart(judge, *each) for each in zip(others, beside, strict=True)])
    easy = page_judge(plains[0], simulators[0])
    three = np.array([told_apart(easy, plains[1], each) for each in beside])
    low, high = drawn_difference(one[:, None], two[:, None])
    return [
        f"{kind}: pages", "told from a simulator's, AUC", _drawn(one), _drawn(two),
        Cell(float(one.mean() - two.mean()), low, high), "yes" if low <= 0 <= high else "**no**",
        _drawn(three), "plain store",
    ]  # fmt: skip


def _drawn(values: Floats) -> Cell:
    """A mean over draws with its interval."""
    from scipy.stats import t

    half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return Cell(float(values.mean()), float(values.mean()) - half, float(values.mean()) + half)


def _files(
    kind: str, folder: Path, shared: Attacked, count: int, embedder: Embedder
) -> tuple[list[StoreFiles], list[StoreFiles], list[StoreFiles]]:
    """Sealed stores, simulators that are given the sizes of each, and two plain stores."""
    stores, simulators, plains = list[StoreFiles](), list[StoreFiles](), list[StoreFiles]()
    sizes = list[list[int]]()
    for number in range(PAGE_DRAWS + 1):
        found, view = sealed_files(kind, _new(folder / f"sealed{number}"), shared.corpus, count, embedder)
        stores.append(found)
        sizes.append(view.sizes().tolist())
    for number, own in enumerate([*sizes, *sizes[1:]]):
        simulators.append(simulated_files(kind, _new(folder / f"simulated{number}"), own))
    for number in range(2):
        half = slice(number * count // 2, number * count // 2 + count // 2)
        place = _new(folder / f"plain{number}")
        plains.append(plain_files(kind, place, shared.corpus.texts[half], shared.vectors[half]))
    return stores, simulators, plains


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def apart(
    name: str, figure: str, store: Floats, simulator: Floats, control: Floats, works: str
) -> list[Entry]:
    """One row of the table, where figures of store and simulator do not belong to the same rows."""
    rng = generator(0)
    draws = [rng.choice(each, (2000, len(each))).mean(axis=1) for each in (store, simulator)]
    low, high = percentile_interval(draws[0] - draws[1]) or (float("nan"), float("nan"))
    holds = low <= 0 <= high
    return [
        name, figure, cell(store), cell(simulator), Cell(float(store.mean() - simulator.mean()), low, high),
        "yes" if holds else "**no**", cell(control), works,
    ]  # fmt: skip
