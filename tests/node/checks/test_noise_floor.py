from __future__ import annotations

import os
import statistics

import pytest

from hpcbench.core.check_result import NOTE, OK, WARNING
from hpcbench.node.checks import noise_floor
from hpcbench.node.checks.noise_floor import Noise
from hpcbench.node.host.sysfs import this_system

QUIET = Noise(0.001, 1.02, 1.001, 0.004, 0.0, 0.0, 10)


def test_the_smallest_difference_is_lehrs() -> None:
    """Lehr's rule, as van Belle ("Statistical rules of thumb", 2008, section 2.1) writes it: 16 / 0.5^2 = 64 values in
    each group for a difference of half a standard deviation."""
    assert noise_floor.smallest_difference(1.0, 64) == pytest.approx(0.5)
    assert noise_floor.smallest_difference(0.02, 16) == pytest.approx(0.02)


def test_the_noise_is_that_of_the_times() -> None:
    windows = [[1.0] * 98 + [3.0, 5.0], [2.0] * 100, [1.0] * 100]
    found = noise_floor.analyse(windows, waited=0.25, stolen=0.125)
    means = [1.06, 2.0, 1.0]
    assert found.median_s == 1.0
    assert found.slowest_over_fastest == 2.0
    assert found.p99_over_median == 2.0, "the 297th of 300"
    assert found.smallest_difference == pytest.approx(4 * statistics.stdev(means) / statistics.mean(means) / 3**0.5)
    assert (found.waited, found.stolen, found.seconds) == (0.25, 0.125, 3)


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, OK, ""),
        ({"smallest_difference": 0.02}, NOTE, "No other process ran on the CPU"),
        ({"smallest_difference": 0.2, "slowest_over_fastest": 1.4}, WARNING, "CPU speed varied"),
        ({"waited": 0.02}, NOTE, "Other processes ran on the CPU"),
        ({"waited": 0.5}, WARNING, "Other processes ran on the CPU"),
        ({"stolen": 0.3, "waited": 0.02}, WARNING, "The hypervisor gave the CPU to other guests"),
    ],
)
def test_noise_is_judged_with_its_cause(changes: dict[str, float], level: str, words: str) -> None:
    finding = noise_floor.evaluate(QUIET._replace(**changes))
    assert finding.level == level
    assert words in finding.means
    assert (finding.means == "") == (level == OK)


def test_what_was_found_is_told_in_words_and_in_numbers() -> None:
    finding = noise_floor.evaluate(QUIET)
    assert finding.found.startswith("two runs of 10 s must differ by 0.4 % to be distinguishable")
    assert "1 ms of work: p99 +2 %, slowest second +0.1 %, CPU taken by others 0 % of the time" in finding.found
    assert finding.numbers is not None
    assert finding.numbers["noise_smallest_difference"] == 0.004
    assert "p99 12.0x" in noise_floor.evaluate(QUIET._replace(p99_over_median=12.0)).found


@pytest.mark.integration
def test_this_machine_is_timed_on_one_cpu_and_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str]] = []
    seen = []

    def progress(what: str, how_far: str) -> None:
        told.append((what, how_far))
        seen.append(os.sched_getaffinity(0))

    system, before = this_system(), os.sched_getaffinity(0)
    found = noise_floor.measure(system, 3, progress)
    assert told == [("noise floor", f"second {n} of 3") for n in (1, 2, 3)]
    assert seen == [{system.cpus[-1]}] * 3
    assert os.sched_getaffinity(0) == before
    assert found.seconds == 3
    assert 1e-5 < found.median_s < 1
    assert found.p99_over_median >= 1
    assert found.slowest_over_fastest >= 1
    assert 0 <= found.waited < 1


def test_time_waited_and_time_stolen_are_read_as_proc_writes_them(lay) -> None:
    files = {
        "proc/self/schedstat": "5000000000 250000000 77\n",
        "proc/stat": "cpu  1 1\ncpu0 0 0 0 0 0 0 0 11 0 0\ncpu1 0 0 0 0 0 0 0 300 0 0\n",
    }
    system = lay(files)
    assert noise_floor._waited_s(system) == 0.25
    assert noise_floor._stolen_s(system, 1) == 300 / os.sysconf("SC_CLK_TCK")
    assert (noise_floor._waited_s(lay({}, [])), noise_floor._stolen_s(system, 5)) == (0.25, 0.0)
