"""Operators whose arrays do not fit into memory are unsupported, before an array is drawn."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.models.operators import values
from hpcbench.models.operators.catalog import operator_of
from hpcbench.models.operators.operator import BOTH, FORWARD
from hpcbench.node.errors import Unsupported
from hpcbench.node.frameworks import operator_memory
from hpcbench.node.frameworks.operator_memory import check_memory, needed_bytes, needed_device_bytes
from tests.node.worker.validation.numpy_call import NumPyOperator, computation

SIZES = {"rows": 10, "inputs": 20, "outputs": 30}  # 10 x 20, 20 x 30 and 30 numbers; the result has 10 x 30
LINEAR = operator_of("linear", SIZES)
ARRAYS, RESULT = 200 + 600 + 30, 300


@pytest.mark.parametrize(
    ("phase", "dtype", "needed"),
    [
        (FORWARD, "float32", ARRAYS * (4 + 4) + RESULT * 4),
        (FORWARD, "bfloat16", ARRAYS * (4 + 2) + RESULT * 2),
        (BOTH, "float32", (ARRAYS + RESULT) * (4 + 4) + (RESULT + ARRAYS) * 4),
    ],
)
def test_arrays_are_drawn_in_float32_and_converted(phase: str, dtype: str, needed: int) -> None:
    assert needed_bytes(LINEAR, phase, dtype) == needed


@pytest.mark.parametrize(("missing", "is_supported"), [(0, True), (1, False)])
def test_an_operator_needs_all_of_its_arrays_in_memory(
    monkeypatch: pytest.MonkeyPatch, missing: int, is_supported: bool
) -> None:
    available = needed_bytes(LINEAR, FORWARD, "float32") - missing
    monkeypatch.setattr(operator_memory, "available_bytes", lambda system: available)
    if is_supported:
        check_memory(LINEAR, FORWARD, "float32", None)
    else:
        with pytest.raises(Unsupported, match=r"the arrays of the operator need 0\.0 GB of memory"):
            check_memory(LINEAR, FORWARD, "float32", None)


def test_arrays_that_do_not_fit_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(*given: Any) -> Any:
        raise AssertionError("an array was drawn")

    monkeypatch.setattr(operator_memory, "available_bytes", lambda system: 4e9)
    monkeypatch.setattr(values, "arrays_of", draw)
    message = r"the arrays of the operator need 12\.0 GB of memory, and 4\.0 GB are available"
    with pytest.raises(Unsupported, match=message):
        computation("relu", {"size": 10**9})


def test_a_gpu_needs_its_memory_for_arrays_and_results_alone() -> None:
    assert needed_device_bytes(LINEAR, FORWARD, "bfloat16") == (ARRAYS + RESULT) * 2
    assert needed_device_bytes(LINEAR, BOTH, "float32") == 2 * (ARRAYS + RESULT) * 4


@pytest.mark.parametrize(("missing", "is_supported"), [(0, True), (1, False)])
def test_the_arrays_on_a_fake_gpu_are_those_that_fit(missing: int, is_supported: bool) -> None:
    class OnGpu(NumPyOperator):
        @classmethod
        def free_device_bytes(cls, problem: Any) -> int:
            return 2 * 10**6 * 4 - missing

    if is_supported:
        assert computation("relu", {"size": 10**6}, of=OnGpu).request.arrays
    else:
        with pytest.raises(Unsupported, match=r"need 0\.0 GB on the GPU, and 0\.0 GB are free"):
            computation("relu", {"size": 10**6}, of=OnGpu)


def test_unknown_memory_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_memory, "available_bytes", lambda system: None)
    check_memory(operator_of("relu", {"size": 10**9}), FORWARD, "float32", None)
