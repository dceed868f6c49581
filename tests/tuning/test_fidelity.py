"""How long a measurement of each stage may take."""

from __future__ import annotations

from hpcbench.config.experiment import Measure
from hpcbench.tuning.fidelity import Stage

MEASURE = Measure(min_time_s=2, max_time_s=9, max_warmup_s=9, min_measurements=30)


def test_a_full_measurement_is_what_the_experiment_asks_for() -> None:
    assert Stage.FULL.of(MEASURE) == MEASURE


def test_a_short_one_gets_a_ninth() -> None:
    short = Stage.SHORT.of(MEASURE)
    assert (short.max_time_s, short.min_time_s, short.max_warmup_s, short.min_measurements) == (1.0, 1.0, 1.0, 4)


def test_none_is_shorter_than_a_moment_or_longer_than_asked() -> None:
    assert Stage.SHORT.of(Measure(min_time_s=0.1, max_time_s=0.9)).max_time_s == 0.3
    assert Stage.SHORT.of(Measure(min_time_s=0.1, max_time_s=0.2)).max_time_s == 0.2
