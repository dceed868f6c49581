"""Scaling series: what was held constant, over which base, how far it pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import by_case, case_table
from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.cases.quantities import THROUGHPUT
from hpcbench.analysis.cases.ranking import ranked
from hpcbench.analysis.cases.speedup import add_speedup
from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.scaling import MAX_ERROR, STRONG, WEAK, Scaling, scaling, series_of
from hpcbench.report.text.scaling_sentences import sentences

Scale = Callable[..., list[Scaling]]
SPREAD = (1.0, 1.01, 0.99, 1.005, 0.995, 1.0)
AXES = ["framework", "strategy", "nodes", "tasks_per_node", "cpus_per_task", "intra_op_threads", "batch_size"]


@pytest.fixture
def scale(repetition: Callable[..., dict[str, Any]], table: Callable[..., pd.DataFrame]) -> Scale:
    """The series of cases of so many nodes, of one CPU each, that take so many seconds for so many items."""

    def make(*cases: dict[str, Any], spread: tuple[float, ...] = SPREAD) -> list[Scaling]:
        own = ("time", "runs")
        rows = [
            repetition(number, run, [case["time"] * part], **{k: v for k, v in case.items() if k not in own})
            for number, case in enumerate(cases)
            for run, part in enumerate(spread[: case.get("runs")])
        ]
        repetitions = table(*rows)
        replicates = Replicates(by_case(repetitions))
        frame = ranked(add_speedup(case_table(repetitions), replicates), THROUGHPUT)
        results = Results(repetitions, frame, THROUGHPUT, telling_apart(frame, AXES), replicates)
        return [scaling(each, replicates) for each in series_of(results)]

    return make


def strong(nodes: int, time: float, **changes: Any) -> dict[str, Any]:
    return {"nodes": nodes, "batch_size": 64 // nodes, "items_per_step": 64, "time": time, **changes}


def weak(nodes: int, time: float, **changes: Any) -> dict[str, Any]:
    return {"nodes": nodes, "batch_size": 32, "items_per_step": 32 * nodes, "time": time, **changes}


def test_a_step_of_equal_work_is_strong_scaling(scale: Scale) -> None:
    (found,) = scale(strong(1, 0.8), strong(2, 0.4), strong(4, 0.25))
    assert (found.kind, found.held, found.unit) == (STRONG, "64 items per step", "CPUs")
    assert list(found.points["processors"]) == [1, 2, 4]
    assert list(found.points["speedup"]) == pytest.approx([1, 2, 3.2])
    assert list(found.points["efficiency"]) == pytest.approx([1, 1, 0.8])
    assert found.points["efficiency_low"].iloc[2] < 0.8 < found.points["efficiency_high"].iloc[2]
    assert found.points["efficiency_low"].isna().iloc[0], "the base is 1 by definition"


def test_equal_work_for_each_processor_is_weak_scaling(scale: Scale) -> None:
    (found,) = scale(weak(1, 0.4), weak(2, 0.4), weak(4, 0.5))
    assert (found.kind, found.held) == (WEAK, "32 items per step and CPU")
    assert list(found.points["speedup"]) == pytest.approx([1, 2, 3.2])
    assert list(found.points["efficiency"]) == pytest.approx([1, 1, 0.8])


def test_threads_are_processors(scale: Scale) -> None:
    cases = [{"time": 0.4 / count, "cpus_per_task": 4, "intra_op_threads": count} for count in (1, 2)]
    cases = [{**case, "effective_intra_op_threads": case["intra_op_threads"]} for case in cases]
    (found,) = scale(*cases)
    assert (found.kind, list(found.points["processors"])) == (STRONG, [1, 2])


def test_the_threads_of_all_instances_are_processors(scale: Scale) -> None:
    cases = [{"time": 0.4, "cpus_per_task": 4, "instances": count, "items_per_step": 32 * count} for count in (1, 2)]
    (found,) = scale(*({**case, "effective_intra_op_threads": 2} for case in cases))
    assert (found.kind, list(found.points["processors"])) == (WEAK, [2, 4])


def test_gpus_count_one_for_each_task(scale: Scale) -> None:
    gpus = {"device": "gpu", "gpus_per_task": 1, "cpus_per_task": 16, "effective_intra_op_threads": 16}
    (found,) = scale(*(weak(nodes, 0.4, tasks_per_node=2, items_per_step=64 * nodes, **gpus) for nodes in (1, 2)))
    assert (found.unit, list(found.points["processors"])) == ("GPUs", [2, 4])
    assert list(found.points["ideal"]) == [1, 2]


def test_commands_with_recorded_steps_scale_over_the_gpus_that_they_have_requested(scale: Scale) -> None:
    of_command = {"framework": "command", "gpus_per_task": 4, "cpus_per_task": 16}
    (found,) = scale(*(weak(nodes, 0.4, items_per_step=64 * nodes, **of_command) for nodes in (1, 2)))
    assert (found.unit, list(found.points["processors"])) == ("GPUs", [4, 8])


def test_what_else_differs_makes_series_of_their_own(scale: Scale) -> None:
    found = scale(*(weak(n, t, strategy=s) for s, t in (("ddp", 0.4), ("fsdp", 0.5)) for n in (1, 2)))
    assert [(each.series, len(each.points)) for each in found] == [("strategy=ddp", 2), ("strategy=fsdp", 2)]


def test_each_batch_size_of_a_matrix_is_a_series_of_what_was_held_constant(scale: Scale) -> None:
    cases = [
        {"time": 0.1, "nodes": nodes, "batch_size": batch, "items_per_step": batch * nodes}
        for nodes in (1, 2)
        for batch in (16, 32)
    ]
    assert {(each.kind, each.items) for each in scale(*cases)} == {(WEAK, 16), (WEAK, 32)}


def test_one_number_of_processors_is_no_series(scale: Scale) -> None:
    assert scale(weak(2, 0.4, strategy="ddp"), weak(2, 0.5, strategy="fsdp")) == []


def test_two_cases_on_as_many_processors_are_both_points_and_the_faster_is_the_base(scale: Scale) -> None:
    both = [weak(1, 0.40), weak(1, 0.42, tasks_per_node=2, batch_size=32, items_per_step=64)]
    (found,) = scale(*both, weak(2, 0.41))
    assert list(found.points["processors"]) == [1, 2, 2]
    assert list(found.points["is_base"]) == [True, False, False]


def test_it_pays_as_far_as_more_certainly_do_more(scale: Scale) -> None:
    (found,) = scale(strong(1, 0.8), strong(2, 0.45), strong(4, 0.45), strong(8, 0.46))
    assert found.pays_until == 2
    said = sentences(found)
    assert said[0].startswith("Strong scaling, 64 items per step: 1.78x [1.7")
    assert said[0].endswith("beyond 2 CPUs, no number is significantly faster.")


def test_a_law_that_does_not_fit_is_neither_named_nor_drawn(scale: Scale) -> None:
    (found,) = scale(strong(1, 0.8), strong(2, 0.4), strong(4, 0.8), strong(8, 1.9))
    assert not any("Amdahl" in each for each in sentences(found))
    assert all(fit.error <= MAX_ERROR for fit in found.fits)


def test_the_serial_part_and_the_peak_are_told_with_intervals(scale: Scale) -> None:
    times = {p: 0.8 * (1 + 0.1 * (p - 1) + 0.01 * p * (p - 1)) / p for p in (1, 2, 4, 8, 16, 32)}
    said = sentences(scale(*(strong(p, time) for p, time in times.items()))[0])
    assert "By the Universal Scalability Law, contention is 10 % [" in said[-1]
    assert "the peak is at 9 [" in said[-1]


def test_where_nothing_is_gained_it_is_said(scale: Scale) -> None:
    (found,) = scale(strong(1, 0.4), strong(2, 0.8))
    assert sentences(found) == ["Strong scaling, 64 items per step: no larger number of CPUs is faster than 1."]


def test_of_equal_rates_the_one_on_the_fewest_processors_is_the_best(scale: Scale) -> None:
    (found,) = scale(strong(1, 0.4), strong(2, 0.4), strong(4, 0.4))
    assert found.best["processors"] == 1


def test_single_values_have_no_intervals(scale: Scale) -> None:
    (found,) = scale(strong(1, 0.8), strong(2, 0.45), spread=(1.0,))
    assert found.points["speedup_low"].isna().all()
    assert found.pays_until == 2
    assert sentences(found)[0].endswith("; the limit is unknown (some cases have one run).")


def test_a_single_run_leaves_the_others_their_intervals(scale: Scale) -> None:
    (found,) = scale(strong(1, 0.8), strong(2, 0.4), strong(4, 0.2, runs=1))
    assert list(found.points["speedup_low"].isna()) == [True, False, True]
    amdahl = next(each for each in found.fits if "serial_fraction" in each.parameters)
    assert amdahl.parameters["serial_fraction"].low is None


def test_steps_that_do_less_are_not_said_to_do_more(scale: Scale) -> None:
    (found,) = scale(strong(1, 0.8), strong(2, 1.0), strong(4, 0.3))
    end = "; 4, the maximum, is faster than all smaller numbers, but not every step is faster."
    assert sentences(found)[0].endswith(end)
    (rising,) = scale(strong(1, 0.8), strong(2, 0.5), strong(4, 0.3))
    assert sentences(rising)[0].endswith("; each larger number is faster, up to the maximum of 4.")


def test_commands_without_items_have_no_series(scale: Scale) -> None:
    of_command = {"framework": "command", "command": "./a", "model": None, "task": None, "items_per_step": None}
    assert scale(*({"time": 0.4, "nodes": nodes, **of_command} for nodes in (1, 2))) == []
