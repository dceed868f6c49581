"""Sweeps of any program on this machine, from the file to the table; and the shipped examples, as shipped."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

BENCH = """#!/bin/sh
echo "size $1 on $(pwd)"
echo "rate: $(($1 * 10))"
echo "{\\"loss\\": $1.5}" > "$HPCBENCH_RUN/loss.json"
"""
METRICS = {
    "rate": {"regex": r"rate: (?P<value>[0-9.]+)", "unit": "it/s"},
    "loss": {"json": "loss", "file": "loss.json"},
}


@pytest.fixture
def programs(command_line):
    """The command line in a workspace with the program ./bench, and an experiment that runs it."""
    bench = command_line.workspace / "bench"
    bench.write_text(BENCH)
    bench.chmod(0o755)

    def sweep(*arguments: str, expect: int = 0, **sections: Any) -> subprocess.CompletedProcess[str]:
        content = {
            "name": "trial",
            "parameters": {"framework": "command", "command": "./bench {{ batch_size }}"},
            "matrix": {"batch_size": [1, 2]},
            "metrics": METRICS,
            "measure": {"repetitions": 1, "retries": 0},
            **sections,
        }
        (command_line.workspace / "trial.yaml").write_text(json.dumps(content))
        done: subprocess.CompletedProcess[str] = command_line(
            "sweep", "trial.yaml", "--local", *arguments, expect=expect
        )
        return done

    command_line.sweep = sweep
    return command_line


def test_show_prints_the_command_of_the_log_which_can_be_pasted(programs):
    programs.sweep(metrics={})
    (log,) = programs.workspace.glob("jobs/*/logs/job-001/local_0_0_log.out")
    logged = re.findall(r"(?m)^hpcbench: (.* rank .*)$", log.read_text())[0]
    (record,) = [record for record in programs.records() if record["element"] == 0]
    (line,) = re.findall(r"(?m)^.* rank .*$", programs("show", record["case_id"], "--lines", "0").stdout)
    known = [re.sub(r"(?<=/0-)(\d+|\$\$)(?=-0-1 )", "", each).partition(" --limit ")[0] for each in (line, logged)]
    assert known[0] == known[1], "but for the number of the driver"
    done = subprocess.run(["bash", "-c", line], cwd=programs.workspace, capture_output=True, text=True, check=False)
    size = record["parameters"]["command"].split()[1]
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"size {size} on {programs.workspace}")


@pytest.mark.parametrize(
    ("set_up", "why"),
    [
        ("sleep 3", " s: the time limit is 6 s"),
        ("sleep 60", "its job ended without leaving a record within 6 s"),
    ],
)
def test_the_time_limit_is_that_of_a_run_without_the_set_up_which_has_the_same(programs, set_up, why):
    site = programs.site(environments={"command": {"setup": [set_up]}})
    options = {"metrics": {}, "matrix": {"batch_size": [1]}, "slurm": {"time": "00:00:06"}}
    parameters = {"framework": "command", "command": "sleep 60"}
    programs.sweep("--site", site, expect=1, parameters=parameters, **options)
    (record,) = programs.records()
    assert record["status"] == "timeout"
    assert record["error"]["message"].endswith(why)


def test_a_program_and_its_metrics_become_a_table(programs):
    programs.sweep(measure={"repetitions": 2, "retries": 0})
    rows = {row["batch_size"]: row for row in programs.report()}
    assert {size: row["metric_rate_it_per_s"] for size, row in rows.items()} == {"1": "10.0", "2": "20.0"}
    limits = [float(rows["1"][f"metric_rate_it_per_s_ci_{end}"]) for end in ("low", "high")]
    assert limits == pytest.approx([10.0, 10.0])
    assert rows["2"]["metric_loss"] == "2.5"
    assert (rows["2"]["command"], rows["2"]["framework"]) == ("./bench 2", "command")
    assert rows["1"]["model"] == rows["1"]["task"] == rows["1"]["dtype"] == rows["1"]["speedup"] == ""
    (row,) = [row for row in programs.report("--level", "run") if row["batch_size"] == "2"][:1]
    assert row["metric_loss"] == "2.5"
    assert len(programs.report("--level", "measurement")) == 4


UNRANKED = {
    "loss": "the better direction of 'loss' is unknown (add it: --metric loss:higher",
    "rte": "unknown metric 'rte' (did you mean 'rate'?",
    "rate:up": "unknown metric 'rate:up'",
}


def test_the_report_ranks_by_the_first_metric_or_the_one_that_is_asked_for(programs):
    programs.sweep()
    assert [row["batch_size"] for row in programs.report()] == ["2", "1"]
    assert [row["batch_size"] for row in programs.report("--metric", "loss:lower")] == ["1", "2"]
    assert [row["batch_size"] for row in programs.report("--metric", "metric_rate_it_per_s:lower")] == ["1", "2"]
    assert "rate" in programs("report").stdout
    for metric, words in UNRANKED.items():
        refused = " ".join(programs("report", "--metric", metric, expect=2).stderr.split())
        assert words.split(" (")[0] in refused
        assert words.split(" (")[-1] in refused


BAD = {  # tests/core/metrics has all that can be wrong
    "a regex that matches nothing": ({"regex": "speed: (.*)"}, "the pattern 'speed: (.*)' was not found in the output"),
    "a file that is not written": ({"csv": "a", "file": "a.csv"}, "the file a.csv in $HPCBENCH_RUN: No such file"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_program_that_completed_without_a_metric_stays_completed_and_everything_says_so(mistake, programs):
    metric, words = BAD[mistake]
    done = programs.sweep(metrics={"m": {**metric, "better": "lower"}}, matrix={"batch_size": [1]}, expect=1)
    assert f"completed, metric not found: m: {words}" in done.stderr
    (row,) = programs.report(expect=1)
    assert (row["status"], row["error"], row["metrics_not_found"]) == ("completed", "", "m")
    assert words in row["metrics_not_found_reason"]
    report = programs("report", expect=1).stdout
    assert "completed, metric not found" in report
    assert f"m: {words}" in report
    assert "Not ranked: no case has the metric 'm'." in report
    assert re.search(f"1 completed, metric not found on \\S+: m: {re.escape(words)}", programs("status").stdout)
    shown = " ".join(programs("show", expect=1).stdout.split())
    assert " completed, metric not found: " in shown
    assert f"not found: {words}" in shown
    resumed = programs("resume", "latest")
    assert "0 runs to resume" in resumed.stderr


def test_a_case_without_the_ranked_metric_is_last_and_the_report_names_it(programs):
    parameters = {
        "framework": "command",
        "command": "test {{ batch_size }} = 2 || echo rate: {{ batch_size }}0; echo size: 1",
    }
    both = {"rate": METRICS["rate"], "size": {"regex": "size: (.)", "unit": "B", "better": "lower"}}
    programs.sweep(parameters=parameters, metrics=both, matrix={"batch_size": [1, 2, 3]}, expect=1)
    assert [row["batch_size"] for row in programs.report(expect=1)] == ["3", "1", "2"]
    page = programs.workspace / "page.html"
    report = programs("report", "--html", str(page), expect=1).stdout
    assert "completed, metric not found batch_size=2: rate: the pattern" in report
    assert "Not ranked" not in report
    assert "metric not found" in page.read_text()


def test_a_program_that_fails_shows_its_last_line(programs):
    programs.sweep(
        parameters={"framework": "command", "command": "echo no licence >&2; exit 9"}, matrix={"seed": [1]}, expect=1
    )
    assert "the command exited with 9: no licence" in programs("report", expect=1).stdout


def test_a_time_limit_ends_a_program_and_its_children(programs):
    slow = {"framework": "command", "command": "sleep 600 & sleep 600"}
    programs.sweep(parameters=slow, slurm={"time": "0:02"}, matrix={"seed": [1]}, expect=1)
    (record,) = programs.records()
    assert record["status"] == "timeout"


def test_values_are_data_where_they_are_quoted(programs):
    nasty = "a'b\"c $(touch pwned) `touch pwned`; touch pwned *"
    parameters = {"framework": "command", "command": "printf '%s|' rate: 1 {{ note | quote }}", "note": nasty}
    found = {"rate": {"regex": r"rate:\|(.)"}}
    programs.sweep(parameters=parameters, user_parameters=["note"], metrics=found, matrix={"seed": [1]})
    log = next(programs.workspace.glob("jobs/*/logs/*/*")).read_text()
    assert nasty in log
    assert not list(programs.workspace.rglob("pwned"))


def test_a_dry_run_shows_the_command_of_each_case(programs):
    shown = programs.sweep("--dry-run").stdout
    assert "./bench 1" in shown
    assert not (programs.workspace / "jobs").exists()


ONCE = ("--set", "measure.repetitions=1", "--set", "measure.retries=0")


@pytest.fixture
def study(command_line):
    """A workspace as `hpcbench init` makes it, with the shipped experiments and what they run."""
    command_line("init", "study", env={"PATH": "/nowhere"})
    command_line.workspace /= "study"
    return command_line


@pytest.mark.torch
def test_the_script_that_pytorch_brings_along_is_measured_as_shipped(study):
    study("sweep", "torch-overhead", "--local", *ONCE)
    (row,) = study.report()
    assert 0 < float(row["metric_overhead_us"]) < 1e6
    assert row["runs"] == "1"


@pytest.mark.torch
def test_a_users_training_script_runs_by_torchrun_as_shipped(study):
    study("sweep", "torchrun-train", "--local", *ONCE)
    rows = study.report()
    assert {row["param_workers"] for row in rows} == {"1", "2"}
    for row in rows:
        assert float(row["metric_rate_samples_per_s"]) > 0
        assert 0 < float(row["metric_loss"]) < 0.1, "it has learned"
    by_workers = {record["user_parameters"]["workers"]: record for record in study.records()}
    assert by_workers[2]["metrics"]["loss"]["count"] == 10, "rank 0 alone speaks"
    assert by_workers[1]["metrics"]["loss"]["value"] != by_workers[2]["metrics"]["loss"]["value"]


@pytest.mark.torch
def test_the_recipe_as_shipped_is_accepted(study):
    study("sweep", "recipe", "--local", "--limit", "1")
    assert "accept: 1 of 1 case accepted\naccepted: accuracy 0.9" in study("report").stdout
    assert study.report()[0]["acceptance"] == "accepted"


@pytest.mark.torch
def test_the_recipe_is_rejected_if_it_does_not_learn(study):
    assert "greater than 0" in study("sweep", "recipe", "--set", "optimizer.learning_rate=0", expect=2).stderr
    planted = ("--set", "optimizer.learning_rate=5e-324", "--set", "max_epochs=2", "--limit", "1")
    study("sweep", "recipe", "--local", *planted, expect=1)
    text = study("report", "--junit", "report.xml", expect=1).stdout
    assert "accept: 0 of 1 case accepted, 1 rejected\n" in text
    assert re.search(r"(?m)^rejected: accuracy 0\.[01]\d* \(n = 1\): required >= 0\.95$", text)
    assert re.search(r'type="rejected">accuracy 0\.[01]', (study.workspace / "report.xml").read_text())
    (row,) = study.report(expect=1)
    assert (row["status"], row["acceptance"]) == ("failed", "rejected")
    assert float(row["accuracy"]) <= float(row["best_accuracy"]) < 0.5
