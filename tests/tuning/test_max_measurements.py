"""How many measurements a search may take."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace

import pytest

from benchmarks.simulated_settings import run_search
from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.plan.case import Case, case_id
from hpcbench.tuning.ask_tell import Block, Outcome, Trials
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.search import search
from hpcbench.tuning.search_space import Context
from hpcbench.tuning.surrogate import BATCH, Space, Surrogate
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
    """Of a command, whose user_parameters are all that differs."""
    parameters = Parameters.model_validate({"framework": "command", "command": "true"})
    names = "abcdef"[: len(sizes)]
    points = [dict(zip(names, place, strict=True)) for place in itertools.product(*map(range, sizes))]
    cases = [
        Case(case_id(parameters, user_parameters), 0, parameters, user_parameters, SlurmOptions())
        for user_parameters in points
    ]
    return Context(tuple(cases), 0, tuple(names))


@dataclass(frozen=True)
class Capricious(Surrogate):
    """Proposes settings at random, at most `most_at_once`."""

    most_at_once: int = BATCH

    def _proposed(self, _: Effects, looked: set[int]) -> list[int]:
        rest = sorted(set(range(len(self.space.points))) - looked)
        return random.Random(len(looked)).sample(rest, min(self.most_at_once, len(rest)))


def taken_and_said(context: Context, repetitions: int, sampler: Surrogate) -> tuple[int, int]:
    """How many measurements a search takes of costs that are hardest to part, and the most that is said."""
    seen, generator = 0, random.Random(0)

    def measure(block: Block) -> list[Outcome]:
        nonlocal seen
        seen += len(block.configurations)
        return [Outcome(each, 1 + generator.random()) for each in block.configurations]

    run_search(search(Trials(0), range(len(context.cases)), 0, repetitions, sampler), measure)
    return seen, max_measurements([context], repetitions, 0, exhaustive=False)


@pytest.mark.parametrize(
    ("sizes", "repetitions"),
    [
        pytest.param((12, 12), 1, marks=pytest.mark.soak),
        pytest.param((20, 20), 1, marks=pytest.mark.soak),
        pytest.param((8, 4, 4, 3, 2), 1, marks=pytest.mark.soak),
        ((4, 4, 4, 4), 3),
    ],
)
def test_a_search_with_a_surrogate_takes_no_more_than_it_says(sizes: tuple[int, ...], repetitions: int) -> None:
    context = context_of(*sizes)
    taken, said = taken_and_said(context, repetitions, Surrogate(Space.of(context.points), 0))
    assert taken <= said


@pytest.mark.parametrize("most_at_once", [0, 1, BATCH])
@pytest.mark.parametrize(
    ("sizes", "repetitions"), [((12, 12), 1), ((20, 20), 1), ((8, 4, 4, 3, 2), 1), ((4, 4, 4, 4), 3)]
)
def test_it_takes_no_more_whatever_the_surrogate_proposes(
    sizes: tuple[int, ...], repetitions: int, most_at_once: int
) -> None:
    context = context_of(*sizes)
    taken, said = taken_and_said(context, repetitions, Capricious(Space.of(context.points), 0, most_at_once))
    assert taken <= said


def test_a_small_grid_takes_what_all_stages_can_take() -> None:
    parameters = Parameters.model_validate({"framework": "pytorch", "model": "mlp"})
    case = Case(case_id(parameters, {}), 0, parameters, {}, SlurmOptions())
    assert max_measurements([Context((case,) * 2, 0, ())], 1, 0, exhaustive=False) == 3 + 6 + 6
    compare = 2 * 8  # of 64 settings and 3 repetitions, as many pairs as are 4.5 % of the grid
    assert max_measurements([Context((case,) * 64, 0, ())], 3, 0, exhaustive=False) == 96 + 6 + compare
