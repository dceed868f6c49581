"""Outliers among rates, with the numbers of Iglewicz and Hoaglin's rule."""

from __future__ import annotations

import pytest

from hpcbench.core.node_speed import MEMORY, NodeSpeed, Rate, node_speed
from hpcbench.doctor.slow_nodes import compare_nodes, in_words

PRODUCTS = "float32 products"


def speeds(*values: float, kernel: str = PRODUCTS, model: str = "EPYC", by: str = "numpy 2") -> list[NodeSpeed]:
    return [
        NodeSpeed(f"n{number}", (Rate(model, 4, None, kernel, value, by),), (), ())
        for number, value in enumerate(values, start=1)
    ]


@pytest.mark.parametrize(
    ("values", "slow"),
    [
        ((100.0, 100.0, 60.0), ["n3"]),
        ((100.0, 97.0, 60.0), ["n3"]),
        ((100.0, 101.0, 99.0, 100.0, 94.0, 102.0), ["n5"]),
        ((100.0, 100.0, 100.0, 96.0), []),  # 4 % matters little
        ((100.0, 90.0, 80.0, 70.0, 60.0), []),  # no rate is unusual
        ((100.0, 60.0), []),  # which of two is unusual is unknown
        ((100.0, 100.0, 150.0), []),  # a fast node is no problem
        ((50.0, 100.0, 51.0, 100.0, 101.0, 99.0, 100.0), ["n1", "n3"]),
    ],
)
def test_rates_far_below_the_others_are_outliers(values: tuple[float, ...], slow: list[str]) -> None:
    (compared,) = compare_nodes(speeds(*values))
    assert [each.host for each in compared.slow] == slow


def test_only_equal_hardware_and_libraries_are_compared() -> None:
    others = [*speeds(10, 10, model="Xeon"), *speeds(10, by="torch 2"), *speeds(10, kernel=MEMORY)]
    compared = compare_nodes([*speeds(100, 100, 100), *others])
    assert [len(each.rates) for each in compared] == [3, 2, 1, 1]
    assert [each.slow for each in compared] == [()] * 4


def test_each_gpu_of_a_node_is_compared() -> None:
    values = (7e14, 7e14, 5e14, 7e14)
    rates = [Rate("H100", None, gpu, "bfloat16 products", value, "torch 2") for gpu, value in enumerate(values)]
    (compared,) = compare_nodes([NodeSpeed("g1", tuple(rates), (), ())])
    (slow,) = compared.slow
    assert slow.where == "g1 GPU 2"
    assert compared.below_median(slow) == pytest.approx(2 / 7)


def test_rates_in_words() -> None:
    assert in_words("float32 products", 2.1e11) == "210 GFLOP/s"
    assert in_words("bfloat16 products", 7.04e14) == "704 TFLOP/s"
    assert in_words(MEMORY, 3.2e12) == "3.2 TB/s"


def test_a_speed_is_read_as_it_was_written() -> None:
    (speed,) = speeds(100.0)
    assert node_speed(speed.as_data()) == speed


@pytest.mark.parametrize("value", [float("nan"), 0.0, -1.0, "1", None, float("inf")])
def test_a_rate_that_is_not_a_positive_number_is_refused(value: object) -> None:
    (speed,) = speeds(100.0)
    data = speed.as_data()
    data["rates"][0]["value"] = value
    with pytest.raises((TypeError, ValueError)):
        node_speed(data)
