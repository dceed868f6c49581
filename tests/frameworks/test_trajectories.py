"""Trajectories of trainings in every framework: equal weights and batches, and divergence near rounding."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.analysis.training.divergence import Recorded, divergence
from hpcbench.core.frameworks import FRAMEWORKS, TRAINING_FRAMEWORKS
from hpcbench.core.training.trajectory import Trajectory
from hpcbench.core.typed_json import from_json

STEPS = 8
# The gradient of the bias of attention's keys is 0 but for rounding, which Adam divides by itself: updates are random.
# The loss does not depend on this bias.
ZERO_GRADIENT = "transformer adam"
LARGEST = 1e-5  # relative L2 norm after STEPS steps; a wrong epsilon or learning rate gives more than 1e-3


@pytest.fixture
def recorded(ask: Callable[..., Any], made_once: Callable[..., Path]) -> Callable[[str], dict[str, Any]]:
    """The trajectories and weights of a framework by network and optimizer, recorded once."""

    def recorded(framework: str) -> dict[str, Any]:
        def record(folder: Path) -> None:
            words = ("trajectory_probe", framework, FRAMEWORKS[framework].executions[0], STEPS, folder)
            (folder / "found.json").write_text(json.dumps(ask(*words, framework=framework)))

        folder = made_once(f"trajectories-{framework}", record)
        return {
            key: (Recorded("s", framework, 1, from_json(Trajectory, found)), np.load(folder / name))
            for key, (name, found) in json.loads((folder / "found.json").read_text()).items()
        }

    return recorded


@pytest.mark.parametrize("framework", [name for name in TRAINING_FRAMEWORKS if name != "pytorch"])
def test_trainings_in_two_frameworks_diverge_by_rounding_alone(
    framework: str, recorded: Callable[[str], dict[str, Any]]
) -> None:
    reference, own = recorded("pytorch"), recorded(framework)
    assert len(own) == 6
    for key, (run, weights) in own.items():
        first, expected = reference[key]
        found = divergence(first, run, expected, weights)
        assert (key, found.reason) == (key, "")
        if key == ZERO_GRADIENT:
            assert (key, found.first_above_rounding) == (key, 1)
        else:
            assert (key, found.relative_l2[-1] < LARGEST) == (key, True), found.relative_l2
        assert max(found.losses) < LARGEST, (key, found.losses)


def test_a_sweep_reports_the_divergence_of_two_frameworks(with_environments: Any, tmp_path: Path) -> None:
    command_line = with_environments("pytorch", "jax")
    experiment = command_line.experiment(
        parameters={"model": "mlp", "task": "training", "batch_size": 4, "model_options": {"hidden_size": 8}},
        matrix={"framework": ["pytorch", "jax"]},
        measure={"repetitions": 2, "max_time_s": 0.1, "min_time_s": 0.05, "trajectory": {"steps": 6}},
    )
    command_line("sweep", experiment, "--local", "--site", command_line.site(environments={}))
    command_line("report", "--json", "-o", str(tmp_path / "report.json"), "-o", str(tmp_path / "report.html"))
    rows = json.loads((tmp_path / "report.json").read_text())["divergences"]
    between, *repeated = rows
    assert (between["reason"], between["steps"]) == (None, [0, 1, 2, 4, 6])
    assert 0 < between["relative_l2"][-1] < LARGEST
    assert len(between["loss_differences"]) == 6
    assert [row["relative_l2"][-1] for row in repeated] == [0, 0]
    assert "Divergence of trainings" in (tmp_path / "report.html").read_text()
