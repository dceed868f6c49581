"""Two sweeps side by side: which cases are compared, which are not and why, and in which order they come."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.studies.comparison import Comparison, compare

Row = dict[str, Any]
Rep = Callable[..., Row]
Table = Callable[..., pd.DataFrame]
FACTORS = (0.999, 1.0, 1.001, 1.002, 0.998)
MACHINE = {"site": "laptop"}
RATE = Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=True)
LOSS = Quantity("metric_loss", "loss")


@pytest.fixture
def sweep(repetition: Rep, table: Table) -> Callable[..., pd.DataFrame]:
    """A table of five runs of each case, whose time is given; a case may also be a dictionary of changes."""

    def make(name: str = "new", /, **cases: Any) -> pd.DataFrame:
        rows = []
        for case, given in cases.items():
            changes = {"time": 1.0, **(given if isinstance(given, dict) else {"time": given})}
            time, each = changes.pop("time"), changes.pop("each", lambda number: {})
            for number, factor in enumerate(FACTORS[: changes.pop("runs", 5)]):
                row = {**MACHINE, "sweep": name, "run": number + 1, **changes, **each(number)}
                rows.append(repetition(case, **{"times_s": [time * factor] * 3, **row}))
        return table(*rows)

    return make


@pytest.fixture
def compared(sweep: Callable[..., pd.DataFrame]) -> Callable[..., Comparison]:
    def make(base: Row, new: Row, metrics: tuple[Quantity, ...] = (), margin: float = 0.01) -> Comparison:
        again = "repeat base", "repeat new"
        return compare(sweep("base", **base), sweep("new", **new), margin, metrics, ["batch_size"], again)

    return make


def told(comparison: Comparison) -> list[tuple[str, str]]:
    return list(zip(comparison.rows["case"].str.removeprefix("case-"), comparison.rows["verdict"], strict=True))


def only(comparison: Comparison) -> Row:
    (row,) = comparison.rows.to_dict("records")
    return row


Compared = Callable[..., Comparison]


def test_each_case_gets_a_verdict_and_the_worst_comes_first(compared: Compared) -> None:
    base = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": {"runs": 3}}
    new = {"a": 1.0, "b": 0.9, "c": 1.1, "d": 1.3, "e": {"time": 1.2, "runs": 3}}
    found = compared(base, new)
    assert told(found) == [("d", "slower"), ("c", "slower"), ("e", "inconclusive"), ("a", "same"), ("b", "faster")]
    assert found.counts() == {"slower": 2, "inconclusive": 1, "same": 1, "faster": 1}
    assert (found.base, found.new, found.compared) == ("base", "new", 5)


def test_a_row_says_what_was_measured_and_how_sure_it_is(compared: Compared) -> None:
    row = only(compared({"a": 2.0}, {"a": {"time": 2.2, "batch_size": 8}}))
    assert (row["base_median"], row["new_median"], row["ratio"]) == pytest.approx((2.0, 2.2, 1.1))
    assert 1.09 < row["ratio_ci_low"] < 1.1 < row["ratio_ci_high"] < 1.11
    assert (row["base_runs"], row["new_runs"]) == (5, 5)
    assert row["p_value"] < 1e-6
    assert row["rank_sum_p"] == pytest.approx(2 / 252)
    assert (row["quantity"], row["batch_size"]) == ("time_median_s", 8)
    assert (row["base_status"], row["new_status"], row["reason"]) == ("completed", "completed", None)


def test_the_samples_of_a_repetition_count_once(compared: Compared) -> None:
    """One run with a million measurements is one run."""
    many = {"times_s": np.full(1000, 1.5)}
    base = {"a": {"runs": 1, **many}}
    row = only(compared(base, {"a": {"runs": 1}}))
    assert (row["verdict"], row["base_runs"]) == ("inconclusive", 1)


FAILED = {"status": "timeout", "error": "stopped after 60 s"}


@pytest.mark.parametrize(
    ("base", "new", "word", "reason"),
    [
        ({"a": 1.0}, {}, "missing", "only in BASE"),
        ({}, {"a": 1.0}, "not compared", "only in NEW"),
        ({"a": 1.0}, {"a": FAILED}, "missing", "not measured in NEW (timeout: stopped after 60 s)"),
        ({"a": FAILED}, {"a": 1.0}, "not compared", "not measured in BASE (timeout: stopped after 60 s)"),
        ({"a": FAILED}, {"a": FAILED}, "not compared", "not measured in BASE nor in NEW (timeout: stopped after 60 s)"),
        ({"a": FAILED}, {"a": {"status": "planned", "error": None}}, "not compared", "not measured in BASE nor in NEW"),
        ({"a": 1.0}, {"a": {"status": "planned", "error": None}}, "missing", "not measured in NEW (planned)"),
    ],
)
def test_what_was_not_measured_on_both_sides_is_listed_with_the_reason(
    compared: Compared, base: Row, new: Row, word: str, reason: str
) -> None:
    found = compared({"z": 1.0, **base}, {"z": 1.0, **new})
    row = found.rows[found.rows["case"] == "case-a"].iloc[0]
    assert row["verdict"] == word
    assert row["reason"].startswith(reason)
    assert row[["ratio", "ratio_ci_low", "p_value"]].isna().all()
    assert found.compared == 1


def test_cases_without_counterpart_whose_commands_differ_cause_a_warning(compared: Compared) -> None:
    old, new = ({"command": command, "batch_size": 8} for command in ("python3 a.py", "python3 b.py"))
    (warning,) = compared({"a": old}, {"b": new}).warnings
    example = "python3 a.py in BASE and python3 b.py in NEW"
    assert warning == f"1 case is not compared, because its command differs: {example}"
    several = compared({"a": old, "c": {**old, "batch_size": 4}}, {"b": new, "d": {**new, "batch_size": 4}}).warnings
    assert several == [f"2 cases are not compared, because their commands differ, for example {example}"]
    two = compared({"a": old, "c": {**old, "command": "c"}}, {"b": new, "d": {**new, "command": "d"}}).warnings
    assert two == [], "which command became which is unknown"
    assert compared({"a": old}, {"b": {**new, "batch_size": 4}}).warnings == []
    assert compared({"a": old}, {"a": new}).warnings == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parameter_count": 101}, "different workload: parameter_count 100 in BASE, 101 in NEW"),
        ({"flops_per_item": 201}, "different workload: flops_per_item 200 in BASE, 201 in NEW"),
        ({"dtype": "bfloat16"}, "different workload: dtype float32 in BASE, bfloat16 in NEW"),
        ({"math_mode": "TF32"}, "different workload: math_mode matmul highest in BASE, TF32 in NEW"),
        ({"math_mode": None}, "different workload: math_mode matmul highest in BASE, None in NEW"),
    ],
)
def test_other_work_is_not_compared(compared: Compared, changes: Row, reason: str) -> None:
    row = only(compared({"a": 1.0}, {"a": {"time": 2.0, **changes}}))
    assert (row["verdict"], row["reason"]) == ("not compared", reason)
    assert pd.isna(row["ratio"])


def test_a_case_of_which_some_repetitions_failed_is_compared_by_the_others_and_it_is_said(compared: Compared) -> None:
    def crash(number: int) -> Row:
        return {"status": "failed", "error": "it broke", "times_s": np.array([])} if number == 4 else {}

    found = compared({"a": 1.0}, {"a": {"each": crash}})
    row = only(found)
    assert (row["base_runs"], row["new_runs"], row["new_status"]) == (5, 4, "failed")
    assert found.warnings == ["NEW: some runs did not complete; the others are compared"]


def test_samples_that_are_none_are_left_out_and_it_is_said(compared: Compared) -> None:
    odd = {"each": lambda number: {"times_s": np.array([1.0, np.nan, 1.0])} if number == 0 else {}}
    found = compared({"a": odd}, {"a": 1.0})
    assert only(found)["verdict"] == "same"
    left_out = "1 of 3 measurements of run 1 left out: not a number, infinite or negative"
    assert found.warnings == [f"BASE: {left_out}"]


def test_a_metric_that_was_not_found_is_named(compared: Compared) -> None:
    found = compared({"a": {"each": lambda number: {"metrics_not_found": "rate"} if number == 0 else {}}}, {"a": 1.0})
    assert found.warnings == ["BASE: metric not found in some runs: rate"]


def test_what_is_odd_about_cases_that_are_not_compared_is_not_said(compared: Compared) -> None:
    assert compared({"a": 1.0, "b": {"warnings": "it is late"}}, {"a": 1.0}).warnings == []


def test_times_of_zero_have_no_ratio(compared: Compared) -> None:
    row = only(compared({"a": 1.0}, {"a": 0.0}))
    assert (row["verdict"], row["reason"]) == ("not compared", "no ratio (a value is 0 or less)")


COMMAND = {"framework": "command", **dict.fromkeys(["model", "task", "dtype", "math_mode"])}


def command(rate: float, loss: float = 2.0, time: float = 1.0) -> Row:
    def each(number: int) -> Row:
        return {"metric_rate_it_per_s": rate * FACTORS[number], "metric_loss": loss * FACTORS[number]}

    return {**COMMAND, "time": time, "each": each}


@pytest.mark.parametrize(
    ("rate", "loss", "words"),
    [
        (10.0, 2.0, {"time_median_s": "same", "metric_rate_it_per_s": "same", "metric_loss": "same"}),
        (9.0, 2.2, {"time_median_s": "same", "metric_rate_it_per_s": "worse", "metric_loss": "worse"}),
        (11.0, 1.8, {"time_median_s": "same", "metric_rate_it_per_s": "better", "metric_loss": "better"}),
    ],
)
def test_a_command_is_compared_by_its_time_and_by_its_metrics(
    compared: Compared, rate: float, loss: float, words: Row
) -> None:
    rows = compared({"a": command(10.0)}, {"a": command(rate, loss)}, (RATE, LOSS)).rows
    assert dict(zip(rows["quantity"], rows["verdict"], strict=True)) == words


def test_of_a_rate_the_larger_loss_is_worse(compared: Compared) -> None:
    found = compared({"a": command(10.0), "b": command(10.0)}, {"a": command(8.0), "b": command(5.0)}, (RATE,))
    assert told(found)[:2] == [("b", "worse"), ("a", "worse")]


def test_a_metric_of_which_nobody_said_what_is_better_is_listed_and_not_compared(compared: Compared) -> None:
    rows = compared({"a": command(10.0)}, {"a": command(10.0, 9.0)}, (replace(LOSS, more_is_better=None),)).rows
    row = rows[rows["quantity"] == "metric_loss"].iloc[0]
    assert row["verdict"] == "not compared"
    assert "set `better` for the metric" in row["reason"]


def test_a_metric_that_one_side_does_not_have_is_missing_or_not_compared(compared: Compared) -> None:
    bare = {**COMMAND, "metric_rate_it_per_s": None}
    gone = compared({"a": command(10.0)}, {"a": bare}, (RATE,)).rows.set_index("quantity")
    come = compared({"a": bare}, {"a": command(10.0)}, (RATE,)).rows.set_index("quantity")
    assert gone.loc["metric_rate_it_per_s", "verdict"] == "missing"
    assert come.loc["metric_rate_it_per_s", "verdict"] == "not compared"


def test_a_metric_at_or_below_zero_has_no_ratio(compared: Compared) -> None:
    rows = compared({"a": command(10.0, 0.0)}, {"a": command(10.0, 0.0)}, (LOSS,)).rows
    assert rows[rows["quantity"] == "metric_loss"]["verdict"].item() == "not compared"


@pytest.mark.parametrize("name", ["site", "cpu_model", "gpu_model"])
def test_other_machines_are_told_and_compared_all_the_same(compared: Compared, name: str) -> None:
    found = compared({"a": {name: "one"}}, {"a": {name: "other"}})
    assert found.machines == {name: ("one", "other")}
    assert told(found) == [("a", "same")]


def test_machines_are_told_of_the_cases_that_both_have(compared: Compared) -> None:
    found = compared({"a": 1.0, "b": {"cpu_model": "old"}}, {"a": 1.0, "c": {"cpu_model": "new"}})
    assert found.machines == {}


def test_a_sweep_over_the_same_mixture_of_machines_is_on_the_same(compared: Compared) -> None:
    mixed = {"each": lambda number: {"cpu_model": f"CPU {number % 2}"}}
    assert compared({"a": mixed}, {"a": mixed}).machines == {}


def test_versions_that_differ_are_what_one_wants_to_know(compared: Compared) -> None:
    found = compared({"a": 1.0}, {"a": {"framework_version": "2.14.0"}})
    assert found.versions == {"framework_version": ("2.13.0", "2.14.0")}
    assert only(found)["verdict"] == "same"


def test_threads_and_variables_that_differ_are_named(compared: Compared) -> None:
    """As with OMP_NUM_THREADS=1 in a start-up file, while `threads: none` lets the framework choose."""
    base = {"effective_intra_op_threads": 2, "performance_variables": '{"OMP_PLACES": "cores"}'}
    new = {"effective_intra_op_threads": 1, "performance_variables": '{"OMP_NUM_THREADS": "1", "OMP_PLACES": "cores"}'}
    found = compared({"a": base}, {"a": new})
    assert found.settings == {"effective_intra_op_threads": ("2", "1"), "OMP_NUM_THREADS": ("not set", "1")}
    assert compared({"a": base, "b": new}, {"a": base, "c": base}).settings == {}, "of the cases that both have"


def test_variables_that_differ_between_the_runs_of_a_sweep_are_named_together(compared: Compared) -> None:
    mixed = {"each": lambda number: {"performance_variables": json.dumps({"A_NUM_THREADS": str(number % 2)})}}
    found = compared({"a": mixed}, {"a": {"performance_variables": '{"A_NUM_THREADS": "1"}'}})
    assert found.settings == {"A_NUM_THREADS": ("0; 1", "1")}
    unknown = compared({"a": mixed}, {"a": {"performance_variables": None}})
    assert unknown.settings == {}, "absence is not evidence"


def test_two_sweeps_of_which_nothing_completed_can_be_put_side_by_side(compared: Compared) -> None:
    found = compared({"a": FAILED, "b": FAILED}, {"a": FAILED})
    assert (found.compared, len(found.rows)) == (0, 2)


def test_a_wider_margin_takes_more_for_the_same(compared: Compared) -> None:
    words = [only(compared({"a": 1.0}, {"a": 1.03}, margin=margin))["verdict"] for margin in (0.0, 0.01, 0.05)]
    assert words == ["slower", "slower", "same"]


def with_interference(number: int) -> Row:
    return {"interference": "interference", "interference_causes": "cpu", "times_s": np.full(3, 1.4)}


def test_repetitions_that_somebody_disturbed_are_not_compared_where_there_are_others(compared: Compared) -> None:
    found = compared({"a": 1.0}, {"a": {"each": lambda number: with_interference(number) if number == 2 else {}}})
    row = only(found)
    assert (row["verdict"], row["new_runs"], row["new_median"]) == ("same", 4, pytest.approx(1.0, rel=1e-3))
    assert found.warnings == ["NEW: some runs had interference; the others are compared"]


def test_repetitions_that_nobody_watched_are_compared_and_it_is_said(compared: Compared) -> None:
    unwatched = {"interference": "unmonitored"}
    found = compared({"a": 1.0, "b": 1.0}, {"a": unwatched, "b": {"each": lambda number: unwatched if number else {}}})
    assert told(found) == [("a", "same"), ("b", "same")]
    said = "interference is unknown for some runs; they are compared"
    assert found.warnings == [f"NEW: {said} (2 cases)"]


def test_a_case_of_which_every_repetition_was_disturbed_is_not_compared_and_it_is_said(compared: Compared) -> None:
    found = compared({"a": 1.0}, {"a": {"each": with_interference}})
    assert only(found)["verdict"] == "not compared"
    assert only(found)["reason"] == "interference in every run of NEW (cpu); repeat new"
    assert found.warnings == []
    found = compared({"a": {"each": with_interference}}, {"a": {"each": with_interference}})
    assert only(found)["reason"] == "interference in every run of BASE and of NEW (cpu); repeat base; repeat new"


def test_whole_numbers_stay_whole_beside_cases_that_have_none(compared: Compared) -> None:
    found = compared({"a": {"batch_size": 8}}, {"b": {"batch_size": None}})
    assert sorted(map(repr, found.rows["batch_size"])) == ["8", "None"]
