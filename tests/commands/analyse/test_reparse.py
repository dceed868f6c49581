"""Metrics from the stored output of a sweep: after a pattern changed, and those that nobody has defined."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine

pytestmark = pytest.mark.integration

COMMAND = (
    "echo loss: 0.{{ batch_size }}; echo 'epoch 1: {{ batch_size }}00.5 samples/s'; echo '{{ batch_size }},2' > "
    "$HPCBENCH_RUN/m.csv; echo done"
)
EXPERIMENT: dict[str, Any] = {
    "name": "trial",
    "parameters": {"framework": "command", "command": COMMAND},
    "matrix": {"batch_size": [1, 2]},
    "metrics": {"loss": {"regex": "Loss: (.*)", "better": "lower"}},
    "measure": {"repetitions": 2, "retries": 0},
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a sweep whose pattern finds nothing, and one whose expected pattern is wrong."""
    command_line = CommandLine(tmp_path_factory.mktemp("ran"))
    write(command_line, "trial.yaml", EXPERIMENT)
    command_line("sweep", "trial.yaml", "--local", "--no-fail-fast", "--name", "one", expect=1)
    write(command_line, "unexpected.yaml", {**EXPERIMENT, "metrics": {}, "expect": ["finished"]})
    command_line("sweep", "unexpected.yaml", "--local", "--no-fail-fast", "--name", "two", expect=1)
    return command_line.workspace


@pytest.fixture
def sweeps(invoke: CommandLine, ran: Path) -> CommandLine:
    shutil.copytree(ran, invoke.workspace, dirs_exist_ok=True)
    return invoke


def write(command_line: CommandLine, file: str, experiment: dict[str, Any]) -> None:
    (command_line.workspace / file).write_text(json.dumps(experiment))


def test_metrics_are_extracted_again_and_reports_use_them(sweeps: CommandLine) -> None:
    records = sweeps.records()
    write(sweeps, "new.yaml", {**EXPERIMENT, "metrics": {"loss": {"regex": "loss: (.*)", "better": "lower"}}})
    assert "completed, metric not found" in sweeps("status", "one").stdout
    done = sweeps("reparse", "one", "new.yaml")
    assert done.stdout == "loss: found in 4 of 4 runs, 0.1 to 0.2\n"
    assert done.stderr == "next: hpcbench report one\n"
    assert "metric not found" not in sweeps("status", "one").stdout
    assert [row["metric_loss"] for row in sweeps.report("one")] == ["0.1", "0.2"]
    assert "metric not found" not in sweeps("show", "one", expect=None).stdout
    assert sweeps.records() == records
    assert "loss" in sweeps("history", "trial", "--metric", "loss", expect=None).stdout
    sweeps("archive", "one", "-o", "one.tar.gz")
    assert [row["metric_loss"] for row in sweeps.report("one.tar.gz")] == ["0.1", "0.2"]
    sweeps("reparse", "one", "--undo")
    assert "completed, metric not found" in sweeps("status", "one").stdout
    assert "has no extracted metrics to remove" in sweeps("reparse", "one", "--undo", expect=2).stderr


def test_the_experiment_file_of_the_sweep_is_the_default(sweeps: CommandLine) -> None:
    (description,) = sweeps.workspace.glob("jobs/one/sweep.json")
    moved = json.loads(description.read_text()) | {"source": str(sweeps.workspace / "trial.yaml")}
    description.write_text(json.dumps(moved))
    write(sweeps, "trial.yaml", {**EXPERIMENT, "metrics": {"loss": {"regex": "loss: (.*)"}}})
    assert "found in 4 of 4 runs" in sweeps("reparse", "one").stdout
    (sweeps.workspace / "trial.yaml").unlink()
    refused = sweeps("reparse", "one", expect=2).stderr
    assert "trial.yaml' not found" in refused
    assert "name the file: hpcbench reparse one EXPERIMENT, or define a metric with --extract" in refused


def test_an_unexpected_output_becomes_a_completed_run_with_its_time(sweeps: CommandLine) -> None:
    assert sweeps.states("two") == {"failed": 4}
    write(sweeps, "new.yaml", {**EXPERIMENT, "expect": ["done"], "metrics": {"loss": {"regex": "loss: (.*)"}}})
    assert "4 runs changed from failed to completed" in sweeps("reparse", "two", "new.yaml").stdout
    assert sweeps.states("two") == {"completed": 4}
    listed = {each["name"]: each["runs"] for each in json.loads(sweeps("list", "sweeps", "--json").stdout)}
    assert listed["two"] == {"completed": 4}
    assert all(float(row["time_median_s"]) > 0 for row in sweeps.report("two"))
    write(sweeps, "new.yaml", {**EXPERIMENT, "expect": ["loss: 0.1"]})
    done = sweeps("reparse", "two", "new.yaml", expect=1)
    assert done.stdout.splitlines()[0] == "expect: not found in 2 of 4 runs"
    assert "2 runs changed from completed to failed" in done.stdout
    assert "  2 runs: the expected pattern 'loss: 0.1' was not found in the output" in done.stdout
    assert sweeps.states("two") == {"completed": 2, "failed": 2}


def test_a_pattern_on_the_command_line_is_added_to_the_metrics(sweeps: CommandLine) -> None:
    done = sweeps("reparse", "one", "--extract", "rate:higher=([0-9.]+) samples", expect=1)
    assert done.stdout.splitlines()[0] == "loss: found in 0 of 4 runs"
    assert done.stdout.splitlines()[-1] == "rate: found in 4 of 4 runs, 100.5 to 200.5"
    done = sweeps("reparse", "one", "--extract", "loss:lower=loss: (.*)")
    assert done.stdout.splitlines() == [
        "loss: found in 4 of 4 runs, 0.1 to 0.2",
        "rate: found in 4 of 4 runs, 100.5 to 200.5",
    ]
    assert [row["metric_rate"] for row in sweeps.report("one", "--metric", "rate")] == ["200.5", "100.5"]


def test_runs_without_stored_output_keep_the_values_of_unchanged_metrics(sweeps: CommandLine) -> None:
    shutil.rmtree(sweeps.workspace / "results" / "one" / "output")
    done = sweeps("reparse", "one", "--extract", "rate=(.) samples", expect=1)
    assert "4 runs: the pattern 'Loss: (.*)' was not found" in done.stdout
    assert "  4 runs: the output of the run was not kept" in done.stdout
    assert "warning: 4 runs without stored output" in done.stderr


def test_a_file_that_was_not_kept_is_named(sweeps: CommandLine) -> None:
    write(sweeps, "new.yaml", {**EXPERIMENT, "metrics": {"m": {"csv": "m", "file": "m.csv"}}})
    assert "the file m.csv was not kept; kept files: none" in sweeps("reparse", "one", "new.yaml", expect=1).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("one", "trial.yaml", "--undo"), "EXPERIMENT cannot be used with --undo"),
        (("one", "trial.yaml", "--extract", "a=(.)"), "EXPERIMENT cannot be used with --extract"),
        (("one", "--extract", "a=."), "needs a group for the number"),
        (("one", "missing.yaml"), "'missing.yaml' not found"),
        (("one.tar.gz", "trial.yaml"), "an archive cannot be changed\n  --> one.tar.gz"),
        (("three", "trial.yaml"), "sweep 'three' not found"),
    ],
)
def test_usage_errors(words: tuple[str, ...], message: str, sweeps: CommandLine) -> None:
    assert message in sweeps("reparse", *words, expect=2).stderr
    assert not list(sweeps.workspace.glob("results/*/reparsed.jsonl"))


def test_metrics_in_the_output_are_found_and_rank_only_when_asked(sweeps: CommandLine) -> None:
    report = sweeps("report", "one", expect=1).stdout
    found = report[report.index("found in the output") :]
    assert found == (
        "found in the output; use --metric NAME to rank by it:\n  samples_per_s  200.5 samples/s  (1 value)\n"
    ) or re.search(r"  samples_per_s  [12]00\.5 samples/s  \(1 value\)\n", found)
    assert "samples per s" not in report
    (row, other) = sweeps.report("one", "--metric", "samples_per_s", expect=1)
    columns = [name for name in row if name.startswith("metric_samples_per_s")]
    assert columns[0] == "metric_samples_per_s_samples_per_s"
    assert (row[columns[0]], other[columns[0]]) == ("200.5", "100.5")
    assert len(columns) == 3, "with a confidence interval"
    sweeps("archive", "one", "-o", "one.tar.gz")
    assert "samples per s" in sweeps("report", "one.tar.gz", "--metric", "samples_per_s", expect=1).stdout


def test_a_found_metric_may_need_a_direction(sweeps: CommandLine) -> None:
    refused = sweeps("report", "two", "--metric", "loss", expect=2).stderr
    assert "unknown metric 'loss'" in refused, "no run of the sweep has completed"
    sweeps("reparse", "two", "--extract", "rate=([0-9.]+) samples", expect=1)
    write(sweeps, "new.yaml", {**EXPERIMENT, "metrics": {}})
    sweeps("reparse", "two", "new.yaml")
    refused = sweeps("report", "two", "--metric", "loss", expect=2).stderr
    assert "--metric loss:higher or --metric loss:lower" in refused
    assert [row["metric_loss"] for row in sweeps.report("two", "--metric", "loss:lower")] == ["0.1", "0.2"]
    refused = sweeps("report", "two", "--metric", "losses", expect=2).stderr
    assert "did you mean 'loss'?\nhint: found in the output: samples_per_s, loss" in refused


def test_the_throughput_of_commands_is_unknown_and_not_silently_replaced(sweeps: CommandLine) -> None:
    for name in ("throughput", "throughput_items_per_s"):
        refused = sweeps("report", "one", "--metric", name, expect=2).stderr
        assert f"unknown metric '{name}'" in refused
        assert "found in the output: samples_per_s" in refused


def test_runs_without_stored_output_lack_a_found_metric(sweeps: CommandLine) -> None:
    (file,) = (sweeps.workspace / "results" / "one" / "output").glob("*/*.gz")
    content = file.read_bytes()
    starts = [place.start() for place in re.finditer(rb"\x1f\x8b\x08", content)]
    file.write_bytes(content[starts[len(starts) // 2] :])  # the first runs are gone
    rows = sweeps.report("one", "--metric", "samples_per_s", "--level", "run", expect=1)
    reasons = [row["metrics_not_found_reason"] for row in rows]
    assert sum("the output of the run was not kept" in reason for reason in reasons) == 2
