"""`sfumato explain`: what an attacker can do with a protector's releases or a store's rows, in his terms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.options.explain import (
    CandidatesOption,
    CollectionOption,
    DistanceOption,
    GuessOption,
    KeyOption,
    ProtectorOption,
    SampleOption,
    SecretOption,
    StateOption,
    SvgOption,
    TargetArgument,
    TenantOption,
    TrialsOption,
    TruthSpansOption,
)
from sfumato.cli.options.shared import TextColumnOption, column_names, reference
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress
from sfumato.errors import InputError
from sfumato.files import write_atomic
from sfumato.numbers import whole_number

if TYPE_CHECKING:
    from sfumato.certificates import Certificate, MissRate
    from sfumato.explaining import Explained
    from sfumato.inputs import ColumnNames

NAME = "explain"
EXAMPLE = (
    "Examples: sfumato explain protector --candidates 50 --json certificate.json  |  "
    "sfumato explain protector --sample labelled.jsonl --truth-spans PER  |  "
    "sfumato explain qdrant:db#notes --protector protector --secret key  |  sfumato explain qdrant:db#sealed"
)


def command(
    target: TargetArgument,
    candidates: CandidatesOption = 10,
    guess: GuessOption = 0.01,
    distance: DistanceOption = None,
    sample: SampleOption = None,
    truth_spans: TruthSpansOption = None,
    text_column: TextColumnOption = None,
    trials: TrialsOption = 1000,
    protector: ProtectorOption = None,
    secret: SecretOption = None,
    tenant: TenantOption = "",
    collection: CollectionOption = "",
    key: KeyOption = None,
    state: StateOption = None,
    svg: SvgOption = None,
    json: JsonOption = None,
) -> None:
    """Say what an attacker who knows all but the term can do with what he is shown, whatever he computes."""
    from sfumato.certificates.measuring import MOST_TRIALS
    from sfumato.explaining import explain

    count = whole_number(trials, "--trials", 0, MOST_TRIALS)
    if (sample is None) != (truth_spans is None):
        raise InputError("Labelled texts need both: give --sample FILE and --truth-spans LABEL.")
    if Path(target).exists() or ":" not in target:
        _refuse_for_protector({"--protector": protector, "--secret": secret, "--key": key, "--state": state})
        opening = _protector(Path(target))
    else:
        place = {"secret": secret, "tenant": tenant, "collection": collection}
        opening = _store(target, protector, place, key, state)
    with opening as opened, progress("working out what an attacker can do", None):
        names = column_names(text_column)
        rate = None if sample is None else _miss_rate(opened, sample, str(truth_spans), names)
        found = explain(
            opened, candidates=candidates, guess=guess, distance=distance, detector=rate, trials=count
        )
    _show(found)
    if svg is not None:
        _draw(found, svg)
    write_json(json, {"certificate": found.to_dict()})


def _refuse_for_protector(given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} is for a store. Give the address of one, or leave it out.")


@contextmanager
def _protector(folder: Path) -> Iterator[Explained]:
    from sfumato.saving import load_protector

    yield load_protector(folder)


@contextmanager
def _store(
    url: str, protector: Path | None, place: dict[str, Any], key: Path | None, state: Path | None
) -> Iterator[Explained]:
    """A store with what was released into it, or what is seen of a sealed one, or that with its key."""
    from sfumato.sealing.inspection.snapshot import is_sealed, look_at
    from sfumato.stores.opening import open_store
    from sfumato.stores.protected import ProtectedStore

    if key is not None:
        from sfumato.cli.search import open_sealed

        with open_sealed(url, key, place["tenant"], state) as sealed:
            yield sealed
        return
    with open_store(url, create=False) as store:
        if is_sealed(store):
            yield look_at(store)
        elif protector is None:
            raise InputError(
                f"{store.label} is not sealed, and nobody says what released its rows. Give --protector DIR."
            )
        else:
            yield ProtectedStore(store, reference(protector, **place))


def _miss_rate(opened: Explained, sample: Path, labels: str, names: ColumnNames) -> MissRate:
    from sfumato.certificates import miss_rate
    from sfumato.cli.sample import read_sample
    from sfumato.protector import Protector
    from sfumato.stores.protected import ProtectedStore

    made = opened.protector if isinstance(opened, ProtectedStore) else opened
    if not isinstance(made, Protector) or not made.embeds_neutral:
        raise InputError("--sample is for a protector that looks for terms. This target looks for none.")
    return miss_rate(made, *read_sample(sample, names), labels)


def _show(found: Certificate) -> None:
    from sfumato.certificates.drawing import plain_curve
    from sfumato.certificates.words import paragraphs

    def line(text: str = "") -> None:
        console().print(text, highlight=False, markup=False)

    for each in paragraphs(found):
        line(each)
        line()
    if found.pairs["worst"].distance is not None:
        for each in (*_table(found), *_legend(found)):
            line(each)
        line()
    if found.curves:
        for each in plain_curve(found.curves):
            line(each)
        line()
    line("What it rests on:")
    for condition in found.conditions:
        line(f"- {condition}")
    if found.epsilon:
        line(found.epsilon)


def _table(found: Certificate) -> list[str]:
    """Plain columns, of which no width cuts anything off."""
    from sfumato.certificates.words import SHORT, at_most, over_coin

    over, trials = found.over_all_texts(), found.measured
    head = ["terms", "apart", "over a coin", "mu", f"1 of {found.candidates}", "bits"]
    rows = [[*head, *(["all texts"] if over else []), *(["informed attacker"] if trials else [])]]
    one = len(set(found.pairs.values())) == 1
    for name, each in found.pairs.items():
        if one and name != "worst":
            continue
        cells = ["as given" if one else SHORT[name], f"{each.distance:.4g}", over_coin(each.total_variation)]
        cells.append("-" if each.mu is None else f"{each.mu:.3g}")
        cells += [at_most(each.success), f"{each.bits:.2f}", *([at_most(over[name])] if over else [])]
        if trials is not None:
            got = trials.success[name]
            cells.append(
                "-" if got is None else f"{got.value:.1%} ({100 * got.low:.1f}-{100 * got.high:.1f})"
            )
        rows.append(cells)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    return [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(pairs)
        )
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    ]


def _legend(found: Certificate) -> list[str]:
    """What the column mu says, where there is one."""
    near = [each.asymptotic for each in found.pairs.values() if each.asymptotic is not None]
    if not near:
        return []
    about = ", ".join(f"{each:.3f}" for each in dict.fromkeys(near))
    return [
        f"mu: nearly as for normal noise and inputs mu standard deviations apart (over a coin: {about}); k "
        "fresh releases have about sqrt(k) mu"
    ]


def _draw(found: Certificate, place: Path) -> None:
    from sfumato.certificates.drawing import svg_curve

    if not found.curves:
        raise InputError("There is no curve to draw: what is shown does not depend on a distance.")
    write_atomic(place, svg_curve(found.curves, "What the best attacker tells from one release").encode())
