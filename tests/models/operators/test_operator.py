"""Operators as data: FLOPs and numbers moved, against formulas by hand; phases."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.models.operators.catalog import OPERATORS, operator_of, phases_of
from hpcbench.models.operators.normalization import BatchNorm
from hpcbench.models.operators.operator import BOTH, FORWARD, OF_INPUTS, OF_WEIGHTS, PHASES
from tests.models.operators.small_sizes import CASES, IDS

CONV = {"n": 2, "c_in": 3, "h": 9, "w": 11, "c_out": 5, "filter_w": 2, "pad_w": 0, "stride_h": 2}
OF_CONV = 2 * (2 * 5 * 5 * 10) * (3 * 3 * 2)  # output (2, 5, 5, 10)
GEMM = {"m": 7, "n": 5, "k": 13, "a_trans": True}
STEPS = {"hidden": 6, "batch": 3, "timesteps": 4}
LSTM = {"inputs": 5, **STEPS}
ATTENTION = {"batch": 2, "heads": 3, "time": 7, "head_size": 4}
# operator, sizes, FLOPs of forward, backward_inputs, backward_weights and both; None: it does not have the phase
FLOPS: list[tuple[str, dict[str, Any], int, int | None, int | None, int | None]] = [
    ("conv2d", CONV, OF_CONV, OF_CONV, OF_CONV, 2 * OF_CONV),
    ("gemm", GEMM, 2 * 7 * 5 * 13, 2 * 7 * 5 * 13, 2 * 7 * 5 * 13, 4 * 7 * 5 * 13),
    ("bmm", {"batch": 3, "m": 4, "n": 5, "k": 6}, 720, 1440, None, 1440),
    ("sparse_gemm", {"m": 20, "n": 5, "k": 30, "sparsity": 0.9}, 2 * 60 * 5, None, None, None),
    ("linear", {"rows": 4, "inputs": 9, "outputs": 6}, 432, 432, 432, 864),
    ("attention", ATTENTION, 4 * 6 * 7 * 7 * 4, 8 * 6 * 7 * 7 * 4, None, 8 * 6 * 7 * 7 * 4),
    ("rnn_cell", STEPS, 2 * 36 * 12, 2 * 36 * 12, 4 * 36 * 12, 4 * 36 * 12),
    ("gru_cell", STEPS, 6 * 36 * 12, 6 * 36 * 12, 12 * 36 * 12, 12 * 36 * 12),
    ("lstm_cell", STEPS, 8 * 36 * 12, 8 * 36 * 12, 16 * 36 * 12, 16 * 36 * 12),
    ("lstm", LSTM, 8 * (36 + 30) * 12, 8 * (36 + 30) * 12, 8 * (36 + 36 + 30) * 12, 16 * (36 + 30) * 12),
    ("softmax", {}, 0, 0, None, 0),
    ("layer_norm", {}, 0, 0, 0, 0),
    ("embedding", {}, 0, None, 0, 0),
]


@pytest.mark.parametrize(("name", "sizes", "forward", "of_inputs", "of_weights", "both"), FLOPS)
def test_the_flops_of_each_phase(
    name: str, sizes: dict[str, Any], forward: int, of_inputs: int | None, of_weights: int | None, both: int | None
) -> None:
    operator = operator_of(name, sizes)
    expected = dict(zip((FORWARD, OF_INPUTS, OF_WEIGHTS, BOTH), (forward, of_inputs, of_weights, both), strict=True))
    phases = [phase for phase, flops in expected.items() if flops is not None]
    assert operator.known_phases() == phases
    assert {phase: operator.flops(phase) for phase in phases} == {phase: expected[phase] for phase in phases}


@pytest.mark.parametrize(
    ("name", "sizes", "flops"),
    [
        # Cases of DeepBench with its own formulas; its vanilla recurrence has 2 hidden^2 per item and step.
        (
            "conv2d",
            {"w": 700, "h": 161, "c_in": 1, "n": 4, "c_out": 32, "filter_w": 20, "filter_h": 5}
            | {"pad_w": 0, "pad_h": 0, "stride_w": 2, "stride_h": 2},
            2 * 4 * 32 * 341 * 79 * 1 * 20 * 5,
        ),
        ("gemm", {"m": 1760, "n": 128, "k": 1760}, 2 * 1760 * 128 * 1760),
        ("rnn_cell", {"hidden": 1760, "batch": 16, "timesteps": 50}, 2 * 1760**2 * 16 * 50),
        ("lstm_cell", {"hidden": 512, "batch": 16, "timesteps": 25}, 8 * 512**2 * 16 * 25),
        ("gru_cell", {"hidden": 2816, "batch": 32, "timesteps": 1500}, 6 * 2816**2 * 32 * 1500),
    ],
)
def test_the_flops_are_those_of_deepbench(name: str, sizes: dict[str, Any], flops: int) -> None:
    assert operator_of(name, sizes).flops(FORWARD) == flops


@pytest.mark.parametrize(
    ("name", "sizes", "phase", "numbers"),
    [
        ("gemm", {"m": 2, "n": 3, "k": 5}, FORWARD, 10 + 15 + 6),
        ("gemm", {"m": 2, "n": 3, "k": 5}, OF_INPUTS, 6 + 15 + 10),  # cotangent, B, gradient of A
        ("gemm", {"m": 2, "n": 3, "k": 5}, OF_WEIGHTS, 6 + 10 + 15),
        ("gemm", {"m": 2, "n": 3, "k": 5}, BOTH, 6 + 25 + 25),
        ("linear", {"rows": 2, "inputs": 3, "outputs": 5}, FORWARD, 6 + 15 + 5 + 10),
        ("linear", {"rows": 2, "inputs": 3, "outputs": 5}, OF_INPUTS, 10 + 15 + 6),
        ("linear", {"rows": 2, "inputs": 3, "outputs": 5}, OF_WEIGHTS, 10 + 6 + 15 + 5),
        ("layer_norm", {"rows": 2, "features": 3}, OF_INPUTS, 6 + 6 + 3 + 6),
        ("layer_norm", {"rows": 2, "features": 3}, OF_WEIGHTS, 6 + 6 + 3 + 3),
        ("relu", {"size": 10}, FORWARD, 20),
        ("relu", {"size": 10}, OF_INPUTS, 30),
        ("add", {"size": 10}, FORWARD, 30),
        ("add", {"size": 10}, OF_INPUTS, 30),  # cotangent and two gradients
        ("pooling", {"n": 1, "c": 1, "h": 4, "w": 4, "mode": "max"}, OF_INPUTS, 4 + 16 + 16),
        ("pooling", {"n": 1, "c": 1, "h": 4, "w": 4, "mode": "average"}, OF_INPUTS, 4 + 16),
        ("embedding", {"vocabulary": 100, "width": 3, "tokens": 4}, FORWARD, 4 + 2 * 12),
        ("sparse_gemm", {"m": 10, "n": 2, "k": 10, "sparsity": 0.9}, FORWARD, 2 * 10 + 11 + 20 + 20),
        ("mse", {"size": 10}, FORWARD, 21),
    ],
)
def test_the_numbers_moved(name: str, sizes: dict[str, Any], phase: str, numbers: int) -> None:
    assert operator_of(name, sizes).numbers_moved(phase) == numbers


@pytest.mark.parametrize(
    ("name", "sizes", "phase", "numbers", "indices"),
    [
        ("embedding", {"vocabulary": 100, "width": 3, "tokens": 4}, FORWARD, 2 * 12, 4),
        ("embedding", {"vocabulary": 100, "width": 3, "tokens": 4}, OF_WEIGHTS, 2 * 12, 4),
        ("cross_entropy", {"rows": 4, "classes": 9}, FORWARD, 36 + 1, 4),
        ("cross_entropy", {"rows": 4, "classes": 9}, BOTH, 1 + 36 + 36, 4),
        ("sparse_gemm", {"m": 10, "n": 2, "k": 10, "sparsity": 0.9}, FORWARD, 10 + 20 + 20, 10 + 11),
        ("relu", {"size": 10}, BOTH, 30, 0),
    ],
)
def test_indices_have_four_bytes_in_each_data_type(
    name: str, sizes: dict[str, Any], phase: str, numbers: int, indices: int
) -> None:
    operator = operator_of(name, sizes)
    assert operator.numbers_moved(phase) == numbers + indices
    assert operator.bytes_moved(phase, 4) == 4 * (numbers + indices)
    assert operator.bytes_moved(phase, 2) == 2 * numbers + 4 * indices


@pytest.mark.parametrize(("name", "sizes"), CASES, ids=IDS)
def test_no_phase_moves_less_than_its_results(name: str, sizes: dict[str, Any]) -> None:
    operator = operator_of(name, sizes)
    for phase in operator.known_phases():
        results = [operator.arrays()[each] for each in operator.gradients(phase)] or [operator.output()]
        if name != "embedding":  # its gradient is counted by the vectors that are added
            assert operator.numbers_moved(phase) >= sum(array.size for array in results)
        assert (operator.gradients(phase) == ()) == (phase == FORWARD)


@pytest.mark.parametrize(
    ("name", "phase", "message"),
    [
        (
            "relu",
            OF_WEIGHTS,
            "the operator relu has no phase backward_weights; use one of: forward, backward_inputs, both",
        ),
        ("sparse_gemm", BOTH, "the operator sparse_gemm has no phase both; use one of: forward"),
        ("embedding", OF_INPUTS, "the operator embedding has no phase backward_inputs; use one of: forward, "),
    ],
)
def test_a_phase_that_an_operator_does_not_have_is_an_error(name: str, phase: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        operator_of(name, {}).check_phase(phase)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_phases_of_an_operator_pass_its_check(name: str) -> None:
    assert phases_of(name)[0] == FORWARD
    for phase in PHASES:
        if phase in phases_of(name):
            operator_of(name, {}).check_phase(phase)


def test_the_nonzeros_of_a_sparse_matrix_are_those_of_its_values() -> None:
    for rows in range(1, 12):
        operator = operator_of("sparse_gemm", {"m": rows, "k": 5, "sparsity": 0.5})
        zeros = round(operator.arrays()["a"].zeros * operator.arrays()["a"].size)
        assert operator.flops(FORWARD) == 2 * (5 * rows - zeros) * 64


@pytest.mark.parametrize(("tasks", "sent"), [(1, 0), (2, 400), (4, 600), (8, 700)])
def test_the_bus_bytes_of_an_all_reduce_are_those_of_a_ring(tasks: int, sent: int) -> None:
    operator = operator_of("all_reduce", {"floats": 100})
    assert operator.bus_bytes(tasks, 4) == sent
    assert operator.bytes_moved("forward", 4) == 800
    assert operator_of("gemm", {}).bus_bytes(tasks, 4) is None


def test_with_running_values_the_gradient_of_the_input_of_batch_norm_does_not_read_the_input() -> None:
    sizes = {"n": 2, "c": 3, "h": 4, "w": 5}
    image, scale = 2 * 3 * 4 * 5, 3
    trained, running = (BatchNorm(**sizes, training=training) for training in (True, False))
    assert trained.bytes_moved("backward_inputs", 4) == 4 * (3 * image + scale)
    assert running.bytes_moved("backward_inputs", 4) == 4 * (2 * image + scale)
