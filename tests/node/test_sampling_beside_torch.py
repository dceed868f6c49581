"""Beside torch.utils.benchmark. Here on a machine that may be busy; `make bench-sampling` shows it on a quiet one."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch


def test_the_median_is_about_that_of_torch_utils_benchmark() -> None:
    import torch

    from benchmarks import sampling

    torch.set_num_threads(1)
    middle, *_ = sampling.ratio(torch.nn.LSTM(64, 128), torch.randn(50, 16, 64), rounds=12)
    assert middle == pytest.approx(1.0, abs=0.15)
