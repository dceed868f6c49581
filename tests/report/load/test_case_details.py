"""What is seen of the best case of a real sweep, beside its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcbench.analysis.cases.observations import Observations
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.report.load.case_details import observe
from hpcbench.report.load.records import records_of, surveyed
from hpcbench.report.load.results import results_of
from hpcbench.store.machine_peaks import keep_peaks
from hpcbench.store.workspace import Workspace

MACHINE = MachinePeaks("a CPU", 4, None, (Peak("cpu", 4, "float32", 1e12, 1e10, "numpy", "n1", "2026-01-01"),))


def observed(folder: Path) -> Observations:
    workspace = Workspace(folder)
    progress = surveyed(workspace.find("latest"))
    return observe(workspace, [progress], results_of(records_of(progress)))


@pytest.fixture
def sweep(command_line: Any) -> Any:
    def run(*commands: str, expect: int = 0) -> None:
        content = {
            "name": "trial",
            "parameters": {"framework": "command"},
            "matrix": {"command": list(commands)},
            "measure": {"repetitions": 2, "idle_node": "ignore"},
        }
        command_line.workspace.joinpath("trial.yaml").write_text(json.dumps(content))
        command_line("sweep", "trial.yaml", "--local", expect=expect)

    return run


def test_the_best_case_is_seen_repetition_by_repetition(command_line: Any, sweep: Any, capsys: Any) -> None:
    sweep("sleep 0.3", "sleep 0.1")
    workspace = Workspace(command_line.workspace)
    keep_peaks(workspace, MACHINE)
    workspace.machines.joinpath("damaged.json").write_text("{")
    found = observed(command_line.workspace)
    assert found.samples["run"].tolist() == [1, 2]
    assert found.samples["at_s"].tolist() == [0.0, 0.0]
    assert found.peaks == [MACHINE]
    assert "damaged.json: the peak performance of a machine cannot be read" in capsys.readouterr().err
    best = {"command=sleep 0.1": (0.1, 0.3), "command=sleep 0.3": (0.3, 9.0)}[found.case]
    assert found.samples["time_s"].between(*best).all()


def test_where_nothing_was_measured_there_is_nothing_to_see(command_line: Any, sweep: Any) -> None:
    sweep("false", "exit 3", expect=1)
    found = observed(command_line.workspace)
    assert found.case == ""
    assert found.samples.empty
    assert found.windows.empty
    assert found.power.empty
    assert found.peaks == []
