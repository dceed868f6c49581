"""The divergence of two trajectories: norms, rounding, and which cases are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcbench.analysis.training.divergence import MOST_PAIRS, UNIT, Divergence, Recorded, divergence, pairs_of
from hpcbench.core.training.trajectory import Trajectory, recorded_steps
from tests.report.synthetic_results import case, results

WEIGHTS = [[3.0, 4.0], [3.0, 4.0], [6.0, 8.0]]


def run(case: str = "case-0", number: int = 1, **changes: Any) -> Recorded:
    own = {"losses": [1.0, 0.5], "steps": [0, 1, 2], "weights": 2, "stored": 2, "order": "layers", **changes}
    return Recorded("sweep", case, number, Trajectory(**own))


def compared(one: Any, other: Any, **changes: Any) -> Divergence:
    return divergence(run(), run("case-1", **changes), *(np.array(each, np.float32) for each in (one, other)))


def test_norms_are_of_the_difference_of_all_weights() -> None:
    found = compared(WEIGHTS, [WEIGHTS[0], [3.0, 4.5], [6.0, 5.0]], losses=[1.0, 0.75])
    assert found.relative_l2 == [0, 0.1, 0.3]
    assert found.largest == [0, 0.5, 3]
    assert found.losses == [0, 0.25]
    assert found.first_above_rounding == 1


def test_rounding_explains_two_ulps_of_each_step() -> None:
    below, above = ([WEIGHTS[0], WEIGHTS[1], [6.0, 8 + 10 * 2 * 2 * UNIT * part]] for part in (0.8, 1.3))
    assert compared(WEIGHTS, below).first_above_rounding is None
    assert compared(WEIGHTS, above).first_above_rounding == 2


def test_weights_that_are_not_finite_are_above_rounding() -> None:
    found = compared(WEIGHTS, [WEIGHTS[0], WEIGHTS[1], [np.nan, 8.0]], losses=[1.0, None])
    assert np.isnan(found.relative_l2[-1])
    assert found.first_above_rounding == 2
    assert found.losses == [0, None]


@pytest.mark.parametrize(
    ("other", "changes", "reason"),
    [
        ([[3.0, 4.5], *WEIGHTS[1:]], {}, "their initial weights differ"),
        (WEIGHTS, {"order": "jax"}, "their weights have different orders"),
        (np.zeros((3, 3)), {}, "they have different numbers of weights"),
        (WEIGHTS, {"weights": 5}, "they have different numbers of weights"),
    ],
)
def test_other_trainings_are_not_compared(other: Any, changes: Any, reason: str) -> None:
    found = compared(WEIGHTS, other, **changes)
    assert (found.reason, found.steps) == (reason, ())


def test_only_steps_that_both_have_are_compared() -> None:
    found = compared(WEIGHTS, WEIGHTS[:2], steps=[0, 2])
    assert found.steps == [0, 2]
    assert found.relative_l2 == [0, 0.5]


def test_cases_are_compared_if_they_differ_in_framework_execution_threads_or_nodes_alone() -> None:
    found = results(
        case(0.1, framework="pytorch"),
        case(0.2, framework="jax"),
        case(0.3, framework="pytorch", intra_op_threads=2),
        case(0.4, framework="pytorch", batch_size=64),
    )
    names = ["framework", "batch_size", "intra_op_threads", "model"]
    recorded = {("sweep", key): [run(key)] for key in found.cases["case"]}
    recorded["sweep", "case-1"].append(run("case-1", 2))
    known = found.cases.assign(sweep="sweep")
    pairs = {(one.case, other.case, other.run) for one, other in pairs_of(known, recorded, names).compared}
    assert pairs == {
        *(("case-0", "case-1", 1), ("case-0", "case-2", 1), ("case-1", "case-2", 1)),
        ("case-1", "case-1", 2),
    }
    assert pairs_of(known, {}, names) == ([], 0)


def test_if_there_are_too_many_pairs_two_runs_of_cases_are_kept() -> None:
    found = results(*(case(0.1, intra_op_threads=threads) for threads in range(1, 31)))
    recorded = {("sweep", key): [run(key), run(key, 2)] for key in found.cases["case"]}
    names = ["framework", "intra_op_threads", "model"]
    pairs = pairs_of(found.cases.assign(sweep="sweep"), recorded, names)
    assert pairs.total == 30 * 29 // 2 + 30
    assert len(pairs.compared) == MOST_PAIRS
    assert sum(one.case == other.case for one, other in pairs.compared) == 30


def test_weights_are_recorded_after_powers_of_two_and_the_last_step() -> None:
    assert recorded_steps(1) == [0, 1]
    assert recorded_steps(4) == [0, 1, 2, 4]
    assert recorded_steps(10) == [0, 1, 2, 4, 8, 10]
