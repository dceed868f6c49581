"""Factors that differ between compared cases: flagged unless something that sets them is an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.cases.confounders import FACTORS, PLACE, WORK, confounded_with, uncontrolled, unknown

Rep = Callable[..., dict[str, Any]]
OLD_AND_NEW = ["2.12.0", "2.13.0"]


@pytest.fixture
def compared(repetition: Rep) -> Callable[..., pd.DataFrame]:
    """Two cases of equal work with two runs each; a list gives a value to each of the four, case by case."""

    def make(**changes: list[Any]) -> pd.DataFrame:
        rows = [repetition(number // 2, number % 2) for number in range(4)]
        return pd.DataFrame(rows).assign(**{WORK: 0, **changes})

    return make


Compared = Callable[..., pd.DataFrame]


def test_equal_conditions_are_no_factor(compared: Compared) -> None:
    assert uncontrolled(compared()) == {}
    assert uncontrolled(compared().iloc[:0]) == {}


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("values", [list("aabb"), list("abab"), ["a", "a", "b", None]])
def test_a_factor_that_differs_between_cases_or_within_them_is_told(
    compared: Compared, factor: str, values: list[str | None]
) -> None:
    assert uncontrolled(compared(**{factor: values})) == {factor: ["a", "b"]}


@pytest.mark.parametrize("factor", FACTORS)
def test_a_factor_that_follows_an_axis_that_sets_it_is_as_it_was_asked_for(compared: Compared, factor: str) -> None:
    for setter in FACTORS[factor]:
        assert uncontrolled(compared(**{factor: list("aabb"), setter: [1, 1, 2, 2]})) in (
            {},
            {"framework_version": ["1", "2"]},  # where that is the axis, it is told itself
        )


@pytest.mark.parametrize("factor", FACTORS)
def test_a_user_parameter_explains_software_and_a_machine_only_by_slurms_options(
    compared: Compared, factor: str
) -> None:
    """The default placement is one partition of equal jobs: which value ran on which machine was chance."""
    of_machine = FACTORS[factor] is FACTORS["cpu_model"]
    frame = compared(**{factor: list("aabb"), "param_network": [1, 1, 2, 2]})
    assert uncontrolled(frame) == ({factor: ["a", "b"]} if of_machine else {})
    assert uncontrolled(frame.assign(placement=["partition=x"] * 2 + ["partition=y"] * 2)) == {}


@pytest.mark.parametrize(
    ("axis", "values", "follows"),
    [
        ("batch_size", [64, 64, 32, 32], True),
        ("param_network", ["wide", "wide", "deep", "deep"], True),
        ("param_network", ["wide", None, "deep", "deep"], False),  # one value ran once, by chance
        ("batch_size", [64, 32, 64, 32], False),
        ("batch_size", [64, 64, 64, 64], False),
        ("batch_size", [1, 2, 3, 4], False),
    ],
)
def test_an_axis_that_determines_the_machine_is_confounded_with_it(
    compared: Compared, axis: str, values: list[Any], follows: bool
) -> None:
    frame = compared(cpu_model=list("aabb"), **{axis: values})
    assert confounded_with(frame, "cpu_model", [axis]) == ([axis] if follows else [])


def test_a_factor_that_differs_beside_an_axis_is_told_for_the_part_that_differs(compared: Compared) -> None:
    frame = compared(framework=["pytorch", "pytorch", "jax", "jax"], framework_version=[*OLD_AND_NEW, "0.10", "0.10"])
    assert uncontrolled(frame) == {"framework_version": OLD_AND_NEW}


def test_an_axis_of_the_workload_explains_no_machine(compared: Compared) -> None:
    assert uncontrolled(compared(cpu_model=list("aabb"), batch_size=[1, 1, 2, 2])) == {"cpu_model": ["a", "b"]}


def test_software_is_told_once_where_the_version_of_the_framework_says_it(compared: Compared) -> None:
    versions = [OLD_AND_NEW[0]] * 2 + [OLD_AND_NEW[1]] * 2
    assert list(uncontrolled(compared(framework_version=versions, software=versions))) == ["framework_version"]


def test_cases_of_other_work_are_not_compared_and_may_differ_in_anything(compared: Compared) -> None:
    assert uncontrolled(compared(cpu_model=list("aabb"), **{WORK: [0, 0, 1, 1]})) == {}


@pytest.mark.parametrize(
    ("places", "confounded"),
    [
        (["n1", "n1", "n2", "n2"], ["n1", "n2"]),  # which of the two is faster, the case or the node?
        (["n1", "n2", "n2", "n1"], None),
        (["n1", "n2", "n3", "n3"], None),
        (["n1", "n1", "n1", "n1"], None),
    ],
)
def test_a_place_is_told_where_it_cannot_be_told_from_the_case(
    compared: Compared, places: list[str], confounded: list[str] | None
) -> None:
    assert uncontrolled(compared(nodes_used=places)).get(PLACE) == confounded


def test_jobs_of_more_nodes_are_in_more_places(compared: Compared) -> None:
    assert uncontrolled(compared(nodes_used=["n1", "n1", "n1,n2", "n1,n2"], nodes=[1, 1, 2, 2])) == {}


def test_a_factor_that_one_repetition_does_not_tell_is_not_known(compared: Compared) -> None:
    assert unknown(compared()) == []
    assert unknown(compared(cpu_turbo=["on", None, "on", "on"], kernel=[None] * 4)) == ["cpu_turbo", "kernel"]
    assert unknown(compared(effective_intra_op_threads=[1, 1, None, 1])) == ["effective_intra_op_threads"]
    assert unknown(compared(device=["cpu", "cpu", "gpu", "gpu"])) == ["gpu_model"]


def test_a_command_has_neither_a_version_of_its_framework_nor_threads_to_be_known(compared: Compared) -> None:
    nothing = {"framework_version": [None] * 4, "effective_intra_op_threads": [None] * 4, "device": ["gpu"] * 4}
    assert unknown(compared(framework=["command"] * 4, **nothing)) == []
