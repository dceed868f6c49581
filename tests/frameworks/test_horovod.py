"""Horovod under PyTorch, in its own environment."""

from __future__ import annotations


def test_in_float16_the_gradients_of_all_ranks_are_unscaled_once_they_are_together(answers):
    """One rank's infinite loss skips the step of both; the next step is that of the mean."""
    said = answers("horovod_probe.py", framework="pytorch", environment="horovod-pytorch", ranks=2)
    assert said == [{"untouched": True, "is_mean": True}] * 2
