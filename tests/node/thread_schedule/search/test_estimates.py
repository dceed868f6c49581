import math
import random
from statistics import stdev

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed; not run: the times of sections")

from hpcbench.node.thread_schedule.search import estimates
from hpcbench.node.thread_schedule.search.estimates import Estimate, SectionTimes

pytestmark = pytest.mark.torch


def test_the_error_is_what_medians_of_normal_samples_differ_by() -> None:
    generator = random.Random(1)
    found = [estimates.of_samples([generator.gauss(1, 0.1) for _ in range(50)]) for _ in range(400)]
    spread = stdev(each.seconds for each in found)
    assert spread == pytest.approx(0.1 * math.sqrt(math.pi / 2 / 50), rel=0.1)
    assert sum(each.error_s for each in found) / len(found) == pytest.approx(spread, rel=0.1)


def test_a_disturbed_sample_changes_little() -> None:
    assert estimates.of_samples([1.0, 1.1, 0.9, 1.05, 50.0]).seconds == 1.05


def test_two_samples_tell_no_error() -> None:
    assert estimates.of_samples([1.0, 1.0]).error_s == math.inf
    assert estimates.of_samples([]) == estimates.UNKNOWN


def test_pooling_weighs_by_the_inverse_of_the_variance() -> None:
    found = estimates.pooled([Estimate(1.0, 1.0), Estimate(4.0, 2.0), estimates.UNKNOWN])
    assert found.seconds == pytest.approx(1.6)  # (1 / 1 + 4 / 4) / (1 / 1 + 1 / 4)
    assert found.error_s == pytest.approx(math.sqrt(0.8))


def test_a_change_costs_what_a_section_takes_longer_behind_another_count() -> None:
    times = SectionTimes(2)
    for _ in range(3):
        times.add([1, 1], [5.0, 7.0])
        times.add([2, 2], [3.0, 4.0])
        times.add([1, 2], [5.25, 4.5])
    assert times.seconds(1) == {1: 7.0, 2: 4.0}
    assert times.change(2, 1).seconds == 0.25
    assert times.change(1, 2).seconds == 0.5
    assert times.changes() == [(1, 2), (2, 1)]
