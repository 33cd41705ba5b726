"""The whole verification: every case of every registered mechanism, through three layers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.accounting.guarantee import Guarantee
from sfumato.errors import ParameterError
from sfumato.mechanisms import MECHANISMS, Mechanism
from sfumato.mechanisms.base import one_blas_thread
from sfumato.randomness import Source, generator, resolve
from sfumato.verification.bits import check_bits, check_control
from sfumato.verification.cases import CASES, Case, cases_of, examples_of
from sfumato.verification.epsilon import check_epsilon
from sfumato.verification.fit import check_law
from sfumato.verification.report import CheckRow, Verification
from sfumato.verification.tokens import check_tokens

OnStep = Callable[[int, int, str], None]
"""Called with (checks done, checks in all, what comes next)."""


@dataclass(frozen=True, slots=True)
class SampleSizes:
    """How many samples each layer takes."""

    epsilon: int = 100_000
    tokens: int = 20_000
    """Draws of each word of a small vocabulary."""
    law_small: int = 50_000
    law_rows: int = 20_000
    law_numbers: int = 7_680_000
    """Releases in many dimensions: `law_rows`, or as many as make this many numbers."""
    releases: int = 100
    candidates: int = 1_000

    def law(self, dim: int) -> int:
        """How many releases the law of a mechanism is tested on."""
        return self.law_small if dim <= 8 else min(self.law_rows, self.law_numbers // dim)


FULL = SampleSizes()
QUICK = SampleSizes(epsilon=20_000, tokens=5_000, law_small=10_000, law_rows=4_000, releases=25)


def _plan(names: Sequence[str | Mechanism] | None, quick: bool) -> tuple[list[Case], list[CheckRow]]:
    """The cases to run, and a failed row for every mechanism that has none."""
    cases: list[Case] = []
    missing: list[CheckRow] = []
    for name in MECHANISMS.names() if names is None else names:
        if isinstance(name, Mechanism):
            own, called = cases_of(name), name.name
        else:
            called = MECHANISMS.entry(name).name
            table = CASES.get(called)
            own = examples_of(MECHANISMS.get(called)) if table is None else list(table(quick))
        cases += own
        if not own:
            missing.append(
                CheckRow(
                    called, "", "cases", "has cases", 0, "at least 1", "none: not checked", 0.0, 1.0, False
                )
            )
    return cases, missing


def _promise(guarantee: Guarantee) -> str:
    """The metric of a promise in a word or two."""
    if not guarantee.is_private:
        return "no promise"
    return guarantee.metric if guarantee.proof == "proved" else f"{guarantee.metric}, {guarantee.proof}"


def _check(case: Case, sizes: SampleSizes, source: Source, rng: np.random.Generator) -> list[CheckRow]:
    try:
        if case.layer == "epsilon":
            return check_epsilon(case, sizes.epsilon, source)
        if case.layer == "tokens":
            return check_tokens(case, sizes.tokens, source)
        if case.layer == "law":
            return check_law(case, sizes.law(case.dim), source, rng)
        return check_bits(case, sizes.releases, sizes.candidates, source, rng)
    except ParameterError as error:
        # What cannot be checked is not what passed.
        return [case.row("can be checked", "yes", str(error), 0.0, 1.0, False)]


def verify(
    names: Sequence[str | Mechanism] | None = None,
    *,
    rng: object = None,
    quick: bool = False,
    on_step: OnStep | None = None,
) -> Verification:
    """Check that samplers are what they claim; it can falsify one and cannot prove one.

    Args:
        names: registered names, or mechanisms of your own; None means every registered mechanism.
        rng: None for secure randomness, a `Source` or a seed to repeat a run.
        quick: fewer samples and fewer cases.
        on_step: called before each case and once at the end.
    """
    started = time.perf_counter()
    if isinstance(names, str):
        raise ParameterError(f"`names` must be a list of names. Found {names!r}: write [{names!r}].")
    # A bare seed would give every case the same noise, so that it is turned into one source here.
    source = resolve(rng)
    if not isinstance(source, Source):
        raise ParameterError("`rng` must be None, a Source or a seed: sticky noise repeats itself.")
    own = generator(source.seed)
    sizes = QUICK if quick else FULL
    # Matrix products wait for each other on a busy machine; the noise is drawn on all cores all the same.
    with one_blas_thread():
        cases, rows = _plan(names, quick)
        total = len(cases) + 1
        for done, case in enumerate(cases):
            if on_step is not None:
                on_step(done, total, case.label)
            rows += _check(case, sizes, source, own)
        if on_step is not None:
            on_step(len(cases), total, "control")
        if any(case.layer == "bits" for case in cases):
            rows.append(check_control(sizes.releases, sizes.candidates, own))
    if on_step is not None:
        on_step(total, total, "done")
    promises = {case.label: _promise(case.mechanism.guarantee) for case in cases}
    return Verification(tuple(rows), promises, time.perf_counter() - started, quick, source.seed)
