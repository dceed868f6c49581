"""The estimated size of references, compared with the memory that NumPy allocates for them."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from hpcbench.models.operators import values
from hpcbench.models.operators.catalog import operator_of
from hpcbench.models.operators.operator import BOTH, FORWARD
from hpcbench.models.operators.reference_size import reference_bytes, reference_numbers
from hpcbench.node.frameworks.operator_call import Request
from hpcbench.node.worker.validation.references import references_of

CASES: list[tuple[str, dict[str, Any]]] = [
    ("attention", {"batch": 1, "heads": 2, "time": 256, "head_size": 8}),
    ("conv2d", {"n": 2, "c_in": 8, "c_out": 4, "h": 28, "w": 28, "filter_h": 5, "filter_w": 5}),
    ("pooling", {"n": 2, "c": 16, "h": 28, "w": 28, "kernel": 3, "stride": 1}),
    ("pooling", {"n": 2, "c": 16, "h": 28, "w": 28, "kernel": 3, "stride": 1, "mode": "average"}),
    ("lstm", {"hidden": 32, "inputs": 32, "batch": 4, "timesteps": 60}),
    ("gru_cell", {"hidden": 32, "batch": 4, "timesteps": 60}),
    ("rnn_cell", {"hidden": 64, "batch": 4, "timesteps": 60}),
    ("gelu", {"size": 100_000}),
    ("layer_norm", {"rows": 100, "features": 1000}),
]


@pytest.mark.parametrize("phase", [FORWARD, BOTH])
@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_the_estimate_is_above_the_memory_of_the_reference_and_near_it(
    name: str, sizes: dict[str, Any], phase: str
) -> None:
    operator = operator_of(name, sizes)
    phase = phase if phase in operator.known_phases() else "backward_inputs"
    cotangent = values.cotangent_of(operator, 0, 0, "float32")
    request = Request(operator, phase, "float32", values.arrays_of(operator, 0, 0, "float32"), cotangent)
    tracemalloc.start()
    references_of(request)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.3 * reference_bytes(operator, phase) < peak < reference_bytes(operator, phase)


def test_scores_patches_and_windows_are_counted() -> None:
    def numbers(name: str, **sizes: Any) -> int:
        return reference_numbers(operator_of(name, sizes))

    assert numbers("attention", batch=1, heads=2, time=5, head_size=3) == 4 * 2 * 5 * 3 + 2 * 5**2
    conv = numbers("conv2d", n=2, c_in=3, h=5, w=6, c_out=4, filter_h=3, filter_w=1, pad_h=0, pad_w=0)
    assert conv == 2 * 3 * 5 * 6 + 4 * 3 * 3 + 2 * 4 * 3 * 6 + 3 * 3 * (2 * 3 * 6)
    pooling = {"n": 2, "c": 3, "h": 4, "w": 4}
    assert numbers("pooling", **pooling) == 96 + 24 + 4 * 24
    assert numbers("pooling", **pooling, mode="global_average") == 96 + 6
    assert reference_numbers(operator_of("all_reduce", {"floats": 10}), ranks=3) == 30 + 10
