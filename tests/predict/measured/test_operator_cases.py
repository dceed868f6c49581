"""What `task: operator` computes, with numbers counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.models.operators.catalog import operator_of
from hpcbench.predict.measured.operator_cases import works_of
from hpcbench.predict.tables import operators as table

CONV = {"n": 2, "c_in": 3, "h": 8, "w": 8, "c_out": 4, "stride_h": 2, "stride_w": 2}


def sizes(work: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(work.get(name) for name in names)


@pytest.mark.parametrize(
    ("phase", "expected"),
    [("forward", (4, 5, 6)), ("backward_inputs", (4, 6, 5)), ("backward_weights", (6, 5, 4))],
)
def test_a_product_and_its_gradients(phase: str, expected: tuple[int, ...]) -> None:
    (found,) = works_of(operator_of("gemm", {"m": 4, "n": 5, "k": 6}), phase, 4)
    assert (found["kind"], found["function"], *sizes(found, "batch", "m", "n", "k")) == ("gemm", "linear", 1, *expected)
    assert found["flops"] == 2 * 4 * 5 * 6
    assert found["bytes"] == 4 * (4 * 6 + 6 * 5 + 4 * 5)


def test_both_gradients_of_a_product_are_two_products() -> None:
    found = works_of(operator_of("gemm", {"m": 4, "n": 5, "k": 6}), "both", 2)
    assert [sizes(each, "m", "n", "k", "share") for each in found] == [(4, 6, 5, 0.5), (6, 5, 4, 0.5)]
    assert {each["phase"] for each in found} == {"backward"}


@pytest.mark.parametrize(
    ("phase", "kind", "expected"),
    [
        ("forward", table.CONV, (2 * 16, 4, 27)),
        ("backward_inputs", table.CONV_INPUT_GRADIENT, (2 * 64, 3, 9)),  # 4 x 9 taps on a quarter of the pixels
        ("backward_weights", table.CONV_WEIGHT_GRADIENT, (4, 27, 2 * 16)),
    ],
)
def test_a_convolution_and_its_gradients(phase: str, kind: str, expected: tuple[int, ...]) -> None:
    (found,) = works_of(operator_of("conv2d", CONV), phase, 4)
    assert (found["kind"], *sizes(found, "m", "n", "k")) == (kind, *expected)
    assert found["flops"] == 2 * 32 * 4 * 27 == 2 * found["m"] * found["n"] * found["k"]
    assert sizes(found, "kernel", "stride") == (3, 2)


@pytest.mark.parametrize(
    ("operator", "given", "kind", "expected"),
    [
        ("linear", {"rows": 4, "inputs": 6, "outputs": 5}, table.GEMM, {"m": 4, "n": 5, "k": 6}),
        ("bmm", {"batch": 3, "m": 4, "n": 5, "k": 6}, table.BATCHED_GEMM, {"batch": 3, "m": 4, "n": 5, "k": 6}),
        ("attention", {"batch": 2, "heads": 3, "time": 4}, table.ATTENTION, {"batch": 2, "rows": 4, "columns": 4}),
        ("lstm", {"inputs": 5, "hidden": 3}, table.RNN, {"m": 16, "n": 12, "k": 8, "rows": 25}),
        ("softmax", {"rows": 4, "columns": 5}, table.SOFTMAX, {"rows": 4, "columns": 5, "flops": 20}),
        ("batch_norm", {"n": 2, "c": 3, "h": 4, "w": 5}, table.BATCH_NORM, {"rows": 3, "columns": 40}),
        ("add", {"size": 7}, table.POINTWISE, {"rows": 1, "columns": 7, "inputs": 2, "flops": 7, "bytes": 84}),
        ("embedding", {"tokens": 9, "width": 8}, table.GATHER, {"rows": 9, "columns": 8}),
        ("pooling", {"kernel": 3}, table.POOLING, {"kernel": 3}),
    ],
)
def test_operators(operator: str, given: dict[str, int], kind: str, expected: dict[str, Any]) -> None:
    (found,) = works_of(operator_of(operator, given), "forward", 4)
    assert (found["kind"], found["share"]) == (kind, 1)
    assert {name: found[name] for name in expected} == expected


def test_a_gradient_has_a_function_of_its_own() -> None:
    (found,) = works_of(operator_of("gelu", {"size": 7}), "backward_inputs", 4)
    assert (found["function"], found["phase"]) == ("gelu_backward", "backward")


@pytest.mark.parametrize("operator", ["lstm_cell", "sparse_gemm", "all_reduce"])
def test_loops_sparse_products_and_collectives_are_not_one_kernel(operator: str) -> None:
    assert works_of(operator_of(operator, {}), "forward", 4) == []
