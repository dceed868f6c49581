"""From runs to cases: times, failures, equal work, speedup and order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import case_table, valid_repetitions
from hpcbench.analysis.cases.labels import varying
from hpcbench.analysis.cases.quantities import MEMORY, THROUGHPUT, TIME, Quantity
from hpcbench.analysis.cases.ranking import ranked
from hpcbench.analysis.cases.speedup import add_speedup
from hpcbench.analysis.cases.workloads import WORK, differing_work, work_groups
from hpcbench.analysis.stats.intervals import median_interval
from tests.examples import examples
from tests.workload_columns import WORKLOAD

UNSEEN = Replicates({})  # no intervals
Rep = Callable[..., dict[str, Any]]
Table = Callable[..., pd.DataFrame]


def test_a_case_sums_up_its_repetitions(repetition: Rep, table: Table) -> None:
    times = [[0.1, 0.2, 0.3], [0.4, 0.5], [0.2, 0.2]]
    cases = case_table(table(*(repetition(0, number, values) for number, values in enumerate(times))))
    assert len(cases) == 1
    row = cases.iloc[0]
    pooled = np.concatenate([np.array(values) for values in times])
    assert (row["runs"], row["measurements"]) == (3, 7)
    expected = median_interval([np.array(values) for values in times])
    assert (row["time_median_s"], row["time_ci_low_s"], row["time_ci_high_s"]) == expected
    assert row["time_mean_s"] == pytest.approx(pooled.mean())
    assert row["time_std_s"] == pytest.approx(pooled.std(ddof=1))
    assert row["throughput_items_per_s"] == pytest.approx(32 / 0.2)


def test_one_sample_has_a_median_and_neither_interval_nor_spread(repetition: Rep, table: Table) -> None:
    row = case_table(table(repetition(0, 0, [0.25]), repetition(1, 0, [0.25, 0.5]))).iloc[0]
    assert row["time_median_s"] == 0.25
    assert row[["time_ci_low_s", "time_ci_high_s", "time_std_s"]].isna().all()


def test_samples_that_resemble_each_other_count_as_fewer(repetition: Rep, table: Table) -> None:
    generator = np.random.default_rng(1)
    alike, drifting = generator.normal(1, 0.01, 200), 1 + 0.01 * generator.normal(0, 1, 200).cumsum()
    rows = [repetition(0, 0, alike), repetition(1, 0, abs(drifting)), repetition(2, 0, alike), repetition(2, 1, alike)]
    cases = case_table(table(*rows))
    assert list(cases["measurements"]) == [200, 200, 400]
    assert cases["effective_measurements"][0] == 200
    assert cases["effective_measurements"][1] < 40
    assert cases["effective_measurements"][2] == 400


ODD = [math.nan, math.inf, -1.0]


@pytest.mark.parametrize("odd", ODD)
def test_a_sample_that_is_no_time_is_left_out_and_it_is_said(repetition: Rep, table: Table, odd: float) -> None:
    row = case_table(table(repetition(0, 1, [0.25, odd, 0.25]), repetition(0, 2, [0.25], warnings="it is late"))).iloc[
        0
    ]
    assert (row["time_median_s"], row["measurements"], row["runs"]) == (0.25, 3, 2)
    left_out = "1 of 3 measurements of run 1 left out: not a number, infinite or negative"
    assert row["warnings"] == f"{left_out}; it is late"


@pytest.mark.parametrize("samples", [[odd] for odd in ODD] + [[]])
def test_a_repetition_without_a_time_has_failed_whatever_its_record_says(
    repetition: Rep, table: Table, samples: list[float]
) -> None:
    row = case_table(table(repetition(0, 1, [0.25]), repetition(0, 2, samples))).iloc[0]
    assert (row["status"], row["runs"], row["time_median_s"]) == ("failed", 1, 0.25)
    assert row["error"] in (
        "it has no measurements",
        "none of its 1 measurements is a time (not a number, infinite or negative)",
    )


def test_a_time_of_zero_is_a_time_that_nothing_is_divided_by(repetition: Rep, table: Table) -> None:
    cases = case_table(table(repetition(0, 0, [0.0, 0.0]), repetition(1, 0, [0.5]), repetition(2, 0, [0.0])))
    assert list(cases["time_median_s"]) == [0.0, 0.5, 0.0]
    assert list(cases["throughput_items_per_s"].notna()) == [False, True, False]
    assert add_speedup(cases, UNSEEN)["speedup"].isna().all(), "the base case took no time"
    assert speedups(cases, base=1) == [None, 1.0, None]
    assert list(ranked(cases, THROUGHPUT)["case"]) == ["case-1", "case-0", "case-2"]


def test_where_the_time_ranks_a_time_of_zero_is_the_best(repetition: Rep, table: Table) -> None:
    rows = [repetition(case, 0, [time_s], items_per_step=None) for case, time_s in enumerate((2.0, 0.0, 1.0))]
    cases = case_table(table(*rows))
    assert list(ranked(cases, THROUGHPUT)["case"]) == ["case-1", "case-2", "case-0"]


@pytest.mark.parametrize("status", ["failed", "timeout", "out_of_memory", "cancelled"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_case_with_a_failed_repetition_has_failed_and_keeps_the_times_of_the_others(
    repetition: Rep, table: Table, status: str, place: int
) -> None:
    rows = [repetition(0, number, [1.0, 2.0, 3.0]) for number in range(3)]
    rows[place] = repetition(0, place, status=status)
    row = case_table(table(*rows)).iloc[0]
    assert (row["status"], row["error"]) == (status, "it broke")
    assert (row["runs"], row["measurements"], row["time_median_s"]) == (2, 6, 2.0)
    assert row["parameter_count"] == 100


def test_a_case_of_which_nothing_completed_has_no_times(repetition: Rep, table: Table) -> None:
    row = case_table(table(repetition(0, 0, status="failed"), repetition(1, 0))).iloc[0]
    assert row["status"] == "failed"
    assert (row["runs"], row["measurements"]) == (0, 0)
    assert row[["time_median_s", "time_ci_low_s", "time_mean_s", "throughput_items_per_s"]].isna().all()


def test_a_completed_case_has_no_error(repetition: Rep, table: Table) -> None:
    row = case_table(table(repetition(0, 0), repetition(0, 1))).iloc[0]
    assert row["status"] == "completed"
    assert pd.isna(row["error"])


def test_memory_is_the_largest_and_the_start_the_typical_one(repetition: Rep, table: Table) -> None:
    rows = [
        repetition(0, number, peak_memory_bytes=memory, import_s=start)
        for number, (memory, start) in enumerate([(5, 1.0), (9, 7.0), (7, 2.0)])
    ]
    row = case_table(table(*rows)).iloc[0]
    assert row["peak_memory_bytes"] == 9
    assert row["import_s"] == 2.0
    assert pd.isna(row["peak_device_bytes"])


def test_jobs_and_nodes_of_all_repetitions_are_listed_once(repetition: Rep, table: Table) -> None:
    places = [("n1", "12_0"), ("n2", "12_1"), ("n1", "12_1")]
    rows = [repetition(0, n, nodes_used=nodes, job_id=job) for n, (nodes, job) in enumerate(places)]
    row = case_table(table(*rows)).iloc[0]
    assert row["nodes_used"] == "n1,n2"
    assert row["job_id"] == "12_0,12_1"


def test_a_node_that_served_two_repetitions_beside_others_is_listed_once(repetition: Rep, table: Table) -> None:
    rows = [repetition(0, 0, nodes_used="n1,n2"), repetition(0, 1, nodes_used="n2,n3")]
    assert case_table(table(*rows)).iloc[0]["nodes_used"] == "n1,n2,n3"


def test_cases_come_in_the_order_of_the_sweep_whatever_that_of_the_repetitions(repetition: Rep, table: Table) -> None:
    rows = [repetition(case, number) for number in range(2) for case in (2, 0, 3, 1)]
    assert list(case_table(table(*rows))["case"]) == ["case-0", "case-1", "case-2", "case-3"]


def test_one_case_in_two_sweeps_is_two_rows_in_the_order_in_which_they_were_named(
    repetition: Rep, table: Table
) -> None:
    cases = case_table(table(repetition(0, 0, sweep="b"), repetition(0, 0, sweep="a")))
    assert list(cases["sweep"]) == ["b", "a"]


def test_whole_numbers_stay_whole(repetition: Rep, table: Table) -> None:
    cases = case_table(table(repetition(0, 0), repetition(1, 0, status="failed")))
    assert cases["parameter_count"].dtype == "Int64"
    assert cases["peak_memory_bytes"].dtype == "Int64"


def test_what_belongs_to_one_repetition_is_not_said_of_a_case(repetition: Rep, table: Table) -> None:
    cases = case_table(table(repetition()))
    assert not {"run", "attempt", "times_s", "started_at", "ended_at"} & set(cases.columns)


@pytest.mark.parametrize("column", WORK)
def test_cases_whose_work_differs_are_not_alike(repetition: Rep, table: Table, column: str) -> None:
    other = {"parameter_count": 101, "flops_per_item": 201}.get(column, "other")
    cases = case_table(table(repetition(0), repetition(1, **{column: other}), repetition(2)))
    groups = list(work_groups(cases))
    assert groups[0] == groups[2] != groups[1]
    assert differing_work(cases) == [column]


def test_cases_of_equal_work_are_alike_whatever_else_differs(repetition: Rep, table: Table) -> None:
    cases = case_table(table(repetition(0, framework="pytorch"), repetition(1, framework="mxnet", items_per_step=64)))
    assert work_groups(cases).nunique() == 1
    assert differing_work(cases) == []


def test_a_case_that_was_not_measured_belongs_to_no_kind_of_work(repetition: Rep, table: Table) -> None:
    cases = case_table(table(repetition(0), repetition(1, status="failed", model="lstm")))
    assert list(work_groups(cases)) == [0, -1]
    assert differing_work(cases) == []


def speedups(cases: pd.DataFrame, base: int | None = None) -> list[float | None]:
    return [None if pd.isna(value) else float(value) for value in add_speedup(cases, UNSEEN, base)["speedup"]]


def test_speedup_is_throughput_over_that_of_the_first_case(repetition: Rep, table: Table) -> None:
    cases = case_table(table(repetition(0, 0, [0.4]), repetition(1, 0, [0.2]), repetition(2, 0, [0.8])))
    assert speedups(cases) == pytest.approx([1.0, 2.0, 0.5])


def test_speedup_counts_items_and_not_steps(repetition: Rep, table: Table) -> None:
    """Two ranks that take as long for a step do twice the work."""
    cases = case_table(table(repetition(0, 0, [0.4]), repetition(1, 0, [0.4], items_per_step=64)))
    assert speedups(cases) == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize("base", [0, 1, 2])
def test_the_base_case_of_a_speedup_can_be_named(repetition: Rep, table: Table, base: int) -> None:
    times = [0.4, 0.2, 0.8]
    cases = case_table(table(*(repetition(case, 0, [time_s]) for case, time_s in enumerate(times))))
    assert speedups(cases, base) == pytest.approx([times[base] / time_s for time_s in times])


def test_a_case_that_was_not_measured_is_neither_base_nor_compared(repetition: Rep, table: Table) -> None:
    rows = [repetition(0, status="failed"), repetition(1, 0, [0.4]), repetition(2, 0, [0.2])]
    assert speedups(case_table(table(*rows))) == [None, 1.0, pytest.approx(2.0)]


def test_cases_of_other_work_have_a_base_of_their_own(repetition: Rep, table: Table) -> None:
    rows = [
        repetition(0, 0, [0.4]),
        repetition(1, 0, [4.0], model="lstm"),
        repetition(2, 0, [0.2]),
        repetition(3, 0, [2.0], model="lstm"),
    ]
    assert speedups(case_table(table(*rows))) == pytest.approx([1.0, 1.0, 2.0, 2.0])


def test_cases_of_other_work_than_a_named_base_have_no_speedup(repetition: Rep, table: Table) -> None:
    rows = [repetition(0, 0, [0.4]), repetition(1, 0, [4.0], model="lstm"), repetition(2, 0, [0.2])]
    assert speedups(case_table(table(*rows)), base=1) == [None, 1.0, None]


def test_the_base_of_a_speedup_is_named_beside_it(repetition: Rep, table: Table) -> None:
    rows = [repetition(0), repetition(1), repetition(2, model="lstm"), repetition(3, status="failed")]
    cases = add_speedup(case_table(table(*rows)), UNSEEN, base=1)
    assert cases["speedup_base"].fillna("").tolist() == ["sweep-1/case-1", "sweep-1/case-1", "", ""]


def test_adding_the_speedup_leaves_the_cases_as_they_were(repetition: Rep, table: Table) -> None:
    cases = case_table(table(repetition()))
    before = cases.copy()
    add_speedup(cases, UNSEEN)
    pd.testing.assert_frame_equal(cases, before)


@pytest.mark.parametrize(
    ("quantity", "order"),
    [
        (TIME, ["case-2", "case-0", "case-1", "case-3"]),
        (THROUGHPUT, ["case-2", "case-0", "case-1", "case-3"]),
        (replace(TIME, more_is_better=True), ["case-1", "case-0", "case-2", "case-3"]),
    ],
)
def test_the_best_case_comes_first_and_what_was_not_measured_last(
    repetition: Rep, table: Table, quantity: Quantity, order: list[str]
) -> None:
    rows = [repetition(case, 0, [time_s]) for case, time_s in enumerate([0.4, 0.8, 0.2])]
    cases = add_speedup(case_table(table(*rows, repetition(3, status="failed"))), UNSEEN)
    assert list(ranked(cases, quantity)["case"]) == order
    assert list(ranked(cases, quantity).index) == [0, 1, 2, 3]


def test_cases_are_ranked_within_their_own_kind_of_work(repetition: Rep, table: Table) -> None:
    rows = [
        repetition(0, 0, [4.0]),
        repetition(1, 0, [2.0], model="lstm"),
        repetition(2, 0, [3.0]),
        repetition(3, 0, [1.0], model="lstm"),
        repetition(4, status="failed"),
    ]
    order = list(ranked(case_table(table(*rows)), TIME)["case"])
    assert order == ["case-2", "case-0", "case-3", "case-1", "case-4"]


def test_commands_beside_models_are_ranked_by_their_own_metric(repetition: Rep, table: Table) -> None:
    rate = Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=True)
    nothing = {"framework": "command", "model": None, "task": None, "items_per_step": None}
    rows = [
        repetition(0, 0, [0.1]),
        *(repetition(n, 0, [0.1 * n], **nothing, metric_rate_it_per_s=10.0 * n) for n in (1, 2, 3)),
    ]
    cases = case_table(table(*rows))
    assert list(ranked(cases, THROUGHPUT)["case"]) == ["case-0", "case-1", "case-2", "case-3"]
    assert list(ranked(cases, THROUGHPUT, [rate])["case"]) == ["case-0", "case-3", "case-2", "case-1"]


def test_a_sweep_in_which_nothing_completed_can_be_ranked(repetition: Rep, table: Table) -> None:
    cases = case_table(table(repetition(0, status="failed"), repetition(1, status="timeout")))
    result = ranked(add_speedup(cases, UNSEEN), TIME)
    assert list(result["status"]) == ["failed", "timeout"]
    assert result["speedup"].isna().all()


def test_a_case_that_was_measured_without_this_metric_still_comes_before_one_that_failed(
    repetition: Rep, table: Table
) -> None:
    rows = [repetition(0, status="failed"), repetition(1, peak_memory_bytes=None), repetition(2, peak_memory_bytes=5)]
    assert list(ranked(case_table(table(*rows)), MEMORY)["case"]) == ["case-2", "case-1", "case-0"]


def test_a_case_has_the_median_of_its_epochs_and_names_all_versions_that_it_ran_with(repetition, table) -> None:
    learnt = [
        repetition(0, number, epochs=epochs, accuracy=accuracy, framework_version=version)
        for number, (epochs, accuracy, version) in enumerate([(3, 0.91, "2.13.0"), (4, 0.95, "2.14.0")])
    ]
    frame = table(*learnt)
    frame["epochs"] = frame["epochs"].astype("Int64")
    (case,) = case_table(frame).to_dict("records")
    assert (case["epochs"], case["accuracy"], case["framework_version"]) == (3.5, pytest.approx(0.93), "2.13.0,2.14.0")


def test_the_held_out_part_counts_only_where_something_is_learnt(repetition, table) -> None:
    for task, groups in (("training", [0, 0]), ("time_to_accuracy", [0, 1])):
        cases = case_table(table(*(repetition(case, task=task, held_out=0.1 + 0.1 * case) for case in (0, 1))))
        assert list(work_groups(cases)) == groups


@settings(max_examples=examples(25))
@given(st.permutations(range(6)))
def test_the_ranking_does_not_depend_on_the_order_of_the_records(order: list[int]) -> None:
    base = {
        "sweep": "s",
        "experiment": "study",
        "framework": "pytorch",
        "framework_version": "2.13.0",
        "status": "completed",
        "model": "mlp",
        "model_options": None,
        "batch_size": 1,
        "task": "training",
        "strategy": "single",
        "nodes": 1,
        "tasks_per_node": 1,
        "instances": 1,
        "steps_per_measurement": 1,
        "dtype": "float32",
        "parameter_count": 1,
        "flops_per_item": 1,
        "items_per_step": 1,
        "math_mode": "plain",
        "held_out": 0.2,
        **WORKLOAD,
        "first_step_s": 1.0,
        "import_s": 1.0,
        "build_s": 1.0,
        "epochs": None,
        "accuracy": None,
        "peak_memory_bytes": 1,
        "peak_device_bytes": 1,
        "nodes_used": "n1",
        **dict.fromkeys(["cpu_model", "cpu_governor", "cpu_turbo", "gpu_model", "kernel", "software"]),
        "job_id": "1",
        "metrics_not_found": None,
        "metrics_not_found_reason": None,
        "warnings": None,
        "log": "",
        "error": None,
        "attempts": 1,
        "interference": "clean",
        "interference_causes": None,
        "energy_reason": None,
        "energy_scope": None,
        "price_reason": None,
    }
    rows = [
        {**base, "case": f"case-{number}", "case_index": number, "times_s": np.array([1.0 + number % 4])}
        for number in range(6)
    ]
    shuffled = case_table(pd.DataFrame([rows[number] for number in order]))
    straight = case_table(pd.DataFrame(rows))
    pd.testing.assert_frame_equal(
        ranked(add_speedup(shuffled, UNSEEN), TIME), ranked(add_speedup(straight, UNSEEN), TIME)
    )


def test_the_columns_that_tell_cases_apart_are_those_that_differ() -> None:
    # framework's own choice of threads and one with 4 do not differ, and the table has two rows that look the same.
    cases = pd.DataFrame(
        {
            "batch_size": [1, 1],
            "nodes": [1, 2],
            "intra_op_threads": pd.array([None, 4], dtype="Int64"),
            "model_options": ["{}", "{}"],
        }
    )
    candidates = ["nodes", "batch_size", "intra_op_threads", "model_options", "not_there"]
    assert varying(cases, candidates) == ["nodes", "intra_op_threads"]


def test_what_several_repetitions_warn_of_is_listed_once(repetition: Rep, table: Table) -> None:
    warnings = ["it is late; it is hot", None, "it is hot; it is loud"]
    rows = [repetition(0, number, warnings=warned) for number, warned in enumerate(warnings)]
    assert case_table(table(*rows)).iloc[0]["warnings"] == "it is late; it is hot; it is loud"


def test_a_case_without_a_text_has_none_beside_one_that_has_it(repetition: Rep, table: Table) -> None:
    rows = [repetition(0, 0, energy_reason="no counter"), repetition(1, 0), repetition(2, 0, status="failed")]
    cases = case_table(table(*rows))
    assert cases["energy_reason"].tolist() == ["no counter", None, None]
    assert cases["error"].tolist() == [None, None, "it broke"]


def test_costs_and_times_are_of_the_same_repetitions(repetition: Rep, table: Table) -> None:
    """One without a valid measurement has failed, so that the one with interference is used."""
    frame = table(repetition(0, 0, [math.nan]), repetition(0, 1, [0.5], interference="interference"))
    assert valid_repetitions(frame)["run"].tolist() == [1]
    assert case_table(frame).iloc[0]["time_median_s"] == 0.5


def test_the_first_failed_repetition_says_how_a_case_failed(repetition: Rep, table: Table) -> None:
    rows = [repetition(0, 0), *(repetition(0, n, status=each, log=each) for n, each in ((1, "timeout"), (2, "failed")))]
    row = case_table(table(*rows)).iloc[0]
    assert (row["status"], row["log"], row["runs"]) == ("timeout", "timeout", 1)


@pytest.mark.parametrize(("verdicts", "used"), [(["interference", "clean"], 1), (["interference", "interference"], 2)])
def test_interference_excludes_a_repetition_unless_all_have_it(
    repetition: Rep, table: Table, verdicts: list[str], used: int
) -> None:
    rows = [repetition(0, n, [0.5 + n], interference=verdict) for n, verdict in enumerate(verdicts)]
    row = case_table(table(*rows)).iloc[0]
    assert (row["runs"], row["interference"]) == (used, verdicts[-1])
    assert row["interference_runs"] == verdicts.count("interference")
    assert row["time_median_s"] == (1.5 if used == 1 else 1.0)


def test_a_median_of_whole_numbers_is_whole_if_all_are(repetition: Rep, table: Table) -> None:
    frame = table(repetition(0, 0, epochs=3), repetition(1, 0, epochs=5), repetition(2, 0, status="failed"))
    frame["epochs"] = frame["epochs"].astype("Int64")
    epochs = case_table(frame)["epochs"]
    assert epochs.dtype == "Int64"
    assert epochs.tolist() == [3, 5, pd.NA]


def test_runs_without_recorded_steps_are_left_out_of_a_case_that_has_others(repetition: Rep, table: Table) -> None:
    command = {"framework": "command", "command": "./a", "model": None, "task": None}
    rows = [
        repetition(0, run, [time], **command, probed_steps=steps) for run, time, steps in ((1, 0.1, 9), (2, 5.0, None))
    ]
    frame = table(*rows)
    (case,) = case_table(frame).to_dict("records")
    assert (case["runs"], case["time_median_s"]) == (1, 0.1)
    assert list(valid_repetitions(frame)["run"]) == [1]


def test_step_times_and_wall_times_are_different_workloads(repetition: Rep, table: Table) -> None:
    command = {"framework": "command", "command": "./a", "model": None, "task": None}
    frame = table(
        *(repetition(number, 1, [0.1], **command, probed_steps=steps) for number, steps in enumerate((9, 8, None)))
    )
    assert list(work_groups(case_table(frame))) == [0, 0, 1]
