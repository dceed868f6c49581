"""Variables such as OMP_NUM_THREADS in a start-up file, which neither an experiment nor a site file sets."""

from __future__ import annotations

import pytest

OF_A_START_UP_FILE = {"OMP_NUM_THREADS": "1", "CUDA_HOME": "/usr/local/cuda"}
NAMED = "OMP_NUM_THREADS=1 (thread count)"
COMMAND = "{name: trial, parameters: {framework: command, command: sleep 0.05}, measure: {repetitions: 1}}"


@pytest.fixture
def sweep(command_line):
    (command_line.workspace / "trial.yaml").write_text(COMMAND)

    def start(name, env=None, **sections):
        return command_line("sweep", "trial.yaml", "--name", name, "--site", command_line.site(**sections), env=env)

    return start


def test_a_variable_of_the_shell_is_in_the_sweep_the_report_and_the_comparison(command_line, sweep):
    assert "warning" not in sweep("base").stderr
    assert (
        f"jobs inherit variables of this shell that change measurements: {NAMED}"
        in sweep("new", OF_A_START_UP_FILE).stderr
    )
    outside = {record["sweep"]: record["outside"] for record in command_line.records()}
    assert outside == {"base": {}, "new": {"OMP_NUM_THREADS": "1"}}
    assert f"set outside the experiment and the site file: {NAMED}" in command_line("report", "new").stdout
    compared = command_line("compare", "base", "new", expect=None).stdout
    assert "OMP_NUM_THREADS is not set in BASE and 1 in NEW" in compared
    assert "outside_variables (none, OMP_NUM_THREADS=1)" in command_line("report", "base", "new", "--rules").stdout
    again = command_line("resume", "new", env=OF_A_START_UP_FILE).stderr
    assert "warning" not in again, "nothing is left to run"


def test_a_variable_of_the_site_file_is_no_warning_but_a_difference(command_line, sweep):
    sweep("base")
    of_site = {"command": {"env": {"OMP_NUM_THREADS": "1"}, "setup": ["export OMP_PLACES=cores"]}}
    assert "warning" not in sweep("new", OF_A_START_UP_FILE, environments=of_site).stderr
    assert [record["outside"] for record in command_line.records()] == [{}, {}]
    compared = command_line("compare", "base", "new", expect=None).stdout
    assert "OMP_NUM_THREADS is not set in BASE and 1 in NEW" in compared
    assert "OMP_PLACES is not set in BASE and cores in NEW" in compared


@pytest.mark.torch
def test_the_threads_that_a_framework_takes_from_the_shell_are_a_difference(command_line):
    content = {"parameters": {"task": "inference", "cpus_per_task": 2}, "matrix": {"threads": ["none"]}}
    for name, env in (("base", None), ("new", OF_A_START_UP_FILE)):
        command_line("sweep", command_line.experiment(**content), "--local", "--name", name, env=env)
    compared = command_line("compare", "base", "new", expect=None).stdout
    assert "effective_intra_op_threads is 2 in BASE and 1 in NEW" in compared
    assert "OMP_NUM_THREADS is not set in BASE and 1 in NEW" in compared
