"""Every framework does the same work: equal weights give equal outputs and losses.

Every framework solves the small networks of small_networks.json once, in its own environment and by its own layers
(solve.py). Its results are compared with those of PyTorch: two others differ by twice the tolerance at most.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from hpcbench.core.frameworks import FRAMEWORKS, TRAINING_FRAMEWORKS
from hpcbench.models import blocks, catalog

HERE = Path(__file__).parent
NETWORKS = json.loads((HERE / "small_networks.json").read_text())
WHOLE = [name for name, asked in NETWORKS.items() if "parts" not in asked]
TOLERANCE = 5e-4  # of the largest value; the frameworks differ by 2e-4 at most
TIMEOUT_S = 2000  # the slowest takes four minutes alone, and all else runs beside it


class Solver(NamedTuple):
    environment: str
    framework: str
    execution: str

    def __str__(self) -> str:
        name = self.framework if self.environment == self.framework else f"{self.environment}:{self.framework}"
        return f"{name}-{self.execution}"


SOLVERS = [Solver(name, name, how) for name in TRAINING_FRAMEWORKS for how in FRAMEWORKS[name].executions]
# An older TensorFlow, with layers of an older Keras; and those that take minutes each.
OLDER = [Solver("horovod-tensorflow", "tensorflow", how) for how in FRAMEWORKS["tensorflow"].executions]
SLOW = [
    Solver("pytorch", "pytorch", "compiled"),
    Solver("tensorflow", "tensorflow", "compiled"),
    Solver("keras-jax", "keras-jax", "compiled"),
    Solver("keras-tensorflow", "keras-tensorflow", "eager"),
    Solver("keras-tensorflow", "keras-tensorflow", "compiled"),
    Solver("keras-torch", "keras-torch", "compiled"),
]
ALL = [
    pytest.param(solver, marks=[pytest.mark.long] if solver in (*OLDER, *SLOW) else []) for solver in (*SOLVERS, *OLDER)
]
REFERENCE = Solver("pytorch", "pytorch", "eager")
OTHERS = [each for each in ALL if each.values != (REFERENCE,)]
Solution = dict[str, np.ndarray]


@pytest.fixture
def solution(ask: Callable[..., Any], made_once: Callable[..., Path]) -> Callable[[Solver], Solution]:
    """What a solver found, solved once for all workers."""

    def solution(solver: Solver) -> Solution:
        settings = {"framework": solver.framework, "environment": solver.environment}
        if solver == Solver("tensorflow", "tensorflow", "compiled"):  # to optimize takes half of the time
            settings["XLA_FLAGS"] = "--xla_backend_optimization_level=0"
        words = ("solve", solver.framework, solver.execution)
        folder = made_once(
            f"solution-{solver}".replace(":", "-"),
            lambda folder: ask(*words, folder / "found.npz", timeout_s=TIMEOUT_S, **settings),
        )
        with np.load(folder / "found.npz") as arrays:
            return dict(arrays)

    return solution


@pytest.mark.timeout(2 * TIMEOUT_S)
@pytest.mark.parametrize("solver", ALL, ids=str)
def test_a_framework_reports_the_work_of_the_catalog(solver: Solver, solution: Callable[[Solver], Solution]) -> None:
    found = solution(solver)
    for name in WHOLE:
        model, options = NETWORKS[name]["model"], catalog.resolved_options(**given(name))
        count = blocks.parameter_count(*catalog.network(model, options))
        assert found[f"{name}.parameter_count"] == count, name
        assert found[f"{name}.flops_per_item"] == catalog.flops_per_item(model, options, training=False), name


def given(name: str) -> dict[str, object]:
    return {"model": NETWORKS[name]["model"], "given": NETWORKS[name]["options"]}


@pytest.mark.timeout(2 * TIMEOUT_S)
@pytest.mark.parametrize("solver", ALL, ids=str)
def test_a_framework_trains_all_weights_that_it_counts(solver: Solver, solution: Callable[[Solver], Solution]) -> None:
    found = solution(solver)
    for name, asked in NETWORKS.items():
        if asked.get("steps") != 0:
            assert found[f"{name}.trained"] == found[f"{name}.parameter_count"], name
            losses = found[f"{name}.losses"]
            assert len(set(losses.tolist())) == len(losses), f"{name}: {losses} - a step changes the weights"
        output = found[f"{name}.output"]
        assert np.isfinite(output).all(), name
        assert (output.std(0) > 0.01 * abs(output).max()).any(), f"{name}: the items are told apart"


@pytest.mark.timeout(2 * TIMEOUT_S)
@pytest.mark.parametrize("solver", OTHERS, ids=str)
def test_a_framework_does_the_same_work_as_pytorch(solver: Solver, solution: Callable[[Solver], Solution]) -> None:
    one, other = solution(REFERENCE), solution(solver)
    assert set(one) == set(other)
    for name in one:
        if name.endswith((".output", ".losses")):
            assert one[name].shape == other[name].shape, name
            difference = abs(one[name] - other[name]).max() / abs(one[name]).max()
            assert difference < TOLERANCE, f"{name} differs by {difference:.1e}:\n{one[name]}\n{other[name]}"
        else:
            assert one[name] == other[name], name
