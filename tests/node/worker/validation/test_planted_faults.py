"""Faults as real kernels have had them, planted in operators that NumPy computes in float32 in place of a framework:
the validation finds each, and passes the same operators without the fault."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from hpcbench.core.typed_json import from_json, to_json
from hpcbench.core.validation.result import FAILED, PASSED, Validation
from hpcbench.models.operators.operator import BOTH, FORWARD, OF_INPUTS, OF_WEIGHTS
from hpcbench.models.operators.values import rounded
from tests.node.worker.validation.numpy_call import NumPyOperator, validated, variant

Arrays = dict[str, Any]
OUTPUT_WRONG = r"the error of the output is [\d.e+]+ times the bound of rounding errors, at index \[[\d, ]+\]"
SQUARE = {"m": 8, "n": 8, "k": 8}
CONV = {"n": 2, "c_in": 3, "h": 9, "w": 11, "c_out": 5, "stride_h": 2}
LINEAR = {"rows": 4, "inputs": 9, "outputs": 6}
NORM = {"rows": 4, "features": 9}
BATCH_NORM = {"n": 2, "c": 3, "h": 4, "w": 5}
ATTENTION = {"batch": 2, "heads": 3, "time": 7, "head_size": 4, "causal": True}
CELL = {"hidden": 6, "batch": 3, "timesteps": 4}
POOLING = {"n": 2, "c": 3, "h": 9, "w": 8, "kernel": 3, "stride": 2, "pad": 1}
EMBEDDING = {"vocabulary": 11, "width": 5, "tokens": 20}


class Fault(NamedTuple):
    """The case, the operator with the fault, and what the validation says."""

    operator: str
    sizes: dict[str, Any]
    faulty: type[NumPyOperator]
    message: str = OUTPUT_WRONG
    phase: str = FORWARD


def with_options(**options: Any) -> type[NumPyOperator]:
    return variant(options=options)


def reading(change: Callable[[str, Any], Any]) -> type[NumPyOperator]:
    """The operator reads changed arrays."""
    return variant(before=lambda self, arrays: {name: change(name, array) for name, array in arrays.items()})


def returning(change: Callable[[Any], Any]) -> type[NumPyOperator]:
    """The operator returns changed results."""
    return variant(after=lambda self, results: {name: change(array) for name, array in results.items()})


def with_element(value: Callable[[Any], Any]) -> type[NumPyOperator]:
    """The operator returns another value of one element."""

    def change(array: Any) -> Any:
        changed = np.array(array)
        changed.flat[changed.size // 3] = value(changed.flat[changed.size // 3])
        return changed

    return returning(change)


def swapped(name: str, array: Any) -> Any:
    changed = np.array(array)
    if name == "b":
        changed[0, 0], changed[3, 5] = array[3, 5], array[0, 0]
    return changed


def tf32(name: str, array: Any) -> Any:
    """Float32 numbers with 10 bits after the point, rounded to nearest."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def in_bfloat16(name: str, array: Any) -> Any:
    return rounded(np.float32(array), "bfloat16")


def without_tail(array: Any) -> Any:
    return np.where(np.arange(array.size).reshape(array.shape) < array.size - 4, array, 0)


def root_in_bfloat16(variance: Any) -> Any:
    return rounded(np.sqrt(np.float32(variance)), "bfloat16")


class Float16Sums(NumPyOperator):
    """A product of matrices whose sums are kept in float16."""

    def call(self) -> Any:
        a, b = (self.request.arrays[name].astype(np.float16) for name in ("a", "b"))
        total = np.zeros((a.shape[0], b.shape[1]), np.float16)
        for term in range(a.shape[1]):
            total += a[:, term : term + 1] * b[term]
        return [total.astype(np.float32)]


class Stale(NumPyOperator):
    """An operator whose forward pass returns the result of the first arrays that it was called with."""

    kept: ClassVar[list[Arrays]] = []

    def after(self, results: Arrays) -> Arrays:
        if self.request.phase != FORWARD:
            self.kept.clear()
            return results
        self.kept.append(results)
        return self.kept[0]


class Shifted(NumPyOperator):
    """An operator whose output is shifted by a constant in backward passes, which gradients do not show."""

    def forward_result(self) -> Any:
        return super().forward_result() + np.float32(0.5)


FAULTS = {
    "two weights are swapped": Fault("gemm", SQUARE, reading(swapped)),
    "a tap of a kernel is dropped": Fault("conv2d", CONV, with_options(dropped=(1, 1))),
    "operands are rounded to TF32": Fault("gemm", {"m": 16, "n": 16, "k": 512}, reading(tf32)),
    "operands are rounded to bfloat16": Fault("linear", LINEAR, reading(in_bfloat16)),
    "sums are kept in float16": Fault("gemm", {"m": 16, "n": 16, "k": 64}, Float16Sums),
    "a square result is transposed": Fault("gemm", SQUARE, returning(np.transpose)),
    "the result is shifted by a row": Fault("bmm", {"batch": 2, **SQUARE}, returning(lambda y: np.roll(y, 1, 1))),
    "an element is wrong by 1 %": Fault("softmax", {"rows": 4, "columns": 9}, with_element(lambda y: 1.01 * y)),
    "an element is not a number": Fault(
        "relu", {"size": 100}, with_element(lambda y: np.nan), r"the output is nan at index \[33\]"
    ),
    "an element is infinite": Fault(
        "linear", LINEAR, with_element(lambda y: np.inf), r"the output is inf at index \[1, 2\]"
    ),
    "a sign is wrong": Fault("tanh", {"size": 100}, with_element(lambda y: -y)),
    "all is larger by 0.1 %": Fault("layer_norm", NORM, returning(lambda y: y * np.float32(1.001))),
    "the last term of sums is missing": Fault("gemm", {"m": 7, "n": 5, "k": 200}, with_options(terms=-1)),
    "the bias is omitted": Fault("linear", LINEAR, with_options(biased=0)),
    "the padding is shifted": Fault("conv2d", CONV, with_options(offset=1)),
    "strides begin at the second row": Fault("conv2d", CONV, reading(lambda name, x: np.roll(x, -(name == "x"), 2))),
    "epsilon is 1e-3": Fault("layer_norm", NORM, with_options(epsilon=1e-3)),
    "the variance is unbiased": Fault("batch_norm", BATCH_NORM, with_options(ddof=1)),
    "each image is normalized alone": Fault("batch_norm", BATCH_NORM, with_options(axes=(2, 3))),
    "a root is rounded to bfloat16": Fault("layer_norm", NORM, with_options(root=root_in_bfloat16)),
    "GELU is that of tanh": Fault("gelu", {"size": 1000}, with_options(by_tanh=True)),
    "softmax is over the other dimension": Fault("softmax", {"rows": 9, "columns": 9}, with_options(axis=0)),
    "the causal mask is off by one": Fault("attention", ATTENTION, with_options(diagonal=1)),
    "scores of attention are not scaled": Fault("attention", ATTENTION, with_options(scaled=False)),
    "gates of an LSTM have another order": Fault("lstm_cell", CELL, with_options(order="ifog")),
    "the reset gate is applied before the product": Fault("gru_cell", CELL, with_options(reset_first=True)),
    "the state of a recurrence is not carried on": Fault(
        "rnn_cell", CELL, reading(lambda name, array: array * (name == "x"))
    ),
    "a tail is not written": Fault("tanh", {"size": 1003}, returning(without_tail)),
    "padding of max pooling is 0": Fault("pooling", POOLING, with_options(fill=0.0), "the output must be exact, "),
    "rows of a table are exchanged": Fault(
        "embedding",
        EMBEDDING,
        reading(lambda name, table: np.roll(table, 1, 0)),
        r"the output must be exact, but differs from the reference at index \[\d+, \d\]",
    ),
    "a loss is the sum instead of the mean": Fault(
        "cross_entropy", {"rows": 4, "classes": 9}, with_options(reduce=np.sum), r"at index \[\]$"
    ),
    "a row is missing": Fault(
        "gemm", SQUARE, returning(lambda y: y[:-1]), r"^the shape of the output is \(7, 8\) instead of \(8, 8\)$"
    ),
    "images have their channels last": Fault(
        "conv2d",
        CONV,
        returning(lambda y: y.transpose(0, 2, 3, 1)),
        r"^the shape of the output is \(2, 5, 11, 5\) instead",
    ),
    "the gradient of a bias is the mean": Fault(
        "linear", LINEAR, variant(of_gradient={"reduce": np.mean}), "the error of the gradient of bias is ", OF_WEIGHTS
    ),
    "a term of a gradient is missing": Fault(
        "layer_norm", NORM, variant(of_gradient={"of_mean": False}), "the error of the gradient of x is ", OF_INPUTS
    ),
    "gradients of equal indices do not add up": Fault(
        "embedding",
        EMBEDDING,
        variant(of_gradient={"added": False}),
        "the error of the gradient of table is ",
        OF_WEIGHTS,
    ),
    "gradients are exchanged": Fault(
        "gemm",
        SQUARE,
        variant(after=lambda self, results: dict(zip(results, reversed(results.values()), strict=True))),
        "the error of the gradient of [ab] is ",
        BOTH,
    ),
    "a gradient is missing": Fault(
        "gemm",
        SQUARE,
        variant(after=lambda self, results: {name: each for name, each in results.items() if name != "b"}),
        "^the gradient of b is missing$",
        BOTH,
    ),
    "a gradient has the shape of another": Fault(
        "linear",
        LINEAR,
        returning(np.transpose),
        r"the shape of the gradient of weight is \(9, 6\) instead",
        OF_WEIGHTS,
    ),
    "the output is shifted in a phase that returns gradients": Fault("gemm", SQUARE, Shifted, OUTPUT_WRONG, OF_INPUTS),
    "the forward pass returns a stale result": Fault(
        "gemm",
        SQUARE,
        Stale,
        r"^the gradient of [ab] differs from central differences by \d.* times the L2 norm of",
        BOTH,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_is_planted_in_numpy_in_place_of_a_framework_is_found(name: str) -> None:
    fault = FAULTS[name]
    found = validated(fault.operator, fault.sizes, fault.phase, fault.faulty)
    assert found.verdict == FAILED
    assert re.search(fault.message, found.reason or ""), found.reason
    assert found.worst is not None
    assert from_json(Validation, json.loads(json.dumps(to_json(found), allow_nan=False))) == found
    right = validated(fault.operator, fault.sizes, fault.phase)
    assert (right.verdict, right.reason) == (PASSED, None)
    assert right.worst is not None
    assert right.worst.bound_ratio < 0.7


def test_there_are_at_least_twenty_kinds_of_planted_faults() -> None:
    assert len(FAULTS) >= 20


COARSE = ["two weights are swapped", "a tap of a kernel is dropped", "the result is shifted by a row"]
COARSE += ["the bias is omitted", "gates of an LSTM have another order", "the causal mask is off by one"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", COARSE)
def test_a_coarse_fault_that_is_planted_in_numpy_in_16_bits_is_found(name: str, dtype: str) -> None:
    fault = FAULTS[name]

    def stored(self: NumPyOperator, results: Arrays) -> Arrays:
        faulty = fault.faulty.after(self, results)
        return {name: rounded(np.float32(array), dtype) for name, array in faulty.items()}

    faulty = type("Faulty", (fault.faulty,), {"after": stored})
    right = variant(after=lambda self, results: {each: rounded(array, dtype) for each, array in results.items()})
    assert validated(fault.operator, fault.sizes, fault.phase, right, dtype=dtype).verdict == PASSED
    assert validated(fault.operator, fault.sizes, fault.phase, faulty, dtype=dtype).verdict == FAILED
