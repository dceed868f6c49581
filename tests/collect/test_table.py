"""From records to tidy tables: the columns, their types, and what is left empty."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import by_case, case_table
from hpcbench.analysis.cases.quantities import TIME
from hpcbench.analysis.cases.ranking import ranked
from hpcbench.analysis.cases.speedup import add_speedup
from hpcbench.collect.table import PARAMETERS, repetition_table, sample_table
from hpcbench.config.parameters import NAMES
from hpcbench.core.record import Record
from hpcbench.core.typed_json import to_json

MakeRecord = Callable[..., Record]

# The columns that issue 2 names for `hpcbench report --csv`.
PROMISED = """
sweep case status framework framework_version model task strategy device dtype batch_size nodes tasks_per_node
cpus_per_task gpus_per_task intra_op_threads inter_op_threads runs measurements time_median_s time_ci_low_s
time_ci_high_s time_mean_s time_std_s time_p95_s time_p99_s throughput_items_per_s speedup parameter_count
flops_per_item peak_memory_bytes nodes_used job_id error
"""


def test_a_completed_record_is_one_row_of_what_it_says(make_record: MakeRecord) -> None:
    record = make_record(
        7,
        2,
        parameters={"batch_size": 64, "intra_op_threads": 4, "model_options": {"layers": 3}},
        user_parameters={"rack": "a"},
    )
    row = repetition_table([record]).iloc[0]
    assert (row["sweep"], row["case"], row["case_index"], row["run"]) == ("sweep-1", f"{7:012x}", 7, 2)
    assert (row["status"], row["attempt"], row["error"]) == ("completed", 1, None)
    assert (row["framework_version"], row["batch_size"], row["intra_op_threads"]) == ("2.13.0+cpu", 64, 4)
    assert json.loads(row["model_options"]) == {"layers": 3}
    assert json.loads(row["input_shapes"]) == {"input": [32, 784]}
    assert (row["effective_intra_op_threads"], row["effective_inter_op_threads"]) == (4, 2)
    assert (row["nodes_used"], row["cpu_model"], row["param_rack"]) == ("n1", "a CPU", "a")
    assert (row["first_step_s"], row["import_s"], row["build_s"]) == (0.9, 1.5, 0.5)
    assert row["peak_memory_bytes"] == 2**33
    np.testing.assert_array_equal(row["times_s"], [0.1, 0.2, 0.3])
    assert row["times_s"].dtype == np.float64


def test_what_the_search_for_threads_took_is_in_the_row_and_its_median_in_the_cases(make_record: MakeRecord) -> None:
    found = [{"answer": "fixed", "why": "none is worth it", "profile_s": seconds} for seconds in (2.0, 3.0, 7.0)]
    table = repetition_table([make_record(0, place, facts={"dynamic": each}) for place, each in enumerate(found)])
    assert table["threads_search_s"].tolist() == [2.0, 3.0, 7.0]
    assert case_table(table)["threads_search_s"].tolist() == [3.0]


def test_the_dtype_is_that_of_the_work_and_of_what_did_none_the_one_that_was_asked_for(make_record: MakeRecord) -> None:
    work = {**to_json(make_record().work), "dtype": "bfloat16"}
    table = repetition_table([make_record(facts={"work": work}), make_record(1, status="failed")])
    assert table["dtype"].tolist() == ["bfloat16", "float32"]


def test_the_setup_of_a_run_is_in_its_row(make_record: MakeRecord) -> None:
    nodes = [
        {"hostname": "n1", "cpu_model": "a CPU", "kernel": "6.1.0", "governor": "performance", "turbo": False},
        {"hostname": "n2", "cpu_model": "a CPU", "kernel": "6.1.9", "governor": "performance", "turbo": False},
    ]
    ranks = [{"gpus": ["GPU A"]}, {"gpus": ["GPU A"]}, {"gpus": ["GPU B"]}, {"gpus": None}, {}]
    ranks = [{"rank": number, "host": "n1", "ended_at": "", **rank} for number, rank in enumerate(ranks)]
    git = {"commit": "f0cfe52", "dirty": True}
    row = repetition_table([make_record(nodes=nodes, ranks=ranks, git=git, python="3.11.2")]).iloc[0]
    assert (row["cpu_model"], row["kernel"], row["gpu_model"]) == ("a CPU", "6.1.0; 6.1.9", "GPU A; GPU B")
    assert (row["cpu_governor"], row["cpu_turbo"]) == ("performance", "off")
    assert row["software"] == "python 3.11.2, torch 2.13.0+cpu, numpy 2.4.6"
    assert (row["hpcbench_version"], row["git_commit"], row["git_dirty"]) == ("0.1.0", "f0cfe52", True)


@pytest.mark.parametrize(
    ("told", "cores"), [([4, 4], 4), ([4, 2], None), ([4, None], None), ([None], None), ([], None)]
)
def test_the_physical_cores_of_a_task_are_told_where_all_tasks_have_as_many(
    make_record: MakeRecord, told: list[int | None], cores: int | None
) -> None:
    records = [make_record(physical_cores=told), make_record(1, physical_cores=[2])]
    column = repetition_table(records)["physical_cores_per_task"]
    assert column.dtype == "Int64"
    assert column.astype(object).where(column.notna(), None).tolist() == [cores, 2]


def test_what_a_record_does_not_tell_of_its_setup_is_empty(make_record: MakeRecord) -> None:
    """As those that were written before it was requested."""
    row = repetition_table([make_record(python=None, packages=None)]).iloc[0]
    unknown = ["cpu_governor", "cpu_turbo", "gpu_model", "kernel", "software", "git_commit", "git_dirty"]
    assert row[unknown].isna().all()


def test_a_case_has_the_setups_of_all_its_repetitions(make_record: MakeRecord) -> None:
    kernels = [[{"hostname": "n1", "cpu_model": "a CPU", "kernel": kernel}] for kernel in ("6.1.0", "6.1.9", "6.1.0")]
    records = [make_record(0, number, nodes=nodes) for number, nodes in enumerate(kernels)]
    assert case_table(repetition_table(records)).iloc[0]["kernel"] == "6.1.0; 6.1.9"


def test_whole_numbers_of_a_tag_stay_whole_beside_a_sweep_without_it(make_record: MakeRecord) -> None:
    user_parameters: list[dict[str, Any]] = [{"size": 1, "kind": 2}, {"kind": "x"}, {"size": None}]
    repetitions = repetition_table(
        [make_record(number, user_parameters=own) for number, own in enumerate(user_parameters)]
    )
    for table in (repetitions, case_table(repetitions)):
        assert [str(value) for value in table["param_size"]] == ["1", "<NA>", "<NA>"]
        assert table["param_kind"].tolist()[:2] == [2, "x"]


@pytest.mark.parametrize("value", [2**53 + 1, 2**63, -(2**70)])
def test_a_number_too_large_for_a_table_is_text_and_not_rounded(make_record: MakeRecord, value: int) -> None:
    repetitions = repetition_table([make_record(0, user_parameters={"size": value}), make_record(1)])
    for table in (repetitions, case_table(repetitions)):
        assert table["param_size"][0] == str(value)


def judged(verdict: str, *causes: list[str]) -> dict[str, Any]:
    found = [{"causes": each, "what": "words", "windows": 2, "size": 0.5} for each in causes]
    return {"verdict": verdict, "reason": None, "found": found, "windows": []}


@pytest.mark.parametrize(
    ("interference", "verdict", "by"),
    [
        (judged("clean"), "clean", None),
        (judged("clean", ["steal"]), "clean", None),  # in a few windows
        (judged("interference", ["cpu"], ["cpu", "memory"]), "interference", "cpu, memory"),
        (judged("unmonitored"), "unmonitored", None),
        (judged("unmonitored", ["cpu"]), "unmonitored", None),
        (None, None, None),
    ],
)
def test_a_row_says_whether_it_was_disturbed_and_by_what(
    make_record: MakeRecord, interference: Any, verdict: str | None, by: str | None
) -> None:
    row = repetition_table([make_record(interference=interference)]).iloc[0]
    assert (row["interference"], row["interference_causes"]) == (verdict, by)


@pytest.mark.parametrize(
    ("verdict", "causes", "count", "expected"),
    [
        ("interference", "throttling", 3, True),
        ("interference", "cpu", 3, False),
        ("clean", "throttling", 2, False),
        ("unmonitored", "throttling", 3, True),
    ],
)
def test_a_row_tells_whether_the_run_was_throttled(
    make_record: MakeRecord, verdict: str, causes: str, count: int, expected: bool
) -> None:
    """In over a fifth of its ten monitored windows."""
    windows = [{causes: 0.5}] * count + [{}] * (10 - count) + [None] * (11 if verdict == "unmonitored" else 0)
    found = [{"causes": [causes], "what": "words", "windows": count, "size": 0.5}]
    interference = {"verdict": verdict, "reason": None, "found": found, "windows": windows}
    assert repetition_table([make_record(interference=interference)])["throttled"].tolist() == [expected]
    assert not repetition_table([make_record(interference=None)])["throttled"].any()


def test_a_row_says_which_attempt_it_is_and_how_many_there_were(make_record: MakeRecord) -> None:
    table = repetition_table([make_record(attempt=1, attempts=3, energy_slurm_j=4100.0), make_record(1)])
    assert [str(value) for value in table["attempt"]] == ["1", "1"]
    assert [str(value) for value in table["attempts"]] == ["3", "<NA>"]


def test_a_case_of_records_counts_what_was_disturbed_and_uses_the_others(make_record: MakeRecord) -> None:
    records = [
        make_record(0, 0, times_s=[1.0], attempts=2, interference=judged("clean")),
        make_record(0, 1, times_s=[9.0], attempts=2, interference=judged("interference", ["io"])),
        make_record(0, 2, times_s=[3.0], attempts=1, interference=judged("unmonitored")),
    ]
    row = case_table(repetition_table(records)).iloc[0]
    assert tuple(row[["runs", "interference_runs", "unmonitored", "attempts"]]) == (2, 1, 1, 5)
    assert (row["time_mean_s"], row["interference_causes"]) == (2.0, "io")


def test_what_has_not_ended_has_no_log(make_record: MakeRecord) -> None:
    table = repetition_table([make_record(), make_record(ended_at="")])
    assert table["log"].notna().tolist() == [True, False]


def test_what_slurm_never_started_has_no_log(make_record: MakeRecord) -> None:
    error = {"type": "job", "message": "cancelled before it started", "last_lines": []}
    unstarted = make_record(status="cancelled", attempt=None, error=error)
    killed = make_record(status="cancelled", attempt=None, error={**error, "last_lines": ["Killed"]})
    assert repetition_table([unstarted, killed])["log"].notna().tolist() == [False, True]


def test_every_parameter_has_a_column(make_record: MakeRecord) -> None:
    table = repetition_table([make_record()])
    assert set(table.columns) >= NAMES
    assert set(PARAMETERS) <= set(table.columns)


@pytest.mark.parametrize("status", ["failed", "timeout", "out_of_memory", "cancelled", "node_failure", "unsupported"])
def test_a_repetition_that_did_not_complete_has_no_samples_and_says_why(make_record: MakeRecord, status: str) -> None:
    row = repetition_table([make_record(status=status), make_record(1)]).iloc[0]
    assert row["status"] == status
    assert row["error"] == "it broke"
    assert len(row["times_s"]) == 0
    empty = ["parameter_count", "flops_per_item", "framework_version", "peak_memory_bytes", "nodes_used", "cpu_model"]
    assert row[empty].isna().all()


@pytest.mark.parametrize(
    "column",
    [
        "intra_op_threads",
        "inter_op_threads",
        "parameter_count",
        "flops_per_item",
        "items_per_step",
        "peak_memory_bytes",
        "peak_device_bytes",
        "effective_intra_op_threads",
        "attempt",
        "warmup_steps",
        "steps_per_measurement",
    ],
)
def test_whole_numbers_stay_whole_where_some_are_missing(make_record: MakeRecord, column: str) -> None:
    records = [make_record(parameters={"intra_op_threads": 2}), make_record(1, status="failed", attempt=None)]
    assert repetition_table(records)[column].dtype == "Int64"


def test_a_whole_number_too_large_for_a_float_is_exact(make_record: MakeRecord) -> None:
    work = {**to_json(make_record().work), "flops_per_item": 2**60 + 1}
    table = repetition_table([make_record(facts={"work": work}), make_record(1, status="failed")])
    assert table["flops_per_item"][0] == 2**60 + 1


@pytest.mark.parametrize("column", ["case_index", "run", "batch_size", "nodes", "seed"])
def test_what_every_record_has_is_a_plain_integer(make_record: MakeRecord, column: str) -> None:
    assert pd.api.types.is_integer_dtype(repetition_table([make_record(), make_record(1, status="failed")])[column])


@pytest.mark.parametrize(
    ("slurm", "job_id"),
    [
        ({}, None),
        ({"SLURM_JOB_ID": "99"}, "99"),
        ({"SLURM_JOB_ID": "99", "SLURM_ARRAY_JOB_ID": "90", "SLURM_ARRAY_TASK_ID": "3"}, "90_3"),
    ],
)
def test_the_job_is_named_as_slurm_names_it(make_record: MakeRecord, slurm: dict[str, str], job_id: str | None) -> None:
    assert repetition_table([make_record(slurm=slurm)])["job_id"][0] == job_id


EAGER, COMPILED = {"execution": "eager"}, {"execution": "compiled"}


LEARNING: dict[str, Any] = {
    "elapsed_s": 9.0,
    "ended_s": 9.0,
    "first_step_s": 0.9,
    "epochs": 3,
    "accuracy": 0.9,
    "seed": 0,
    "held_out_items": 100,
    "started_unix_s": 1.7e9,
    "curve": [],
}


@pytest.mark.parametrize(
    ("parameters", "changes", "compile_s"),
    [
        (COMPILED, {}, 0.7),  # a first step of 0.9 s, and a median of 0.2 s
        (COMPILED, {"times_s": [1.0, 2.0]}, 0.0),
        (COMPILED, {"times_s": [0.2, np.nan, np.inf, None]}, 0.7),
        (COMPILED, {"times_s": [np.nan, None]}, None),
        (COMPILED, {"times_s": []}, None),
        (COMPILED, {"learning": LEARNING}, None),  # the one sample is all of the training
        (EAGER, {}, None),
    ],
)
def test_what_compiling_took_is_told_where_a_step_was_measured(
    make_record: MakeRecord, parameters: dict[str, Any], changes: dict[str, Any], compile_s: float | None
) -> None:
    table = repetition_table([make_record(parameters=parameters, **changes)])
    assert table["compile_s"].tolist() == [None if compile_s is None else pytest.approx(compile_s)]


def test_samples_are_numbered_from_zero_within_each_repetition(make_record: MakeRecord) -> None:
    records = [
        make_record(0, 0, times_s=[0.5, 0.4]),
        make_record(0, 1, times_s=[0.3]),
        make_record(1, 0, status="failed"),
        make_record(2, 0, times_s=[0.2, 0.1, 0.6]),
    ]
    table = sample_table(repetition_table(records))
    assert list(table["time_s"]) == [0.5, 0.4, 0.3, 0.2, 0.1, 0.6]
    assert list(table["measurement"]) == [0, 1, 0, 0, 1, 2]
    assert list(table["run"]) == [0, 0, 1, 0, 0, 0]
    assert list(table["case"].unique()) == [f"{0:012x}", f"{2:012x}"]
    assert table["time_s"].dtype == np.float64
    assert list(table.columns[:4]) == ["sweep", "case", "run", "measurement"]
    assert set(PARAMETERS) <= set(table.columns)


def test_a_sweep_in_which_nothing_completed_has_an_empty_sample_table(make_record: MakeRecord) -> None:
    table = sample_table(repetition_table([make_record(status="failed")]))
    assert len(table) == 0
    assert {"sweep", "case", "run", "measurement", "time_s"} <= set(table.columns)


@pytest.mark.parametrize("statuses", [["completed"], ["completed", "failed"], ["failed"], ["unsupported", "timeout"]])
def test_every_column_that_was_promised_is_in_the_table_of_cases(make_record: MakeRecord, statuses: list[str]) -> None:
    records = [make_record(case, status=status) for case, status in enumerate(statuses)]
    repetitions = repetition_table(records)
    cases = ranked(add_speedup(case_table(repetitions), Replicates(by_case(repetitions))), TIME)
    assert set(PROMISED.split()) - set(cases.columns) == set()
    assert len(cases) == len(statuses)


def test_a_case_that_only_failed_still_says_what_it_was(make_record: MakeRecord) -> None:
    records = [make_record(0), make_record(1, status="failed", parameters={"batch_size": 128})]
    row = case_table(repetition_table(records)).iloc[1]
    assert (row["status"], row["batch_size"], row["error"]) == ("failed", 128, "it broke")
    assert row[["time_median_s", "throughput_items_per_s", "parameter_count", "peak_memory_bytes"]].isna().all()
    assert row["runs"] == 0
