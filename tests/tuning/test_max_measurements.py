"""How many measurements a search may take."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from benchmarks.simulated_settings import run_search
from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.plan.case import Case, case_id
from hpcbench.tuning.ask_tell import Block, Outcome, Trials
from hpcbench.tuning.search import search
from hpcbench.tuning.search_space import Context
from hpcbench.tuning.surrogate import Space, Surrogate
from hpcbench.tuning.tuner import max_measurements


def test_it_is_a_part_of_the_grid_and_what_else_is_asked_for() -> None:
    parameters = Parameters.model_validate({"framework": "pytorch", "model": "mlp"})
    case = Case(case_id(parameters, {}), 0, parameters, {}, SlurmOptions())
    plain = Context((case,) * 1000, 0, ())
    assert max_measurements([plain, plain], 6, 0, exhaustive=False) == 2 * 1500
    assert max_measurements([plain, plain], 6, 0, exhaustive=True) == 2 * 7500
    dynamic = replace(plain, dynamic=case)
    assert max_measurements([dynamic], 6, 0, exhaustive=False) == 1500 + 1 + 24
    assert max_measurements([dynamic], 6, 2, exhaustive=False) == 1500 + 1 + 3 * 24


def context_of(*sizes: int) -> Context:
    """Of a command, whose tags are all that differs."""
    parameters = Parameters.model_validate({"framework": "command", "command": "true"})
    names = "abcdef"[: len(sizes)]
    points = [dict(zip(names, place, strict=True)) for place in itertools.product(*map(range, sizes))]
    cases = [Case(case_id(parameters, tags), 0, parameters, tags, SlurmOptions()) for tags in points]
    return Context(tuple(cases), 0, tuple(names))


@pytest.mark.parametrize(
    ("sizes", "repetitions"), [((12, 12), 1), ((20, 20), 1), ((8, 4, 4, 3, 2), 1), ((4, 4, 4, 4), 3)]
)
def test_a_search_with_a_surrogate_takes_no_more_than_it_says(sizes: tuple[int, ...], repetitions: int) -> None:
    context, seen = context_of(*sizes), 0

    def measure(block: Block) -> list[Outcome]:
        nonlocal seen
        seen += len(block.configurations)
        return [Outcome(each, 1 + generator.random()) for each in block.configurations]  # hardest to part

    generator = random.Random(0)
    sampler = Surrogate(Space.of(context.points), 0)
    steps = search(Trials(0), range(len(context.cases)), 0, repetitions, sampler)
    run_search(steps, measure)
    assert seen <= max_measurements([context], repetitions, 0, exhaustive=False)


def test_a_small_grid_takes_what_all_stages_can_take() -> None:
    parameters = Parameters.model_validate({"framework": "pytorch", "model": "mlp"})
    case = Case(case_id(parameters, {}), 0, parameters, {}, SlurmOptions())
    assert max_measurements([Context((case,) * 2, 0, ())], 1, 0, exhaustive=False) == 3 + 6 + 6
    compare = 2 * 8  # of 64 settings and 3 repetitions, as many pairs as are 4.5 % of the grid
    assert max_measurements([Context((case,) * 64, 0, ())], 3, 0, exhaustive=False) == 96 + 6 + compare
