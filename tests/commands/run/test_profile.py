"""`hpcbench profile`: what it plans and refuses, and the report of a sweep whose node was made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from hpcbench.commands.shared.print_state import print_next
from hpcbench.core import run_spec
from hpcbench.core.record import Record
from hpcbench.node.results import record_writer
from hpcbench.store.sweep import load
from hpcbench.store.workspace import SweepPaths, Workspace
from tests.conftest import CommandLine
from tests.operator_lines import a_line, an_operator, file_of, write_lines

pytestmark = pytest.mark.integration

MIXED = {"matrix": {"framework": ["pytorch", "jax"], "task": ["inference", "training"]}}
SITE = ("--site", "here-site.yaml", "--local")


@pytest.fixture
def workspace(invoke: CommandLine) -> CommandLine:
    """The command line in a workspace with a site and an experiment for two frameworks."""
    invoke.site(environments={"pytorch": {"python": "/usr/bin/python3"}, "jax": {"python": "/usr/bin/python3"}})
    invoke.experiment(**MIXED)
    return invoke


def planned(command_line: CommandLine, name: str = "p") -> list[run_spec.PlannedRun]:
    lines = (command_line.workspace / "jobs" / name / "job-001.jsonl").read_text().splitlines()
    return [run_spec.parse(line) for line in lines]


def test_a_dry_run_shows_the_estimate_and_which_cases_are_left_out(workspace: CommandLine) -> None:
    done = workspace("profile", "trial.yaml", *SITE, "--dry-run")
    assert "2 cases cannot be profiled and are left out: c" in done.stderr
    assert "(framework=jax, task=inference)" in done.stderr
    assert "framework: jax is not supported, only pytorch" in done.stderr
    assert "Estimated cost: 0.00 node-hours (with power sensor: 0.07), assuming 60 operators per network" in done.stdout
    assert "Limit: 0.07 node-hours (time limits of the jobs)." in done.stdout
    assert not list(workspace.workspace.glob("jobs/*"))
    plan = json.loads(workspace("profile", "trial.yaml", *SITE, "--dry-run", "--json").stdout)
    expected = {"timing_node_hours": pytest.approx(2 * 1.1 / 3600), "power_node_hours": pytest.approx(2 * 124 / 3600)}
    assert plan["profile_estimate"] == expected


def test_the_shipped_experiment_profiles_six_networks_within_its_time_limit(workspace: CommandLine) -> None:
    done = workspace("profile", "profile", "--local", "--dry-run", "--json")
    plan = json.loads(done.stdout)
    cases = {(case["parameters"]["model"], case["parameters"]["task"]) for case in plan["cases"]}
    assert len(cases) == len(plan["cases"]) == 12
    assert len({model for model, _ in cases}) == 6
    assert not [warning for warning in plan["warnings"] if "time limit" in warning or "left out" in warning]
    assert plan["profile_estimate"]["timing_node_hours"] < 12 / 60


def test_a_sweep_without_a_profile_has_no_estimate(workspace: CommandLine) -> None:
    assert "Estimate" not in workspace("sweep", "trial.yaml", *SITE, "--dry-run").stdout
    plan = json.loads(workspace("sweep", "trial.yaml", *SITE, "--dry-run", "--json").stdout)
    assert plan["profile_estimate"] is None


def test_the_runs_have_a_profile_and_one_repetition(workspace: CommandLine) -> None:
    workspace("profile", "trial.yaml", *SITE, "--render-only", "--name", "p")
    measures = [run.measure for run in planned(workspace)]
    assert [measure["profile"] for measure in measures] == [
        {"power": "auto", "clocks": None, "unsupported": "skip"}
    ] * 2
    workspace("sweep", "--from", "p", *SITE, "--render-only", "--name", "again")
    assert [run.measure for run in planned(workspace, "again")] == measures


@pytest.mark.parametrize(
    ("options", "power", "runs"),
    [
        (("--power", "off"), "off", 2),
        (("--power", "12"), 12, 2),
        (("--set", "measure.repetitions=3"), "auto", 6),
        (("--power", "off", "--set", "measure.profile.power=5"), 5, 2),
    ],
)
def test_power_and_repetitions_can_be_chosen(workspace: CommandLine, options: Any, power: Any, runs: int) -> None:
    workspace("profile", "trial.yaml", *SITE, "--render-only", "--name", "p", *options)
    made = planned(workspace)
    assert {run.measure["profile"]["power"] for run in made} == {power}
    assert len(made) == runs


def test_the_settings_of_the_file_are_kept(workspace: CommandLine) -> None:
    workspace.experiment(
        measure={"retries": 2, "profile": {"power": 7, "clocks": 3}}, matrix={"framework": ["pytorch"]}
    )
    workspace("profile", "trial.yaml", *SITE, "--render-only", "--name", "p", "--clocks", "2")
    (measure,) = {json.dumps(run.measure["profile"]) for run in planned(workspace)}
    assert json.loads(measure) == {"power": 7, "clocks": 2, "unsupported": "skip"}


def test_an_empty_profile_of_the_file_is_one_with_defaults(workspace: CommandLine) -> None:
    workspace.experiment(measure={"profile": None}, matrix={"framework": ["pytorch"]})
    workspace("profile", "trial.yaml", *SITE, "--render-only", "--name", "p")
    assert {run.measure["profile"]["power"] for run in planned(workspace)} == {"auto"}


@pytest.mark.parametrize("power", ["0", "-1", "on", "x", "1.5", ""])
def test_another_power_is_a_usage_error(workspace: CommandLine, power: str) -> None:
    done = workspace("profile", "trial.yaml", *SITE, f"--power={power}", expect=2)
    assert f"'{power}' is not auto, off or a number above 0" in done.stderr


@pytest.mark.parametrize(
    ("options", "clocks"),
    [
        ((), None),
        (("--clocks", "5"), 5),
        (("--clocks", "5", "--set", "measure.profile.clocks=2"), 2),
        (("--set", "measure.profile.clocks=2"), 2),
    ],
)
def test_clocks_can_be_chosen(workspace: CommandLine, options: Any, clocks: int | None) -> None:
    workspace("profile", "trial.yaml", *SITE, "--render-only", "--name", "p", *options)
    assert {run.measure["profile"]["clocks"] for run in planned(workspace)} == {clocks}


def test_the_estimate_is_multiplied_by_the_clocks(workspace: CommandLine) -> None:
    options = ("profile", "trial.yaml", *SITE, "--clocks", "4", "--dry-run")
    done = workspace(*options)
    assert "0.00 node-hours (with power sensor: 0.35), assuming 60 operators per network at the default" in done.stdout
    assert "default clock and 4 others." in done.stdout
    plan = json.loads(workspace(*options, "--json").stdout)
    expected_hours = {
        "timing_node_hours": pytest.approx(2 * 5 * 1.1 / 3600),
        "power_node_hours": pytest.approx(2 * 5 * 124 / 3600),
    }
    assert plan["profile_estimate"] == expected_hours
    assert "a run may take 6 s (measurement 1 s, profile 6 s), and 620 s more" in done.stderr


@pytest.mark.parametrize("clocks", ["0", "33", "-1", "x", "1.5"])
def test_another_number_of_clocks_is_a_usage_error(workspace: CommandLine, clocks: str) -> None:
    assert "--clocks" in workspace("profile", "trial.yaml", *SITE, f"--clocks={clocks}", expect=2).stderr


@pytest.mark.parametrize("clocks", [0, 33, "x", True])
def test_an_experiment_with_another_number_of_clocks_is_refused(workspace: CommandLine, clocks: Any) -> None:
    workspace.experiment(measure={"profile": {"clocks": clocks}}, matrix={"framework": ["pytorch"]})
    done = workspace("sweep", "trial.yaml", *SITE, "--dry-run", expect=2)
    assert "measure.profile.clocks" in done.stderr


def test_if_no_case_can_be_profiled_nothing_is_planned(workspace: CommandLine) -> None:
    done = workspace("profile", "trial.yaml", *SITE, "--set", "framework=jax", "--dry-run", expect=2)
    assert "error: 'trial' has no case that can be profiled: case c" in done.stderr
    assert "hint: use framework: pytorch\n" in done.stderr


def test_an_experiment_with_a_profile_refuses_other_cases(workspace: CommandLine) -> None:
    workspace.experiment(measure={"profile": {}}, **MIXED)
    done = workspace("sweep", "trial.yaml", *SITE, "--dry-run", expect=2)
    assert "(framework=jax, task=inference) cannot be profiled" in done.stderr
    assert "trial.yaml:1: measure.profile" in done.stderr


def test_a_missing_experiment_is_a_usage_error_of_this_command(workspace: CommandLine) -> None:
    done = workspace("profile", expect=2)
    assert "give either EXPERIMENT or --from SWEEP" in done.stderr
    assert "usage: hpcbench profile" in done.stderr


def test_each_option_has_its_own_variable(workspace: CommandLine) -> None:
    done = workspace(
        "profile", "trial.yaml", *SITE, env={"HPCBENCH_PROFILE_DRY_RUN": "1", "HPCBENCH_PROFILE_POWER": "3"}
    )
    assert "Estimated cost: " in done.stdout
    assert not list(workspace.workspace.glob("jobs/*"))


@pytest.fixture
def finished(workspace: CommandLine, make_record: Callable[..., Record]) -> SweepPaths:
    """A sweep `p` with two finished runs and their profiles, as a node without power sensors would leave them."""
    workspace("profile", "trial.yaml", *SITE, "--render-only", "--name", "p")
    paths = Workspace(workspace.workspace).paths("p")
    for element, run in enumerate(planned(workspace)):
        made = make_record(sweep="p", job="job-001", batch="job-001", element=element)
        own = {name: getattr(run, name) for name in ("case_id", "case_index", "parameters", "measure", "run")}
        record = replace(made, experiment="trial", **own)
        record_writer.append(record, str(paths.local_records("job-001")))
        rows = [
            an_operator("network", operator="network", hot_s=0.2),
            an_operator(hot_s=0.01, stream_s=0.015, calls_per_step=10, flops=10**9, bytes_moved=10**7),
            an_operator("view", reason="view"),
        ]
        write_lines(file_of(paths, record), [a_line(record, row) for row in rows])
    return paths


def test_the_report_shows_operators(workspace: CommandLine, finished: SweepPaths) -> None:
    text = " ".join(workspace("report", "p").stdout.split())
    assert "75.0 % of a step of 200 ms" in text
    assert "Sum of all operators over the time of the whole step: stream 0.750, hot 0.500" in text
    assert "Energy by operator: not measured (the node was not monitored)." in text
    profiles = json.loads(workspace("report", "p", "--json").stdout)["operators"]
    assert [profile["framework_overhead"] for profile in profiles] == [pytest.approx(0.25)] * 2


def test_the_report_shows_the_step_by_clock_state(workspace: CommandLine, finished: SweepPaths) -> None:
    path = finished.operators / "job-001" / "local.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    steps = [line for line in lines if line["row"]["kind"] == "network"]
    state = {"requested_clock_mhz": 1080, "clock_method": "frequency limits", "hot_s": 0.5}
    write_lines(path, [{**line, "row": {**line["row"], **state}} for line in steps])
    text = workspace("report", "p").stdout
    assert text.count("clock states of ") == text.count("1080 MHz  frequency limits") == 2
    assert "Fastest: inconclusive, since the intervals of default, 1080 MHz overlap." in text, "there are no CIs"
    assert text.count("operators of ") == 2, "of the default state"
    found = json.loads(workspace("report", "p", "--json").stdout)["clock_states"]
    assert [[each["step_time_s"] for each in case["states"]] for case in found] == [[0.2, 0.5]] * 2


def test_the_table_of_operators_is_written_as_parquet_and_csv(workspace: CommandLine, finished: SweepPaths) -> None:
    done = workspace("report", "p", "--operators", "o.parquet")
    assert "wrote 6 rows to o.parquet" in done.stderr
    frame = pd.read_parquet(workspace.workspace / "o.parquet")
    assert frame["kind"].to_list() == ["network", "gemm", "view"] * 2
    assert set(frame["sweep"]) == {"p"}
    workspace("archive", "p", "--output", "p.tar.gz")
    workspace("report", "p.tar.gz", "--operators", "o.csv")
    assert len(pd.read_csv(workspace.workspace / "o.csv")) == 6


def test_a_damaged_line_is_a_warning(workspace: CommandLine, finished: SweepPaths) -> None:
    write_lines(finished.operators / "job-001" / "local.jsonl", ["{"])
    done = workspace("report", "p")
    assert "1 line of operator profiles cannot be read and is left out, the first: " in done.stderr
    assert "local.jsonl:7 (" in done.stderr


@pytest.mark.parametrize(
    ("file", "error"),
    [("o.txt", "'o.txt' does not end in .csv or .parquet"), ("", "the name is empty")],
)
def test_another_file_is_refused(workspace: CommandLine, finished: SweepPaths, file: str, error: str) -> None:
    assert error in workspace("report", "p", "--operators", file, expect=2).stderr


def test_a_sweep_without_profiles_has_no_table(workspace: CommandLine, finished: SweepPaths) -> None:
    (finished.operators / "job-001" / "local.jsonl").unlink()
    done = workspace("report", "p", "--operators", "o.csv", expect=2)
    assert "--operators: no case has a profile\nhint: make one: hpcbench profile EXPERIMENT" in done.stderr


def test_at_the_end_of_a_sweep_the_table_is_in_its_results(
    workspace: CommandLine, finished: SweepPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = load(finished)
    print_next(sweep, 0)
    told = capsys.readouterr().err
    assert f"wrote 6 operator rows to {finished.operator_table}" in told
    assert told.endswith("next: hpcbench report p\n")
    assert len(pd.read_parquet(finished.operator_table)) == 6
    (finished.operators / "job-001" / "local.jsonl").unlink()
    print_next(sweep, 1)
    assert "no run has a profile of its operators" in capsys.readouterr().err
