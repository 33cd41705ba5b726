"""One row a threshold of importance."""

from __future__ import annotations

import pytest
from tests.text.test_rewriter import rewriter

from sfumato.embedders import Fake
from sfumato_research.text.sweep import sweep


def test_the_sweep_has_a_row_a_threshold():
    rows = sweep(rewriter(task="oil"), ["oil price fell"] * 3, Fake(), thresholds=(-1.0, 1.0))
    assert [row.threshold for row in rows] == [-1.0, 1.0]
    assert rows[0].important == 1.0 and rows[1].important <= 1 / 3
    assert all(row.cosine == pytest.approx(1.0, abs=1e-3) and row.mean_epsilon == 1000 for row in rows)
