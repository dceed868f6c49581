"""Programs that record their steps with hpcbench_probe become cases with step times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.integration

ONCE = ("--local", "--repetitions", "1", "--set", "measure.retries=0")
PROGRAM = """
import os, sys, time
from hpcbench_probe import probe

def batches(count):
    for batch in range(count):
        time.sleep(0.001)
        yield batch

for batch in probe(batches(int(sys.argv[1]) + 2 * int(os.environ["HPCBENCH_RANK"])), items=32):
    with probe.phase("forward"):
        time.sleep(0.004)
    probe.log(**{"train/acc": batch % 7})
"""
NESTED = """
from hpcbench_probe import probe
for _ in probe([1, 2]):
    with probe.step():
        pass
"""


WITHOUT_RESULT = """
import sys
from hpcbench_probe import probe

if sys.argv[1] == "idle":
    probe.step()
    sys.exit()
for step in probe(range(9)):
    probe.log(loss=step)
    if step == 5:
        sys.exit("the loss increases")
"""


@pytest.fixture
def program(command_line: Any) -> Path:
    file: Path = command_line.workspace / "train.py"
    file.write_text(PROGRAM)
    return file


def test_steps_phases_and_logged_values_are_in_the_record_and_the_reports(command_line, program) -> None:
    done = command_line("run", *ONCE, "-P", "steps=20,40", "--", "python3", "train.py", "{steps}")
    assert "step time (ms)" in done.stdout
    assert "samples/s" in done.stdout
    for row in command_line.report():
        steps = int(row["param_steps"])
        assert (int(row["probed_steps"]), int(row["probed_processes"]), row["items_per_step"]) == (steps, 1, "32")
        assert 0.005 <= float(row["time_median_s"]) < float(row["wall_time_s"]) / 10
        assert float(row["throughput_items_per_s"]) == pytest.approx(32 / float(row["time_median_s"]))
        assert 0.004 <= float(row["metric_phase_forward_s"]) < float(row["time_mean_s"])
        assert 0.001 <= float(row["metric_phase_data_s"]) < float(row["time_mean_s"])
        assert row["metric_train_acc"] == str(float((steps - 1) % 7))
    for record in command_line.records():
        samples = record["measurements"]
        measured = len(samples["times_s"]) * samples["steps_per_measurement"]  # blocks, if others use the machine
        assert record["probe"]["steps"] // 4 <= measured <= record["probe"]["steps"] // 2
        assert record["metrics"]["train_acc"]["steps"] == list(range(record["probe"]["steps"]))
    page = command_line.workspace / "page.html"
    command_line("report", "latest", "--html", str(page))
    assert "Train acc over steps" in page.read_text()
    shown = command_line("show", "latest", "steps=20").stdout
    assert "step times of run 1" in shown
    assert "phase_forward" in shown


def test_the_slowest_task_counts_and_the_fewest_steps(command_line, program) -> None:
    asked = ("--set", "tasks_per_node=2", "--set", "cpus_per_task=1", "--", "python3", "train.py", "10")
    command_line("run", *ONCE, *asked)
    (record,) = command_line.records()
    assert (record["probe"]["processes"], record["probe"]["steps"], record["work"]["items_per_step"]) == (2, 10, 64)
    assert any(
        warning.startswith("the number of steps differs between processes (10 to 12)") for warning in record["warnings"]
    )


def test_nested_steps_are_a_failure_of_the_program(command_line, program) -> None:
    program.write_text(NESTED)
    command_line("run", *ONCE, "--", "python3", "train.py", expect=1)
    (record,) = command_line.records()
    assert record["status"] == "failed"
    assert (
        "ProbeError: a step is inside another step; use the probe for one loop at a time" in record["error"]["message"]
    )


def test_programs_that_fail_or_complete_no_step_have_a_warning(command_line, program) -> None:
    program.write_text(WITHOUT_RESULT)
    command_line("run", *ONCE, "--no-fail-fast", "-P", "how=fails,idle", "--", "python3", "train.py", "{how}", expect=1)
    warnings = {record["user_parameters"]["how"]: record["warnings"] for record in command_line.records()}
    assert "the program recorded 5 steps before it failed; last logged values: loss = 5 (step 5)" in warnings["fails"]
    assert [line for line in warnings["idle"] if "recorded no steps; the measurement is the wall time" in line]
    shown = " ".join(command_line("show", "latest", "how=fails", expect=1).stdout.split())
    assert "the program recorded 5 steps before it failed" in shown


def test_steps_are_not_compared_with_whole_commands(command_line, program) -> None:
    for name, text in (("whole", "import sys"), ("steps", PROGRAM)):
        program.write_text(text)
        command_line("run", *ONCE, "--name", name, "--", "python3", "train.py", "10")
    compared = command_line("compare", "whole", "steps", expect=None)
    assert "NEW has step times (hpcbench_probe), but BASE has only wall times" in " ".join(
        (compared.stdout + compared.stderr).split()
    )


def test_a_metric_may_be_a_logged_value_and_reparse_keeps_it(command_line, program) -> None:
    metrics = {"best": {"log": "train/acc", "reduce": "max", "better": "higher"}, "none": {"log": "f1"}}
    content = {
        "name": "trial",
        "parameters": {"framework": "command", "command": "python3 train.py 9", "cpus_per_task": 1},
        "metrics": metrics,
        "measure": {"repetitions": 1, "retries": 0},
    }
    (command_line.workspace / "trial.yaml").write_text(yaml.safe_dump(content))
    command_line("sweep", "trial.yaml", "--local", expect=1)
    (record,) = command_line.records()
    assert record["metrics"]["best"]["value"] == 6.0
    assert record["metrics"]["none"]["reason"].endswith("; the program logged: train_acc")
    del metrics["none"]
    metrics["mean"] = {"log": "train/acc", "reduce": "mean"}
    (command_line.workspace / "trial.yaml").write_text(yaml.safe_dump({**content, "metrics": metrics}))
    command_line("reparse", "latest", "trial.yaml")
    (row,) = command_line.report()
    assert float(row["metric_mean"]) == pytest.approx(sum([*range(7), 0, 1]) / 9)
    assert (row["metric_best"], row["metric_train_acc"]) == ("6.0", "1.0")
    assert float(row["metric_phase_forward_s"]) >= 0.004


def test_steps_of_a_run_whose_output_was_unexpected_are_kept_for_reparse(command_line, program) -> None:
    content = {
        "name": "trial",
        "parameters": {"framework": "command", "command": "python3 train.py 9", "cpus_per_task": 1},
        "metrics": {"best": {"log": "train/acc", "reduce": "max"}},
        "expect": ["done"],
        "measure": {"repetitions": 1, "retries": 0},
    }
    file = command_line.workspace / "trial.yaml"
    file.write_text(yaml.safe_dump(content))
    command_line("sweep", "trial.yaml", "--local", expect=1)
    (record,) = command_line.records()
    assert (record["status"], record["error"]["type"], record["probe"]["steps"]) == ("failed", "expect", 9)
    file.write_text(yaml.safe_dump({**content, "expect": []}))
    command_line("reparse", "latest", "trial.yaml")
    (row,) = command_line.report()
    assert (row["status"], row["metric_best"], row["probed_steps"]) == ("completed", "6.0", "9")
