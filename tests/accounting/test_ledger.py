"""The ledger never loses a spend, never passes its ceiling, and holds no text."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import multiprocessing
import os
import pickle
import signal
import sqlite3
import stat
import threading
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.accounting import Guarantee, Ledger, Secret, Spend, Sticky, ledger_file
from sfumato.errors import (
    ArtifactError,
    BudgetError,
    InputError,
    ParameterError,
    RandomnessError,
    SfumatoError,
)
from sfumato.mechanisms import Laplace, Mahalanobis

SECRET = Secret(bytes(range(32)))
ONE = Guarantee("laplace", 1.0, "l2", "proved", worst_case_l2=1.0, slack=1e-6)
STREAM, ROTATED = (
    Sticky(secret, model="m").stream_id(Laplace(epsilon=1.0), 8) for secret in (SECRET, Secret(b"k" * 32))
)
CONTESTED = [f"contested {i}" for i in range(25)]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# Numerical libraries keep idle threads, of which Python 3.12 and later warn at every fork.
may_fork = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def opened(path, ceiling=None, **options):
    return Ledger(path, secret=SECRET, ceiling=ceiling, **options)


def test_fresh_noise_costs_each_time_a_text_appears(path):
    ledger = opened(path, 10)
    receipt = ledger.spend(["a", "b", "a"], ONE)
    assert (receipt.rows, receipt.charged, receipt.highest, receipt.remaining) == (3, 3, 2.0, 8.0)
    assert ledger.spent("a") == Spend(2.0, 0.0, "l2", 2, 2e-6)
    assert ledger.spent("b").epsilon == 1.0 and ledger.spent("c") == Spend()
    assert ledger.total()["l2"].epsilon == 3.0
    assert opened(path).spent("a").epsilon == 2.0


def test_sticky_noise_costs_once_per_text_and_stream(path):
    ledger = opened(path, 2)
    assert ledger.spend(["a", "b", "a"], ONE, stream=STREAM).charged == 2
    assert ledger.spend(["b", "c", "cafe\u0301", "caf\u00e9"], ONE, stream=STREAM).charged == 2
    assert ledger.spend(["a"] * 50, ONE, stream=STREAM).highest == 1.0
    assert ledger.spend(["a"], ONE, stream=ROTATED).charged == 1, "a new key is another spend"
    with pytest.raises(BudgetError):
        ledger.spend(["a"], ONE)
    assert ledger.spend(["a"], ONE, stream=STREAM).charged == 0, "free even at the ceiling"
    rows = {row["key_id"]: (row["rows"], row["charged"]) for row in ledger.summary()["spends"]}
    assert rows == {STREAM[:16]: (58, 4), ROTATED[:16]: (1, 1)}


def test_a_stream_keeps_its_terms(path):
    opened(path).spend(["a"], ONE, stream=STREAM)
    with pytest.raises(InputError, match="another guarantee"):
        opened(path).spend(["b"], replace(ONE, epsilon=0.5), stream=STREAM)
    with pytest.raises(ParameterError, match="48 hex digits"):
        opened(path).spend(["b"], ONE, stream="a text, by mistake")


def test_units_gather_versions_of_one_document(path):
    ledger = opened(path, 3)
    ledger.spend(["draft", "draft 2", "other"], ONE, unit=["doc", "doc", "x"], stream=STREAM)
    assert ledger.spend(["draft", "draft 2"], ONE, unit="doc", stream=STREAM).charged == 0
    assert ledger.spend(["draft"], ONE, unit="x", stream=STREAM).charged == 1, "it is news about another unit"
    ledger.spend(["final"], ONE, unit="doc")
    with pytest.raises(BudgetError, match="Row 0: its unit would reach epsilon 4"):
        ledger.spend(["final, really"], ONE, unit="doc")
    assert ledger.spent(unit="doc").epsilon == 3.0 and ledger.spent("draft") == ledger.spent("doc") == Spend()
    with pytest.raises(InputError, match="Found 1 for 2 rows"):
        ledger.spend(["a", "b"], ONE, unit=["doc"])
    for wrong in ({}, {"text": "a", "unit": "b"}):
        with pytest.raises(ParameterError):
            ledger.spent(**wrong)


def test_over_the_ceiling_nothing_is_spent(path):
    ledger = opened(path, 2.5)
    ledger.spend(["b", "b"], ONE)
    before = ledger.summary()
    for texts, row in ((["a", "c", "b", "d"], 2), (["a", "c", "c", "c"], 1)):
        with pytest.raises(BudgetError, match=rf"Row {row}: its text would reach epsilon 3 \(l2\)") as caught:
            ledger.spend(texts, ONE)
        assert caught.value.row == row
    assert ledger.summary() == before and ledger.spent("a") == Spend()


def test_sums_of_floats_reach_the_ceiling_exactly(path):
    ledger = opened(path, 0.3, delta_ceiling=3e-7)
    for _ in range(3):
        ledger.spend(["a"], replace(ONE, epsilon=0.1, delta=1e-7))
    with pytest.raises(BudgetError):
        ledger.spend(["a"], replace(ONE, epsilon=1e-6))
    with pytest.raises(BudgetError, match="would reach delta 4e-07"):
        ledger.spend(["b"] * 4, replace(ONE, epsilon=0.01, delta=1e-7))


def test_no_promise_is_refused_under_a_ceiling_and_infinite_without(path):
    nothing = Guarantee("suppression", math.inf, "none", "none")
    for limits in ({"ceiling": 1e9}, {"delta_ceiling": 0.5}):
        with pytest.raises(BudgetError, match="Row 0: this release promises nothing"):
            opened(path, **limits).spend(["a"], nothing)
    ledger = opened(path)
    ledger.spend(["a"], ONE)
    ledger.spend(["a", "b"], nothing)
    ledger.spend(["b"], ONE)
    assert ledger.spent("a").epsilon == ledger.spent("b").epsilon == math.inf
    assert ledger.spent("b").delta == 1.0
    assert json.loads(json.dumps(ledger.summary(), allow_nan=False))["accounts"][0]["max_epsilon"] == "inf"
    ledger.spend(["c"], replace(ONE, proof="none"))
    assert ledger.spent("c").epsilon == math.inf


def test_epsilons_of_two_metrics_are_not_added(path):
    ledger = opened(path)
    ledger.spend(["a"], ONE)
    with pytest.raises(InputError, match="Row 1: its text is counted in l2 and this release in angular"):
        ledger.spend(["b", "a"], replace(ONE, metric="angular"))
    ledger.spend(["b"], replace(ONE, metric="angular"))
    assert ledger.spent("a").epsilon == 1.0 and set(ledger.total()) == {"l2", "angular"}


def test_mahalanobis_epsilons_add_in_one_shape_only(path):
    guarantee = Mahalanobis(epsilon=1.0, shape=np.array([0.01, 1.99])).guarantee
    ledger = opened(path, 2)
    ledger.spend(["a"], guarantee, shape="digest")
    ledger.spend(["a"], guarantee, shape="digest")
    assert ledger.spent("a").epsilon == 2.0
    with pytest.raises(InputError, match="do not add"):
        opened(path).spend(["a"], guarantee, shape="another")
    with pytest.raises(BudgetError, match=r"epsilon 10 \(l2\)"):
        ledger.spend(["b"], guarantee)  # no shape named: the worst case is counted


def test_an_l2_ledger_adds_worst_cases_of_all_mechanisms(path):
    ledger = opened(path, 20, metric="l2")
    ledger.spend(["a"], ONE)
    ledger.spend(["a"], Mahalanobis(epsilon=1.0, shape=np.array([0.01, 1.99])).guarantee, shape="digest")
    ledger.spend(["a"], replace(ONE, metric="angular", worst_case_l2=math.pi / 2))
    assert ledger.spent("a").epsilon == pytest.approx(11 + math.pi / 2) and ledger.spent("a").metric == "l2"
    with pytest.raises(BudgetError, match="promises nothing"):
        ledger.spend(["a"], replace(ONE, metric="bounded", worst_case_l2=math.inf))
    with pytest.raises(ArtifactError, match='metric="l2"'):
        opened(path)


@pytest.mark.parametrize(
    "change",
    [{"epsilon": -1.0}, {"epsilon": math.nan}, {"delta": -1e-9}, {"delta": 1.5}, {"delta": math.nan}]
    + [{"slack": -1.0}, {"worst_case_l2": math.nan}, {"releases": 0}],
)
def test_a_guarantee_can_only_cost(path, change):
    with pytest.raises(ParameterError, match="non-negative"):
        opened(path).spend(["a"], replace(ONE, **change))
    assert opened(path).total() == {}


@pytest.mark.parametrize("limit", [0, -1, math.inf, math.nan, "10"])
def test_bad_settings_are_refused(path, limit):
    for name in ("ceiling", "delta_ceiling"):
        with pytest.raises(ParameterError, match=f"`{name}`"):
            opened(path, **{name: limit})
    with pytest.raises(ParameterError, match="metric"):
        opened(path, metric="cosine")
    with pytest.raises(ParameterError, match="Secret"):
        Ledger(path, secret=b"k" * 32, ceiling=1)
    assert not path.exists()


def test_the_file_is_closed_to_others_and_stays_so(path):
    opened(path).spend(["a"], ONE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and os.listdir(path.parent) == ["ledger.db"]
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        opened(path)


def test_another_secret_or_another_file_is_refused(path, tmp_path):
    ledger = opened(path)
    with pytest.raises(ArtifactError, match=SECRET.key_id):
        Ledger(path, secret=Secret.generate(), ceiling=None)
    for name, content in {"empty": b"", "text": b"not a database, " * 400}.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600)
        with pytest.raises(ArtifactError, match="not a ledger"):
            opened(tmp_path / name)
    with pytest.raises(InputError, match="cannot be created"):
        opened(tmp_path / "no" / "folder")
    path.unlink()
    with pytest.raises(SfumatoError, match="Release nothing"):
        ledger.spend(["a"], ONE)
    assert not path.exists(), "a lost ledger does not come back empty"


def test_a_damaged_file_gives_a_clear_error(path):
    opened(path).spend([str(i) for i in range(2000)], ONE, stream=STREAM)
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match="damaged"):
        opened(path).spend(["a"], ONE)


def test_no_text_and_no_key_in_the_file_the_errors_or_the_log(path, caplog):
    texts, unit = [f"Ada Lovelace has condition number {i}" for i in range(300)], "patient-4711"
    ledger = opened(path, 2)
    ledger.spend(texts, ONE, stream=STREAM)
    ledger.spend(texts[:1], ONE, unit=unit)
    with pytest.raises(BudgetError) as over:
        ledger.spend(texts[:1] * 3, ONE, unit=unit)
    with pytest.raises(InputError) as wrong:
        ledger.spend([texts[0] + "\ud800"], ONE)
    keys = [bytes(range(32)), SECRET.derive(b"sfumato ledger text"), SECRET.derive(b"sfumato ledger unit")]
    raw = path.read_bytes()
    for word in ("Lovelace", "condition", unit):
        assert all(word.encode(code) not in raw for code in ("utf-8", "utf-16-le", "utf-16-be"))
        for error in (over.value, wrong.value):
            assert word not in "".join(traceback.format_exception_only(error)) + repr(error.__context__)
        assert word not in repr(ledger) + repr(ledger.summary()) + repr(ledger.spent(texts[0]))
    for key in keys:
        assert key not in raw and key.hex().encode() not in raw.lower()
        assert key[:12] not in raw
    assert not caplog.records
    with pytest.raises(RandomnessError, match="pickled"):
        pickle.dumps(ledger)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcd"), max_size=6), st.sampled_from([None, STREAM, ROTATED]))
    )
)
def test_it_agrees_with_a_dictionary(memory_path, batches):
    ledger = opened(memory_path / f"{len(list(memory_path.iterdir()))}.db", 5)
    spent, held = dict.fromkeys("abcd", 0), set()
    for texts, stream in batches:
        new = texts if stream is None else sorted({t for t in texts if (t, stream) not in held})
        after = {t: spent[t] + new.count(t) for t in spent}
        if max(after.values()) > 5:
            with pytest.raises(BudgetError):
                ledger.spend(texts, ONE, stream=stream)
            continue
        assert ledger.spend(texts, ONE, stream=stream).charged == len(new)
        spent = after
        held |= {(t, stream) for t in new if stream}
    assert {t: ledger.spent(t).epsilon for t in "abcd"} == spent


def test_a_busy_ledger_says_so(path, monkeypatch):
    monkeypatch.setattr(ledger_file, "_BUSY_SECONDS", 0.05)
    ledger = opened(path)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SfumatoError, match="locked.*Release nothing"):
            ledger.spend(["a"], ONE)
        other.execute("ROLLBACK")
    other.close()
    assert ledger.spend(["a"], ONE).charged == 1


def hammer(path, threads, results):
    """Open and spend from several threads at once, on each text until its ceiling."""
    done = []

    def work():
        ledger = opened(path, 2)
        for text in CONTESTED:
            with contextlib.suppress(BudgetError):
                while True:
                    ledger.spend([text, f"own {os.getpid()} {threading.get_ident()} {len(done)}"], ONE)
                    done.append(text)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    results.put(done)


@needs_fork
@may_fork
def test_four_processes_of_four_threads_never_pass_the_ceiling(path):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [context.Process(target=hammer, args=(path, 4, results)) for _ in range(4)]
    for process in processes:
        process.start()
    released = Counter(text for _ in processes for text in results.get(timeout=120))
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert released == dict.fromkeys(CONTESTED, 2)
    assert all(opened(path).spent(text).epsilon == 2.0 for text in CONTESTED)


TEXTS = [f"text {i}" for i in range(7)]
VECTORS = np.eye(7, 32, dtype=np.float32)


def batch_rows(number: int) -> list[int]:
    return [number % 7, (3 * number + 1) % 7, (5 * number + 2) % 7, number % 7]


def release_for_ever(folder: Path, ledger: Ledger, mechanism: Laplace) -> None:
    for number in itertools.count():
        rows = batch_rows(number)
        ledger.spend([TEXTS[row] for row in rows], mechanism.guarantee)
        released = mechanism.privatize(VECTORS[rows])
        with open(folder / f"part-{number}", "wb") as file:
            np.save(file, released)
            file.flush()
            os.fsync(file.fileno())
        os.rename(folder / f"part-{number}", folder / f"release-{number}.npy")


@needs_fork
@may_fork
def test_a_killed_job_has_paid_for_all_it_released(memory_path):
    """In memory: on a slow disk a short life is over before its first release."""
    delays = np.random.default_rng(7).uniform(0.0, 0.030, 200)
    mechanism = Laplace(epsilon=10.0)
    mechanism.privatize(VECTORS)  # warm, so that the child spends its short life releasing
    files = unreleased = interrupted = 0
    for number, delay in enumerate(delays):
        folder = memory_path / str(number)
        folder.mkdir()
        ledger = opened(folder / "ledger.db")
        child = os.fork()
        if child == 0:
            try:
                release_for_ever(folder, ledger, mechanism)
            finally:
                os._exit(1)  # only reached by an error, which the parent sees as an exit instead of a kill
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        counts = dict.fromkeys(TEXTS, 0)
        for file in folder.glob("release-*.npy"):
            rows = batch_rows(int(file.stem.removeprefix("release-")))
            released = np.load(file, allow_pickle=False)
            assert released.shape == (4, 32) and np.isfinite(released).all()
            files += 1
            for row in rows:
                counts[TEXTS[row]] += 1
        interrupted += (folder / "ledger.db-journal").exists()
        after = opened(folder / "ledger.db")
        spent = {text: after.spent(text) for text in TEXTS}
        assert all(spent[text].releases >= counts[text] for text in TEXTS)
        assert all(spent[text].epsilon == 10.0 * spent[text].releases for text in TEXTS)
        paid = sum(spent[text].releases for text in TEXTS)
        assert paid - sum(counts.values()) in (0, 4), (
            "at most the batch in hand was paid for and not released"
        )
        unreleased += paid > sum(counts.values())
        assert after.spend(["next"], ONE).charged == 1, "the ledger works on after a kill"
    # The kills fell on both sides of a commit and inside it, or they would prove nothing.
    assert files > 0 and unreleased > 0 and interrupted > 0, (files, unreleased, interrupted)


def test_a_ledger_of_version_0_1_is_refused_with_the_reason(tmp_path):
    path = tmp_path / "ledger.db"
    opened(path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")
    with pytest.raises(ArtifactError, match=r"version 0\.1.*Start a new one"):
        opened(path)
