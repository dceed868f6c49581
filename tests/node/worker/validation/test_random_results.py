"""Dropout has no reference: kept elements are scaled, and the fraction of zeros is the rate."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hpcbench.core.validation.result import FAILED, PASSED
from hpcbench.models.operators.operator import FORWARD, OF_INPUTS
from hpcbench.node.worker.validation.random_results import what_is_wrong
from tests.node.worker.validation.numpy_call import NumPyOperator, computation, validated

SIZES = {"size": 10_000, "rate": 0.25}


def dropped(source: Any, rate: float = 0.25, seed: int = 0) -> Any:
    kept = np.random.default_rng(seed).uniform(size=source.shape) >= rate
    return source * kept / np.float32(1 - rate)


def found(change: Callable[[Any], Any], phase: str = FORWARD, **changes: Any) -> str | None:
    request = computation("dropout", SIZES, phase, **changes).request
    source = request.arrays["x"] if phase == FORWARD else request.cotangent
    return what_is_wrong(request, {name: change(source) for name in request.wanted})


@pytest.mark.parametrize("phase", [FORWARD, OF_INPUTS])
@pytest.mark.parametrize("seed", range(20))
def test_dropout_is_right(phase: str, seed: int) -> None:
    assert found(lambda source: dropped(source, seed=seed), phase) is None


@pytest.mark.parametrize(("seed", "wrong"), [(3, None), (4, "the gradient and the forward pass drop different")])
def test_the_gradient_has_the_mask_of_its_forward_pass_in_a_planted_double(seed: int, wrong: str | None) -> None:
    class Dropout(NumPyOperator):
        def call(self) -> Any:
            return [dropped(self.request.cotangent, seed=3)]

        def forward_result(self) -> Any:
            return dropped(self.request.arrays["x"], seed=seed)

    reason = validated("dropout", SIZES, OF_INPUTS, Dropout).reason
    assert reason is None if wrong is None else (reason or "").startswith(wrong)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_dropout_in_16_bits_is_right(dtype: str) -> None:
    half = np.float16 if dtype == "float16" else np.float32
    assert found(lambda source: dropped(source).astype(half).astype(np.float32), dtype=dtype) is None


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "another rate": (lambda x: dropped(x, 0.3) * np.float32(0.7 / 0.75), "the fraction of zeros is 0.[23].*0.25"),
    "no rate": (lambda x: x / np.float32(0.75), "the fraction of zeros is 0.0000, but the rate is 0.25"),
    "all dropped": (lambda x: 0 * x, "the fraction of zeros is 1.0000"),
    "not scaled": (lambda x: dropped(x) * np.float32(0.75), r"\d+ of \d+ elements that .* are not x / \(1 - rate\)"),
    "one element": (lambda x: np.where(np.arange(x.size) == np.abs(dropped(x)).argmax(), 0.1, dropped(x)), "^1 of "),
    "not a number": (lambda x: np.where(np.arange(x.size) == 7, np.nan, dropped(x)), r"^1 of \d+ elements"),
    "shape": (lambda x: dropped(x)[:-1], r"the shape of the result is \(9999,\) instead of \(10000,\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_dropout_that_is_wrong_is_found(name: str) -> None:
    change, message = WRONG[name]
    assert re.search(message, found(change) or "")


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, PASSED), (1.01, FAILED)])
def test_the_validation_of_dropout_has_no_reference(factor: float, verdict: str) -> None:
    class Dropout(NumPyOperator):
        def call(self) -> Any:
            return [dropped(self.request.arrays["x"]) * np.float32(factor)]

    result = validated("dropout", SIZES, of=Dropout)
    assert result.verdict == verdict
    assert (result.worst, result.repeatability, result.gradient_check) == (None, None, None)
    assert (result.reason is None) == (verdict == PASSED)
