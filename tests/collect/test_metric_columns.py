"""Metrics of commands in the tables: a column with its unit, the median over repetitions, and its interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import by_case, case_table
from hpcbench.analysis.cases.quantities import THROUGHPUT, Quantity
from hpcbench.analysis.cases.ranking import ranked, ranked_by
from hpcbench.analysis.cases.speedup import add_speedup
from hpcbench.analysis.cases.workloads import differing_work, work_groups
from hpcbench.collect.table import MetricColumn, metric_columns, repetition_table
from hpcbench.core.samples import of_whole
from hpcbench.core.typed_json import to_json
from hpcbench.report.load.metrics import quantities_of

MakeRecord = Callable[..., dict[str, Any]]
COMMAND = {"framework": "command", "model": None, "command": "./bench"}


@pytest.fixture
def make_command(make_record: MakeRecord) -> MakeRecord:
    """The record of a command with the metric `rate` in it/s, or with the metrics that are given."""

    def make(case: int = 0, repetition: int = 0, rate: float = 5.0, **changes: Any) -> dict[str, Any]:
        found = {"rate": {"value": rate, "unit": "it/s", "better": "higher", "count": 1, "values": [rate]}}
        parameters = {**COMMAND, **changes.pop("parameters", {})}
        nothing = {"work": None, "threads": None, "packages": None, "framework_version": None}
        completed = changes.get("status", "completed") == "completed"
        changes.setdefault("metrics", found if completed else None)
        facts = {
            **nothing,
            "measurements": to_json(of_whole(2.0, 0.0, 2.0, None)),
        }
        return make_record(case, repetition, parameters=parameters, facts=facts, **changes)

    return make


def test_a_metric_is_a_column_with_its_unit(make_command: MakeRecord) -> None:
    records = [make_command(0, 0, 5.0), make_command(1, 0, status="failed")]
    table = repetition_table(records)
    assert table["metric_rate_it_per_s"].tolist()[0] == 5.0
    assert table["metric_rate_it_per_s"].isna().tolist() == [False, True]
    assert metric_columns(records) == {"metric_rate_it_per_s": MetricColumn("rate", "it/s", "higher")}


@pytest.mark.parametrize(
    ("reduce", "unit", "averaged"), [("mean", "it/s", True), ("median", "it/s", False), ("mean", "s", False)]
)
def test_a_mean_of_rates_is_known_for_one(reduce: str, unit: str, averaged: bool, make_command: MakeRecord) -> None:
    found = {"rate": {"value": 5.0, "unit": unit, "better": None, "reduce": reduce}}
    (column,) = metric_columns([make_command(metrics=found)]).values()
    assert column.averages_rates == averaged


def test_a_case_has_the_median_over_its_repetitions_with_an_interval(make_command: MakeRecord) -> None:
    records = [make_command(0, number, rate) for number, rate in enumerate([5.0, 7.0, 6.0])]
    cases = case_table(repetition_table(records))
    (case,) = cases.to_dict("records")
    low, middle, high = (case[f"metric_rate_it_per_s{end}"] for end in ("_ci_low", "", "_ci_high"))
    assert middle == 6.0
    assert 0 < low < 5.0 < 7.0 < high, "three repetitions tell little"
    names = list(cases.columns)
    place = names.index("metric_rate_it_per_s")
    assert names[place : place + 3] == [f"metric_rate_it_per_s{end}" for end in ("", "_ci_low", "_ci_high")]


@pytest.mark.parametrize("rates", [[4.0], [0.0, 0.0], [-1.0, 2.0]])
def test_one_repetition_or_values_that_are_not_positive_have_no_interval(
    rates: list[float], make_command: MakeRecord
) -> None:
    records = [make_command(0, number, rate) for number, rate in enumerate(rates)]
    case = case_table(repetition_table(records)).iloc[0]
    assert pd.isna(case["metric_rate_it_per_s_ci_low"])
    assert case["metric_rate_it_per_s"] == sum(rates) / len(rates)


def test_only_completed_repetitions_count_and_a_failed_case_has_no_value(make_command: MakeRecord) -> None:
    records = [make_command(0, 0, 4.0), make_command(0, 1, status="failed"), make_command(1, 0, status="failed")]
    first, second = case_table(repetition_table(records)).to_dict("records")
    assert (first["metric_rate_it_per_s"], first["status"]) == (4.0, "failed")
    assert pd.isna(second["metric_rate_it_per_s"])


def test_what_is_not_known_of_a_command_is_empty(make_command: MakeRecord) -> None:
    repetitions = repetition_table([make_command()])
    case = add_speedup(case_table(repetitions), Replicates(by_case(repetitions))).iloc[0]
    assert case["time_median_s"] == 2.0
    unknown = ["model", "model_options", "throughput_items_per_s", "speedup", "parameter_count", "items_per_step"]
    assert case[unknown].isna().all()


def test_commands_of_one_experiment_are_ranked_together_and_never_with_models(
    make_command: MakeRecord, make_record: MakeRecord
) -> None:
    other = {"experiment": "another"}
    records = [
        make_command(0, rate=1.0),
        make_record(1),
        make_command(2, rate=3.0, parameters={"dtype": "float16", "command": "./bench --half"}),
        make_command(3, rate=2.0, **other),
    ]
    cases = case_table(repetition_table(records))
    groups = work_groups(cases).tolist()
    assert groups[0] == groups[2]
    assert len({groups[0], groups[1], groups[3]}) == 3
    assert "experiment" in differing_work(cases)
    best_first = ranked(cases, Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=True))
    assert best_first["metric_rate_it_per_s"].tolist()[:2] == [3.0, 1.0]


ABSENT = {"value": None, "unit": "it/s", "better": "higher", "reason": "it was not found"}


def test_a_metric_that_was_not_found_is_empty_with_its_reason_and_the_others_count(make_command: MakeRecord) -> None:
    records = [make_command(0, 0, 4.0), make_command(0, 1, metrics={"rate": ABSENT}), make_command(1, 0, 3.0)]
    first, second = case_table(repetition_table(records)).to_dict("records")
    assert (first["status"], first["runs"], first["metric_rate_it_per_s"]) == ("completed", 2, 4.0)
    assert (first["metrics_not_found"], first["metrics_not_found_reason"]) == ("rate", "it was not found")
    assert (second["metrics_not_found"], second["metrics_not_found_reason"]) == (None, None)


def test_cases_are_not_ranked_by_another_metric_if_the_first_one_was_not_found(make_command: MakeRecord) -> None:
    loss = {"value": 1.0, "unit": "s", "better": "lower"}
    records = [make_command(case, metrics={"rate": ABSENT, "loss": loss}) for case in (0, 1)]
    cases = case_table(repetition_table(records))
    metrics = quantities_of(metric_columns(records)).values()
    assert ranked_by(cases, THROUGHPUT, metrics).title == "rate"
