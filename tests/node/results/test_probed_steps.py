"""The steps of several processes as the measurements of one run."""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hpcbench_probe.recorder import Recorder

from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.samples import Window
from hpcbench.node.results import probed_steps
from hpcbench.node.results.probe_files import ProbedProcess
from hpcbench.node.results.probed_steps import ProbedSteps, merged, warm_up

Merge = Callable[..., ProbedSteps]


def process(
    times: Sequence[float], rank: int | None = 0, host: str = "n1", items: int = 4, start: float = 10.0, **more: Any
) -> ProbedProcess:
    """Steps without a pause between them."""
    ends, now = [], start
    for time_s in times:
        now += time_s
        ends.append(now)
    series = (array("d", each) for each in ([start, *ends[:-1]], ends, [items] * len(ends)))
    return ProbedProcess(host, rank, None, 0.0, *series, {}, {})._replace(**more)


@pytest.fixture
def merge(make_planned: Callable[..., PlannedRun]) -> Merge:
    def made(*processes: ProbedProcess, max_warmup_s: float = 10.0, **parameters: Any) -> ProbedSteps:
        planned = make_planned(framework="command", model=None, command="true", **parameters)
        measure = {**planned.measure, "precision": 0.05, "max_warmup_s": max_warmup_s}
        return merged(list(processes), planned._replace(measure=measure), 100.0)

    return made


def test_a_step_takes_the_time_of_its_slowest_process(merge: Merge) -> None:
    found = merge(process([1, 2, 3, 4]), process([2, 1, 4, 3], rank=1, host="n2", start=500.0, epoch_s=-490.0))
    samples = found.samples["n1"]
    assert samples.first_step_s == 2
    assert (samples.warmup_steps, samples.warmup_s, samples.steady) == (2, 4, False)
    assert samples.times_s == [4, 4]
    assert found.items_per_step == 8
    assert (found.probe.processes, found.probe.steps, found.probe.wall_time_s) == (2, 4, 100.0)
    assert found.warnings == []


def test_windows_are_on_the_clock_of_each_host(merge: Merge) -> None:
    found = merge(process([1] * 4), process([1] * 4, rank=1, host="n2", start=500.0, epoch_s=-490.0))
    assert found.samples["n1"].windows == [Window(12.0, 13.0, 1), Window(13.0, 14.0, 1)]
    assert found.samples["n2"].windows == [Window(502.0, 503.0, 1), Window(503.0, 504.0, 1)]


def test_short_steps_share_a_window_and_a_long_pause_ends_it(merge: Merge) -> None:
    first, second = process([0.125] * 15), process([0.125] * 14, start=50.0)
    both = first._replace(
        starts=first.starts + second.starts, ends=first.ends + second.ends, items=array("d", [4] * 29)
    )
    samples = merge(both).samples["n1"]
    assert samples.warmup_steps == 6
    assert [window.samples for window in samples.windows] == [4, 4, 1, 4, 4, 4, 2]
    assert samples.windows[2].end_s == first.ends[-1]


def test_processes_with_fewer_steps_limit_the_others_with_a_warning(merge: Merge) -> None:
    found = merge(process([1] * 6), process([1] * 4, rank=1))
    assert len(found.samples["n1"].times_s) == 2
    assert found.warnings == [
        "the number of steps differs between processes (4 to 6); hpcbench uses the first 4 of each process"
    ]


def test_instances_are_independent(merge: Merge) -> None:
    found = merge(process([1, 1]), process([3, 3], rank=1), instances=2, cpus_per_task=2)
    assert found.samples["n1"].times_s == [1.5]


def test_only_the_last_of_several_programs_counts(merge: Merge) -> None:
    first = (process([1] * 4), process([1] * 4, rank=1), process([1] * 4, rank=2, start=12.0))
    found = merge(*first, process([2] * 4, start=20.0), process([2] * 4, rank=1, start=27.0))
    assert found.probe.processes == 2
    assert found.samples["n1"].times_s == [2, 2]
    assert found.warnings == [
        "3 processes recorded steps before the last program began; hpcbench uses only the last program"
    ]


def test_ranks_without_steps_make_the_throughput_unknown(merge: Merge) -> None:
    found = merge(process([1] * 4, ranks=2))
    assert found.items_per_step is None
    assert found.warnings == ["1 of 2 ranks recorded steps; the throughput is unknown"]
    assert merge(process([1] * 4, ranks=2), process([1] * 4, rank=1, ranks=2)).items_per_step == 8


def test_steps_in_bursts_are_measured_in_blocks(merge: Merge) -> None:
    """A data loader delivers eight batches at once: the median step hides the wait for them."""
    bursts = [0.9 if step % 8 == 0 else 0.1 for step in range(800)]
    found = merge(process(bursts, start=0.0), max_warmup_s=1.0)
    samples = found.samples["n1"]
    assert samples.steps_per_measurement == 8
    assert statistics.median(samples.times_s) == pytest.approx(0.2)
    assert found.warnings == [
        "step times are irregular: the mean is 2.00x the median; each measurement is the mean of 8 steps"
    ]
    few = merge(process(bursts[:30], start=0.0), max_warmup_s=1.0)
    assert few.warnings[0].endswith("and there are too few steps to average them")


def test_steps_without_items_have_no_throughput(merge: Merge) -> None:
    assert merge(process([1] * 4), process([1] * 4, rank=1, items=0)).items_per_step is None


def test_different_items_are_averaged_with_a_warning(merge: Merge) -> None:
    found = merge(process([1] * 4, items=0)._replace(items=array("d", [9, 9, 4, 8])))
    assert found.items_per_step == 6
    assert found.warnings == ["the number of items differs between steps (4 to 8); the throughput uses the mean, 6"]
    assert merge(process([1] * 4, items=0)._replace(items=array("d", [1, 1, 1, 2]))).items_per_step is None


def test_long_pauses_between_steps_cause_a_warning(merge: Merge) -> None:
    def apart(pause_s: float) -> ProbedProcess:
        starts = array("d", (0.125 * place + pause_s * place for place in range(20)))
        return process([1] * 20)._replace(starts=starts, ends=array("d", (start + 0.125 for start in starts)))

    (warning,) = merge(apart(0.125)).warnings
    assert warning == (
        "time between steps is 39 % of the measured time; step time and throughput exclude it, energy and utilization "
        "include it"
    )
    assert merge(apart(0.5)).warnings == []  # each step has a window of its own


def test_phases_are_those_of_the_slowest_process_of_each_step(merge: Merge) -> None:
    slow_last = process([1, 1, 1, 3], phases={"data": [(2, 0.1), (3, 0.5), (3, 0.5)], "odd name!": [(2, 0.25)]})
    slow_first = process([1, 1, 2, 1], rank=1, phases={"data": [(2, 0.2), (3, 9.0)]})
    metrics = merge(slow_last, slow_first).metrics
    assert metrics["phase_data"]["value"] == pytest.approx((0.2 + 1.0) / 2)
    assert metrics["phase_data"]["steps"] == [2, 3]
    assert (metrics["phase_data"]["unit"], metrics["phase_data"]["better"]) == ("s", "lower")
    assert metrics["phase_odd_name"]["value"] == 0.0  # it was in the faster process


def test_logged_values_are_those_of_the_lowest_rank(merge: Merge) -> None:
    values = [(step, 1.0 / (1 + step)) for step in range(3000)]
    one = process([1] * 4, logs={"train/loss": values, "acc": [(1, 0.5), (2, math.nan)]})
    found = merge(one, process([1] * 4, rank=1, logs={"acc": [(1, 9.0)], "train_loss": [(1, 1.0)]}))
    metrics = found.metrics
    assert metrics.keys() == {"train_loss", "acc", "train_loss_2"}
    assert found.warnings == [
        "logged names have the same metric, so hpcbench numbers them: 'train_loss' is train_loss_2"
    ]
    loss = metrics["train_loss"]
    assert (loss["value"], loss["count"], len(loss["values"])) == (1 / 3000, 3000, 1000)
    assert (loss["steps"][0], loss["steps"][-1]) == (0, 2999)
    assert (metrics["acc"]["value"], metrics["acc"]["values"]) == (None, [0.5])
    assert metrics["acc"]["reason"] == "a logged value is not finite"


def test_many_steps_are_measured_in_blocks(merge: Merge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probed_steps, "MAX_SAMPLES_KEPT", 3)
    samples = merge(process([9] * 6 + [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), max_warmup_s=1e9).samples["n1"]
    assert (samples.steps_per_measurement, samples.times_s) == (4, [2.5, 6.5])
    assert sum(window.samples for window in samples.windows) == 2
    assert samples.windows[-1].end_s == 10 + 54 + sum(range(1, 9))


def test_a_single_step_is_measured(merge: Merge) -> None:
    found = merge(process([2]))
    samples = found.samples["n1"]
    assert (samples.times_s, samples.warmup_steps, samples.steady) == ([2], 0, None)
    assert found.warnings == ["only 1 step was recorded; its time includes the warm-up; run more steps"]


@pytest.mark.parametrize(
    ("times", "most_s", "warmup", "steady"),
    [
        ([1.0] + [0.1] * 99, 10.0, 6, True),  # 0.5 s after the first step
        ([10 * 0.9**place for place in range(100)], 20.0, 4, False),  # it falls for longer than 20 s
        ([10 * 0.9**place for place in range(100)], 1e9, 50, False),  # half of the steps
        ([1.0, 1.0], 10.0, 1, False),
    ],
)
def test_the_warm_up_ends_as_that_of_models(times: list[float], most_s: float, warmup: int, steady: bool) -> None:
    assert warm_up(times, 0.05, most_s) == (warmup, steady)


def test_the_steps_replace_the_wall_time_of_each_rank(merge: Merge) -> None:
    found = merge(process([1] * 4))
    facts = {"measurements": {"times_s": [100.0]}, "status": "completed"}
    here, elsewhere = found.in_facts([{"host": "n1", "facts": facts}, {"host": "n9", "facts": facts}])
    assert here["facts"]["measurements"]["times_s"] == [1, 1]
    assert here["facts"]["work"]["items_per_step"] == 4
    assert elsewhere["facts"]["measurements"] == {**here["facts"]["measurements"], "windows": []}
    assert replace(found.samples["n1"], windows=[]).warmup_steps == 2


def test_idle_processes_and_the_last_values_of_a_failed_program_are_reported(tmp_path: Path) -> None:
    """The first rank was killed before it wrote its last values."""
    for steps in (1, 9, 0):
        recorder = Recorder(str(tmp_path / "run"))
        for step in range(steps):
            recorder.add(step, step + 1, 1)
            recorder.log("loss", 1 / (step + 1))
        recorder.close(was_used=True)
    (warning,) = probed_steps.of_unfinished(str(tmp_path))
    assert warning == "the program recorded 9 steps before it failed; last logged values: loss = 0.111111 (step 9)"
