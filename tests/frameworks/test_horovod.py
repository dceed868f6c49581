"""Horovod under PyTorch, in its own environment."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("framework", ["pytorch"])
def test_in_float16_the_gradients_of_all_ranks_are_unscaled_once_they_are_together(framework, ask_ranks):
    """One rank's infinite loss skips the step of both; the next step is that of the mean."""
    said = ask_ranks("horovod_probe", framework=framework, environment="horovod-pytorch")
    assert said == [{"untouched": True, "is_mean": True}] * 2
