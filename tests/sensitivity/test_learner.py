"""Learning masks: they find planted axes, obey the penalty, and do not depend on what runs beside them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import spearmanr

torch = pytest.importorskip("torch")

from sfumato.errors import MissingPackageError, ParameterError, VectorError  # noqa: E402
from sfumato.mechanisms import Mahalanobis, Suppression  # noqa: E402
from sfumato.sensitivity import MaskLearner, MaskSettings  # noqa: E402
from sfumato.sensitivity.batches import PairLayout  # noqa: E402
from sfumato.sensitivity.gates import settled_gates  # noqa: E402
from sfumato.sensitivity.training import Training  # noqa: E402
from tests.sensitivity.planted import area_under_curve, planted_pairs, rotated_pairs  # noqa: E402

QUICK = {"epochs": 40, "hidden": (64, 32)}


def quick_mask(data, **changes):
    return MaskLearner(MaskSettings(**(QUICK | changes))).fit(data.plus, data.minus)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("dim", "pairs", "shift"), [(96, 400, 0.4), (384, 1000, 0.15)], ids=["easy", "faint"]
)
def test_planted_axes_are_found(dim, pairs, shift, seed):
    data = planted_pairs(pairs, dim, shift=shift, seed=seed)
    learned = MaskLearner(MaskSettings(seed=seed), device="cpu").fit(data.plus, data.minus, name="planted")
    assert area_under_curve(learned.mask.scores, data.truth) >= 0.97
    assert learned.mask.name == "planted" and learned.mask.source == "unknown"
    assert learned.report.told_apart and learned.report.accuracy > 0.75


@pytest.mark.parametrize("penalty", ["sum", "mean"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_both_penalties_and_precisions_find_them(penalty, precision):
    data = planted_pairs(seed=3)
    learned = quick_mask(data, penalty=penalty, precision=precision)
    assert area_under_curve(learned.mask.scores, data.truth) >= 0.97
    assert learned.report.precision == precision


def test_a_larger_penalty_closes_more_gates():
    data = planted_pairs(seed=1)
    shares = [
        quick_mask(data, penalty_weight=weight, patience=40).report.open_share
        for weight in (0.0, 3e-3, 1e-2, 3e-2)
    ]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True) and shares[-1] < 0.2


def test_the_papers_minus_would_reward_open_gates(monkeypatch):
    right = Training.penalty
    monkeypatch.setattr(Training, "penalty", lambda self: -right(self))
    data = planted_pairs(seed=1)
    assert quick_mask(data, penalty_weight=3e-2, patience=40).report.open_share == 1.0


def test_the_mean_is_the_sum_with_a_weaker_weight():
    data = planted_pairs(seed=2)
    one = quick_mask(data, penalty="sum", penalty_weight=3e-3)
    other = quick_mask(data, penalty="mean", penalty_weight=3e-3 * 96)
    # Equal but for rounding, which a thousand steps make visible.
    assert spearmanr(one.mask.scores, other.mask.scores).statistic > 0.9
    assert quick_mask(data, penalty="mean", penalty_weight=3e-3).report.open_share > 0.95


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_a_sparsity_target_is_met(share):
    data = planted_pairs(seed=4)
    learned = quick_mask(data, sparsity=share, epochs=80)
    assert learned.report.open_share == pytest.approx(share, abs=0.03)
    assert np.ptp(learned.report.curves.penalty_weight) > 0
    assert area_under_curve(learned.mask.scores, data.truth) >= 0.97


def test_many_at_once_are_what_each_is_alone():
    named = {f"concept {seed}": planted_pairs(500 + seed, seed=seed) for seed in range(3)}
    named["small"] = planted_pairs(60, seed=9)
    learner = MaskLearner(MaskSettings(**QUICK | {"epochs": 15}), device="cpu")
    many = learner.fit_many(
        {name: (data.plus, data.minus) for name, data in named.items()}, source="synthetic"
    )
    assert list(many) == list(named)
    for name, data in named.items():
        alone = learner.fit(data.plus, data.minus)
        assert np.abs(many[name].mask.scores - alone.mask.scores).max() < 1e-3
        assert many[name].report.epoch == alone.report.epoch
        assert many[name].mask.name == name and many[name].mask.source == "synthetic"


def test_same_seed_same_mask():
    data = planted_pairs()
    masks = [quick_mask(data, seed=seed, epochs=8).mask.scores for seed in (5, 5, 6)]
    assert np.array_equal(masks[0], masks[1]) and not np.array_equal(masks[0], masks[2])


def test_input_is_left_alone_and_may_be_anything_array_like():
    data = planted_pairs(100)
    plus, minus = data.plus.copy(), data.minus.astype(np.float64)
    plus.flags.writeable = False
    learner = MaskLearner(MaskSettings(epochs=2))
    first = learner.fit(data.plus, data.minus).mask.scores
    mixed = learner.fit(plus, minus.tolist()).mask.scores
    tensors = learner.fit(torch.tensor(data.plus), torch.tensor(data.minus)).mask.scores
    assert np.array_equal(first, mixed) and np.array_equal(first, tensors)
    assert np.array_equal(plus, data.plus)


def test_early_stopping_keeps_the_best_epoch():
    # 40 pairs in 96 dimensions are learned by heart within a few epochs.
    data = planted_pairs(40, shift=0.1)
    report = quick_mask(data, penalty_weight=0.0, patience=3, epochs=200).report
    run = len(report.curves.loss)
    assert run < 200 and report.epoch == run - 3
    assert report.epoch == 1 + int(np.argmin(report.curves.held_out_loss))
    assert report.held_out == 4 and report.pairs == 40


def test_a_concept_that_stops_does_not_stop_the_others():
    named = {"hard": planted_pairs(100, shift=0.02, seed=1), "easy": planted_pairs(100, shift=0.8, seed=2)}
    learner = MaskLearner(MaskSettings(epochs=60, patience=3, penalty_weight=0.0, hidden=(64, 32)))
    many = learner.fit_many({name: (data.plus, data.minus) for name, data in named.items()})
    runs = {name: len(found.report.curves.loss) for name, found in many.items()}
    assert runs["hard"] < runs["easy"]
    assert not many["hard"].report.told_apart and many["easy"].report.told_apart


def test_the_report_says_how_it_went():
    report = quick_mask(planted_pairs(seed=7), penalty_weight=3e-3).report
    curves = report.curves
    for line in (curves.loss, curves.held_out_loss, curves.accuracy, curves.expected_open, curves.open_share):
        assert line.shape == curves.loss.shape and np.isfinite(line).all() and not line.flags.writeable
    assert curves.loss[-1] < curves.loss[0] and curves.expected_open[-1] < curves.expected_open[0] <= 96
    assert report.accuracy == curves.accuracy[report.epoch - 1] > 0.8
    summary = report.summary()
    assert summary["settings"]["seed"] == 0 and summary["device"] == "cpu" and summary["pairs"] == 600


def test_progress_reaches_the_end_even_when_stopped_early():
    seen = []
    named = {"one": planted_pairs(40), "two": planted_pairs(300)}
    pairs = {name: (data.plus, data.minus) for name, data in named.items()}
    settings = MaskSettings(epochs=30, patience=2)
    MaskLearner(settings).fit_many(pairs, on_epoch=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (60, 60) and seen == sorted(seen) and {total for _, total in seen} == {60}


def test_learned_masks_go_into_mechanisms():
    data = planted_pairs()
    mask = quick_mask(data, penalty_weight=1e-2).mask
    shaped = Mahalanobis(epsilon=100.0, shape=mask)
    variances = shaped.shape.covariance().diagonal()
    assert variances[data.truth].mean() > 5 * variances[~data.truth].mean()
    chosen = Suppression(epsilon=10.0, mask=mask, share=0.1).axes
    assert data.truth[chosen].mean() > 0.9
    # Gates that are fully open, and those that are fully closed, still have an order.
    assert np.unique(mask.scores).size > 0.9 * mask.dim


def test_no_mask_can_follow_a_rotated_concept():
    data = rotated_pairs()
    learned = quick_mask(data)
    assert learned.report.told_apart  # the concept is plain to see, only not along axes
    moves = (data.plus - data.minus).astype(np.float64)
    moment = moves.T @ moves
    count = 8
    by_mask = moment.diagonal()[learned.mask.top(count)].sum() / moment.trace()
    best_axes = np.sort(moment.diagonal())[-count:].sum() / moment.trace()
    by_directions = np.linalg.eigvalsh(moment)[-count:].sum() / moment.trace()
    assert by_mask <= best_axes < 0.35
    assert by_directions > 0.85
    # The same count of axes is all it takes when the concept follows the axes.
    aligned = planted_pairs(shift=0.8)
    moves = (aligned.plus - aligned.minus).astype(np.float64)
    energy = (moves**2).sum(0)
    assert energy[quick_mask(aligned).mask.top(10)].sum() / energy.sum() > 0.85


def test_gates_settle_by_the_papers_formula():
    gates = settled_gates(torch.tensor([-9.0, np.log(1 / 11), 0.0, np.log(11.0), 9.0]))
    assert np.allclose(gates.numpy(), [0.0, 0.0, 0.5, 1.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("pairs", [18, 27, 100, 459, 1990, 9000, 123_456])
@pytest.mark.parametrize("split", [False, True])
def test_layouts_hold_every_pair_and_no_empty_step(pairs, split):
    for batch_size in (2, 64, 512):
        layout = PairLayout.of(pairs, 2, batch_size, split=split)
        parts = layout.steps * layout.parts
        assert parts <= pairs and layout.steps & (layout.steps - 1) == 0
        assert pairs <= parts * layout.batch <= 1.5 * pairs + 2 * parts


def test_threads_change_neither_the_mask_nor_torch():
    before = torch.get_num_threads()
    data = planted_pairs(1200)
    assert PairLayout.of(1080, 120, 512, split=True).parts == 2
    masks = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            masks.append(quick_mask(data, epochs=3).mask.scores)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*masks)


def test_without_a_gpu_the_cpu_does_it(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert MaskLearner().device.type == "cpu" and MaskLearner().precision == "float32"
    with pytest.warns(RuntimeWarning, match="no CUDA device"):
        learner = MaskLearner(MaskSettings(epochs=1), device="cuda")
    data = planted_pairs(40)
    assert learner.fit(data.plus, data.minus).report.device == "cpu"


def test_devices_that_are_none_of_ours_are_refused():
    for name in ("tpu", "meta", "cuda:x"):
        with pytest.raises(ParameterError, match="device"):
            MaskLearner(device=name)


def bad_pairs():
    data = planted_pairs(60)
    nan = data.plus.copy()
    nan[7, 3] = np.nan
    return {
        "unequal rows": (data.plus, data.minus[:-1], "one row for each text"),
        "other dimension": (data.plus, data.minus[:, :-1], "same dimension"),
        "too few": (data.plus[:19], data.minus[:19], "at least 20 pairs"),
        "NaN": (nan, data.minus, r"row 7 of D\+"),
        "infinity": (data.plus, np.where(np.isnan(nan), np.inf, data.minus), "row 7 of D-"),
        "text": ([["a"] * 96] * 60, data.minus, "real numbers"),
        "flat": (data.plus[0], data.minus[0], "two-dimensional"),
        "no difference": (data.plus, data.plus, "nothing to learn"),
    }


@pytest.mark.parametrize("case", bad_pairs())
def test_bad_pairs_are_refused_by_concept_and_row(case):
    plus, minus, message = bad_pairs()[case]
    good = planted_pairs(60)
    with pytest.raises(VectorError, match=message) as caught:
        MaskLearner(MaskSettings(**QUICK)).fit_many(
            {"good": (good.plus, good.minus), "the bad one": (plus, minus)}
        )
    assert "the bad one" in str(caught.value)
    if case in ("NaN", "infinity"):
        assert caught.value.row == 7


def test_concepts_of_two_dimensions_or_none_are_refused():
    one, other = planted_pairs(60), planted_pairs(60, 48)
    with pytest.raises(VectorError, match="48, 96"):
        MaskLearner().fit_many({"a": (one.plus, one.minus), "b": (other.plus, other.minus)})
    with pytest.raises(ParameterError, match="at least one concept"):
        MaskLearner().fit_many({})


@pytest.mark.parametrize(
    "wrong",
    [
        {"penalty_weight": -1e-3},
        {"penalty": "max"},
        {"sparsity": 0.0},
        {"sparsity": 1.5},
        {"epochs": 0},
        {"batch_size": 1},
        {"patience": 0},
        {"held_out": 0.9},
        {"hidden": ()},
        {"hidden": (0,)},
        {"precision": "float16"},
        {"seed": -1},
        {"learning_rate": float("nan")},
    ],
    ids=str,
)
def test_settings_outside_their_range_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        MaskSettings(**wrong)


def test_importing_sensitivity_loads_no_torch():
    code = (
        "import sys, sfumato.sensitivity as s; s.Mask([1.0]); s.MaskSettings(); s.combine_masks;"
        "assert 'torch' not in sys.modules and 'scipy.stats' not in sys.modules;"
        "s.MaskLearner; assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_the_install_line_is_named():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import sfumato.sensitivity as s\n"
        "from sfumato.errors import MissingPackageError\n"
        "try:\n    s.MaskLearner\n"
        "except MissingPackageError as error:\n    print(error.extra, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("learn ") and "sfumato[learn]" in done.stdout
    assert issubclass(MissingPackageError, ImportError)
