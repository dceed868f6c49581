"""How many measurements a search may take."""

from __future__ import annotations

from dataclasses import replace

from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.plan.case import Case, case_id
from hpcbench.tuning.budget import most_measurements
from hpcbench.tuning.space import Context


def test_it_is_a_part_of_the_grid_and_what_else_is_asked_for() -> None:
    parameters = Parameters.model_validate({"framework": "pytorch", "model": "mlp"})
    case = Case(case_id(parameters, {}), 0, parameters, {}, SlurmOptions())
    plain = Context((case,) * 1000, 0, ())
    assert most_measurements([plain, plain], 6, 0, exhaustive=False) == 2 * 1500
    assert most_measurements([plain, plain], 6, 0, exhaustive=True) == 2 * 7500
    dynamic = replace(plain, dynamic=case)
    assert most_measurements([dynamic], 6, 0, exhaustive=False) == 1500 + 1 + 24
    assert most_measurements([dynamic], 6, 2, exhaustive=False) == 1500 + 1 + 3 * 24


def test_a_small_grid_takes_what_all_stages_can_take() -> None:
    parameters = Parameters.model_validate({"framework": "pytorch", "model": "mlp"})
    case = Case(case_id(parameters, {}), 0, parameters, {}, SlurmOptions())
    assert most_measurements([Context((case,) * 2, 0, ())], 1, 0, exhaustive=False) == 3 + 6 + 6
    duel = 2 * 8  # of 64 settings and 3 repetitions, as many pairs as are 4.5 % of the grid
    assert most_measurements([Context((case,) * 64, 0, ())], 3, 0, exhaustive=False) == 96 + 6 + duel
