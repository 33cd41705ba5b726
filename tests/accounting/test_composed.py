"""Ledgers that count curves: as many releases as fit, however they come, and no more."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.special import erf

import sfumato as sf
from sfumato.accounting import Ledger, Secret, composed
from sfumato.accounting.curves import loss_of, summed
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, BudgetError, InputError, ParameterError, SfumatoError
from sfumato.mechanisms import Gaussian, Identity, Laplace

SECRET = Secret(bytes(range(32)))
NOISE = Gaussian(sigma=1.0)
APART = 0.1
LOSS = loss_of(NOISE, APART, 8)
CEILING = 0.3


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def opened(path, ceiling=CEILING, **settings) -> Ledger:
    return Ledger(path, secret=SECRET, ceiling=None, metric="curve", ceiling_advantage=ceiling, **settings)


def pay(ledger, texts, *, mechanism=NOISE, loss=LOSS, **where):
    return ledger.spend(texts, mechanism.guarantee, loss=loss, **where)


def most() -> int:
    """How many releases the closed form of normal noise allows."""
    count = 1
    while erf(APART * math.sqrt(count + 1) / math.sqrt(8)) <= CEILING:
        count += 1
    return count


def test_as_many_releases_fit_as_the_closed_form_says_but_for_the_rounding(path):
    ledger, paid = opened(path), 0
    with pytest.raises(BudgetError, match="advantage 0.3"):
        for _ in range(100):
            pay(ledger, ["one"])
            paid += 1
    assert most() * 0.93 <= paid <= most() == 59  # where the sum of epsilons would know no bound at all
    spent = ledger.spent("one")
    assert spent.releases == paid and CEILING * 0.97 < spent.advantage <= CEILING
    assert spent.advantage >= erf(APART * math.sqrt(paid) / math.sqrt(8))
    assert ledger.spent("another").advantage == 0
    # A refused batch costs nobody anything.
    with pytest.raises(BudgetError, match="Row 1"):
        pay(ledger, ["another", "one"])
    assert ledger.spent("another").releases == 0


def test_a_thousand_releases_at_once_on_one_account(path):
    quiet = loss_of(Gaussian(sigma=1.0), 0.02, 8)
    ledger = opened(path)
    pay(ledger, [f"text {n}" for n in range(1000)], loss=quiet, unit="person")
    told = ledger.spent(unit="person").advantage
    exact = erf(0.02 * math.sqrt(1000) / math.sqrt(8))
    assert exact <= told <= exact + 0.01 < 0.3
    with pytest.raises(BudgetError):
        pay(ledger, [f"text {n}" for n in range(1000)], loss=quiet, unit="person")


def test_sticky_noise_costs_once(path):
    ledger, stream = opened(path), "ab" * 24
    for _ in range(100):
        pay(ledger, ["one", "one"], stream=stream)
    assert ledger.spent("one").releases == 1
    assert ledger.spent("one").advantage == pytest.approx(summed([(LOSS, 1)]).advantage)


def test_a_restarted_ledger_goes_on_also_under_another_protector(path):
    for _ in range(4):
        pay(opened(path), ["one"] * 5)
    other, paid = loss_of(Laplace(epsilon=10.0), 0.1, 64), 0
    again = opened(path)
    with pytest.raises(BudgetError):
        for number in range(1000):
            again = opened(path) if number % 10 == 0 else again
            pay(again, ["one"], mechanism=Laplace(epsilon=10.0), loss=other)
            paid += 1
    exact = summed([(LOSS, 20), (other, paid)]).advantage
    over = summed([(LOSS, 20), (other, round(paid * 1.4))]).advantage
    assert exact <= CEILING < over and paid > 5
    assert opened(path).spent("one").advantage == pytest.approx(exact)
    assert opened(path).spent("one").metric == "curve"


def test_numbers_of_numpy_come_back_the_same(path):
    mechanism = Gaussian(sigma=np.float64(1.0))
    pay(opened(path), ["one"], mechanism=mechanism, loss=loss_of(mechanism, np.float64(0.1), np.int64(8)))
    assert 0 < opened(path).spent("one").advantage < 0.1


def test_threads_with_ledgers_of_their_own_never_pass_the_ceiling_together(path):
    opened(path)

    def work(_: int) -> int:
        ledger, paid = opened(path), 0
        with contextlib.suppress(BudgetError):
            for _ in range(100):
                pay(ledger, ["one"])
                paid += 1
        return paid

    with ThreadPoolExecutor(4) as threads:
        paid = list(threads.map(work, range(4)))
    spent = opened(path).spent("one")
    assert sum(paid) == spent.releases <= most() and spent.advantage <= CEILING
    with pytest.raises(BudgetError):
        pay(opened(path), ["one"])


def test_no_law_is_told_apart(path):
    ledger = opened(path)
    with pytest.raises(BudgetError, match="promises nothing"):
        pay(ledger, ["one"], mechanism=Identity(), loss=None)
    free = opened(path.with_name("free.db"), ceiling=None)
    pay(free, ["one"], mechanism=Identity(), loss=None)
    pay(free, ["two"])
    assert free.spent("one").advantage == 1 and free.spent("two").advantage < 0.1
    # And stays so.
    with pytest.raises(BudgetError):
        pay(opened(path.with_name("free.db")), ["one"])


def test_many_laws_on_one_account_are_refused_and_counts_of_others_rounded_up(path):
    ledger = opened(path, ceiling=0.9)
    for number in range(composed.MOST_LAWS):
        pay(ledger, ["one"], loss=loss_of(NOISE, 0.1 + number / 100, 8))
    with pytest.raises(BudgetError):
        pay(ledger, ["one"], loss=loss_of(NOISE, 0.5, 8))
    for count in (1, 2, 3, 7, 100, 9999):
        assert count <= composed._rounded(count) <= math.ceil(count * 1.2)


def test_the_cost_of_a_charge_is_bounded_however_many_rows_and_histories_there_are(path, monkeypatch):
    sums = []
    real = composed.summed
    monkeypatch.setattr(composed, "summed", lambda parts: sums.append(parts) or real(parts))
    ledger = opened(path)
    pay(ledger, [f"text {n}" for n in range(5000)])
    assert len(sums) <= 20  # the number that fits is found once
    sums.clear()
    for _ in range(3):
        pay(ledger, [f"text {n}" for n in range(0, 5000, 2)])
    assert not sums
    # Every account with another history, under another law: counts of the first are rounded up.
    for n in range(40):
        pay(ledger, [f"history {n}"] * (n + 1))
    sums.clear()
    other = loss_of(NOISE, 0.05, 8)
    pay(ledger, [f"history {n}" for n in range(20)], loss=other)
    assert len(sums) <= 20 * len({composed._rounded(n + 1) for n in range(20)})


def test_a_ledger_of_sums_goes_on_with_curves_and_forgets_nothing(path):
    plain = Ledger(path, secret=SECRET, ceiling=None)
    small, stream = Laplace(epsilon=2.0), "cd" * 24
    plain.spend(["small", "twice", "twice"], small.guarantee)
    plain.spend(["sticky"], small.guarantee, stream=stream)
    plain.spend(["large"], Laplace(epsilon=500.0).guarantee)
    ledger = opened(path, ceiling=0.4)
    loss = loss_of(small, 0.1, 64)
    pay(ledger, ["small"], mechanism=small, loss=loss)
    pay(ledger, ["sticky"], mechanism=small, loss=loss, stream=stream)
    assert ledger.spent("sticky").releases == 0  # the same vector again
    with pytest.raises(BudgetError, match="before curves were counted"):
        pay(ledger, ["large"], mechanism=small, loss=loss)
    # tanh(0.1) and tanh(0.2) are gone already: fewer fit than on a new account.
    counts = {}
    for name in ("new", "small", "twice"):
        counts[name] = 0
        with pytest.raises(BudgetError):
            for _ in range(20_000):
                pay(ledger, [name] * 50, mechanism=small, loss=loss)
                counts[name] += 50
    assert counts["new"] > counts["small"] > counts["twice"] > 0
    # In another metric it cannot be compared.
    with pytest.raises(BudgetError):
        pay(ledger, ["twice"], mechanism=sf.mechanisms.Polar(epsilon=2.0), loss=loss_of(NOISE, 0.01, 8))
    assert ledger.spent("twice").advantage == 1
    with pytest.raises(ArtifactError, match="--accounting curve"):
        Ledger(path, secret=SECRET, ceiling=None)
    assert opened(path).spent("new").releases == counts["new"]


def test_a_law_that_was_changed_and_a_ledger_that_is_gone_are_refused(path):
    pay(opened(path), ["one"])
    with sqlite3.connect(path) as db:
        masses = bytearray(db.execute("SELECT masses FROM laws").fetchone()[0])
        masses[:8] = np.array([0.5]).tobytes()
        db.execute("UPDATE laws SET masses = ?", (bytes(masses),))
    with pytest.raises(ArtifactError, match="was changed"):
        opened(path).spent("one")
    with pytest.raises(ArtifactError, match="was changed"):
        pay(opened(path), ["two"])
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM laws")
    with pytest.raises(ArtifactError, match="gone"):
        opened(path).spent("one")
    ledger = opened(path)
    path.unlink()
    with pytest.raises(SfumatoError, match="Release nothing"):
        pay(ledger, ["one"])


@pytest.mark.parametrize(
    "settings",
    [
        {"metric": "curve", "ceiling": 3.0},
        {"metric": "curve", "delta_ceiling": 0.1},
        {"metric": "curve", "ceiling_advantage": 1.0},
        {"metric": "curve", "ceiling_advantage": 0.0},
        {"metric": "curve", "ceiling_advantage": math.nan},
        {"metric": "curve", "distance": -1.0},
        {"metric": "own", "ceiling_advantage": 0.3},
        {"metric": "l2", "distance": 0.1},
        {"metric": "curves"},
    ],
)
def test_ceilings_of_another_kind_are_refused(path, settings):
    with pytest.raises(ParameterError):
        Ledger(path, secret=SECRET, **{"ceiling": None, **settings})
    assert not path.exists()


class TestProtector:
    """A protector tells its ledger what its releases lose between two terms."""

    LEARNED = {"substitution_distances": {"median": 0.01, "p95": 0.05, "max": 0.1}, "dim": 64}

    def made(self, path, **settings):
        ledger = opened(path, distance=settings.pop("distance", None))
        return sf.Protector(
            Laplace(epsilon=10.0), Fake(dim=64), learned=settings.pop("learned", self.LEARNED),
            secret=SECRET, ledger=ledger, **settings,
        )  # fmt: skip

    def test_fresh_releases_are_composed_and_sticky_ones_are_free(self, path):
        protector = self.made(path)
        for _ in range(5):
            protector.embed(["a note"])
        assert protector.spent("a note").releases == 1
        for _ in range(5):
            protector.embed(["a note"], role="query")
        spent = protector.spent("a note")
        wanted = summed([(loss_of(Laplace(epsilon=10.0), 0.1, 64), 6)]).advantage
        assert spent.releases == 6 and spent.advantage == pytest.approx(wanted)
        with pytest.raises(BudgetError):
            for _ in range(200):
                protector.embed(["a note"], role="query")
        assert self.made(path).spent("a note").advantage <= CEILING

    def test_the_distance_is_the_worst_pair_s_or_the_one_given(self, path):
        assert self.made(path).counted_loss(64).distance == 0.1
        assert self.made(path, distance=0.02).counted_loss(64).distance == 0.02
        with pytest.raises(InputError, match="--distance"):
            self.made(path, learned={}).embed(["a note"])

    def test_without_noise_nothing_fits(self, path):
        protector = self.made(path, only_matching=True, concepts=(sf.Concept.from_terms("x", ["note"]),))
        with pytest.raises(BudgetError, match="promises nothing"):
            protector.embed(["a letter"])
