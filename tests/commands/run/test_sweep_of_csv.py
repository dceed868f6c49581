"""A sweep whose cases are rows of a CSV file: planned, stored, repeated and archived with that file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.yaml_document import load_yaml
from hpcbench.store.workspace import Workspace
from hpcbench.submit.rerun import Rerun
from tests.conftest import CommandLine

FILE = "configs/data/shapes.csv"
SHAPES = "set,size,gflop,note\nsmall,1,0.5,a\nsmall,2,1.5,b\nlarge,3,4,c\n"
EXPERIMENT = f"""name: trial
parameters: {{framework: command, command: "echo rate {{{{ size }}}}.5"}}
zip: [{{file: {FILE}, where: "{{{{ gflop < 2 }}}}"}}]
measure: {{repetitions: 1, retries: 0}}
metrics: {{rate: {{regex: "rate (.*)", unit: it/s}}}}
"""
STORE = ("--local", "--render-only", "--name")


def written(command_line: CommandLine) -> CommandLine:
    """The command line in a workspace with the experiment and its file."""
    file = command_line.workspace / FILE
    file.parent.mkdir(parents=True)
    file.write_text(SHAPES)
    (command_line.workspace / "trial.yaml").write_text(EXPERIMENT)
    return command_line


@pytest.fixture
def stored(invoke: CommandLine) -> CommandLine:
    """The command line in a workspace with the sweep `one` of two rows, which has not run."""
    written(invoke)("sweep", "trial.yaml", *STORE, "one")
    return invoke


def sizes(command_line: CommandLine, sweep: str) -> list[Any]:
    files = sorted((command_line.workspace / "jobs" / sweep).glob("job-*.jsonl"))
    runs = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return sorted(run["user_parameters"]["size"] for run in runs)


def copies(command_line: CommandLine, sweep: str) -> list[Path]:
    return list((command_line.workspace / "jobs" / sweep).glob("inputs/*"))


def test_a_sweep_has_a_copy_of_the_file_and_its_columns_as_axes(stored: CommandLine) -> None:
    (copy,) = copies(stored, "one")
    assert copy.name.endswith("-shapes.csv")
    assert copy.read_text() == SHAPES
    description = json.loads((stored.workspace / "jobs" / "one" / "sweep.json").read_text())
    assert description["axes"] == ["size"]
    assert description["experiment"]["zip"] == [{"size": [1, 2]}]
    assert sizes(stored, "one") == [1, 2]
    assert (stored.workspace / "jobs" / "one" / "experiment.yaml").read_text() == EXPERIMENT


@pytest.mark.parametrize("source", ["one", "one.tar.gz"])
@pytest.mark.parametrize("change", ["changed", "removed", "unreadable", None])
def test_a_sweep_is_repeated_with_its_copy(stored: CommandLine, source: str, change: str | None) -> None:
    stored("archive", "one")
    file = stored.workspace / FILE
    if change == "removed":
        file.unlink()
    elif change:
        file.write_bytes(b"set,size,gflop,note\nsmall,9,0.5,a\n" if change == "changed" else b"\xff")
    again = stored("sweep", "--from", source, *STORE, "two")
    assert sizes(stored, "two") == sizes(stored, "one")
    assert [copy.read_text() for copy in copies(stored, "two")] == [SHAPES]
    differs = f"{FILE} of this workspace differs; the copy in the sweep is used" in again.stderr
    assert differs == (change in ("changed", "unreadable"))


def test_a_repeated_sweep_may_have_another_file_of_the_workspace(stored: CommandLine) -> None:
    (stored.workspace / "other.csv").write_text("size\n7\n")
    stored("sweep", "--from", "one", *STORE, "two", "--set", 'zip=[{"file": "other.csv"}]')
    assert sizes(stored, "two") == [7]
    stored("sweep", "--from", "two", *STORE, "three")
    assert sizes(stored, "three") == [7]


def test_a_sweep_of_a_list_of_files_has_copies_of_them(invoke: CommandLine) -> None:
    (written(invoke).workspace / "more.csv").write_text("size\n7\n")
    experiment = EXPERIMENT.replace(f'{{file: {FILE}, where: "{{{{ gflop < 2 }}}}"}}', f"{{file: [{FILE}, more.csv]}}")
    (invoke.workspace / "trial.yaml").write_text(experiment)
    invoke("sweep", "trial.yaml", *STORE, "one")
    assert sizes(invoke, "one") == [1, 2, 3, 7]
    (invoke.workspace / FILE).unlink()
    (invoke.workspace / "more.csv").write_text("size\n8\n")
    again = invoke("sweep", "--from", "one", *STORE, "two")
    assert sizes(invoke, "two") == [1, 2, 3, 7]
    assert len(copies(invoke, "two")) == 2
    assert "more.csv of this workspace differs" in again.stderr


def test_what_reads_the_experiment_of_a_sweep_again_reads_its_copy(stored: CommandLine) -> None:
    (stored.workspace / FILE).unlink()
    document = Rerun.of(Workspace(stored.workspace).paths("one")).document()
    assert document.data["zip"] == [{"size": [1, 2]}]


def test_a_dry_run_has_the_cases_and_a_warning_for_a_column_without_a_use(invoke: CommandLine) -> None:
    done = written(invoke)("sweep", "trial.yaml", "--local", "--dry-run")
    assert "2 cases" in done.stdout
    assert f"{FILE}: columns 'set' and 'note' are ignored" in done.stderr
    assert "3 cases" in invoke("sweep", "trial.yaml", "-n", "--local", "--set", f'zip=[{{"file": "{FILE}"}}]').stdout


def test_a_missing_file_is_an_error_with_its_path(invoke: CommandLine) -> None:
    (written(invoke).workspace / FILE).unlink()
    done = invoke("sweep", "trial.yaml", "--local", "--dry-run", expect=2)
    assert "error: CSV file 'shapes.csv' not found" in done.stderr
    assert "--> trial.yaml:3: zip[0].file" in done.stderr
    assert f"hint: tried {invoke.workspace}/{FILE}" in done.stderr


def test_a_secret_in_a_column_without_a_use_is_not_stored(invoke: CommandLine) -> None:
    (written(invoke).workspace / FILE).write_text(SHAPES.replace("c\n", "hf_nobody_else_may_know_it\n"))
    done = invoke(
        "sweep", "trial.yaml", "--local", "--dry-run", expect=2, env={"HF_TOKEN": "hf_nobody_else_may_know_it"}
    )
    assert "HF_TOKEN" in done.stderr
    assert FILE in done.stderr


def test_experiments_and_metrics_are_listed(invoke: CommandLine) -> None:
    folder = written(invoke).workspace / "configs" / "experiments"
    folder.mkdir()
    (folder / "trial.yaml").write_text(EXPERIMENT)
    assert any(
        line.split()[:3] == ["trial", "workspace", "2"] for line in invoke("list", "experiments").stdout.splitlines()
    )
    assert "of trial" in invoke("list", "metrics", "trial").stdout
    (invoke.workspace / FILE).unlink()
    assert "CSV file 'shapes.csv' not found" in " ".join(invoke("list", "experiments").stdout.split())


def test_a_saved_experiment_names_the_file(invoke: CommandLine) -> None:
    group = f'zip=[{{"file": "{FILE}"}}]'
    written(invoke)("run", "-P", "size=1", "--save", "saved.yaml", "--set", group, "--", "echo", "{size}")
    assert load_yaml(invoke.workspace / "saved.yaml").data["zip"] == [{"file": FILE}]
    wrong = invoke("run", "--save", "b.yaml", "--set", 'zip=[{"file": "none.csv"}]', "--", "true", expect=2)
    assert "CSV file 'none.csv' not found" in wrong.stderr


@pytest.mark.integration
def test_a_sweep_is_resumed_and_parsed_again_without_the_file(command_line: CommandLine) -> None:
    written(command_line)("sweep", "trial.yaml", *STORE, "one")
    (command_line.workspace / FILE).unlink()
    command_line("resume", "one")
    assert command_line.states("one") == {"completed": 2}
    rates = {row["param_size"]: row["metric_rate_it_per_s"] for row in command_line.report("one")}
    assert rates == {"1": "1.5", "2": "2.5"}
    (command_line.workspace / "trial.yaml").write_text(EXPERIMENT.replace("unit: it/s", "unit: MB/s"))
    command_line("reparse", "one")
    assert {row["metric_rate_MB_per_s"] for row in command_line.report("one")} == {"1.5", "2.5"}
