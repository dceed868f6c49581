"""TFLOP/s per device, by exact FLOPs and by the 6N rule."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.cases.flop_rates import BUS, BY_RULE, BYTES, EXACT, add_flop_rates
from hpcbench.models import catalog

CASE: dict[str, Any] = {
    "framework": "pytorch",
    "model": "gpt",
    "model_options": json.dumps({"layers": 2}),
    "task": "training",
    "device": "cpu",
    "nodes": 2,
    "tasks_per_node": 4,
    "flops_per_item": 3_000_000,
    "throughput_items_per_s": 1e6,
}


def rates(**changes: Any) -> tuple[Any, Any]:
    found = add_flop_rates(pd.DataFrame([{**CASE, **changes}])).iloc[0]
    return found[EXACT], found[BY_RULE]


def test_a_device_is_a_node_of_cpus_or_the_gpu_of_a_task() -> None:
    assert rates()[0] == pytest.approx(3e12 / 2 / 1e12)
    assert rates(device="gpu")[0] == pytest.approx(3e12 / 8 / 1e12)


def test_the_rule_counts_six_flops_of_each_parameter_in_training_and_two_in_inference() -> None:
    count = catalog.parameters_without_embeddings("gpt", catalog.resolved_options("gpt", {"layers": 2}))
    assert rates()[1] == pytest.approx(6 * count * 1e6 / 2 / 1e12)
    assert rates(task="inference")[1] == pytest.approx(2 * count * 1e6 / 2 / 1e12)


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        ({"model": "resnet50", "model_options": "{}"}, (True, False)),
        ({"model": "timm/vit"}, (True, False)),
        ({"model": None, "framework": "command", "flops_per_item": None}, (False, False)),
        ({"throughput_items_per_s": None}, (False, False)),
    ],
)
def test_what_is_unknown_is_empty(changes: dict[str, Any], known: tuple[bool, bool]) -> None:
    assert tuple(not pd.isna(value) for value in rates(**changes)) == known


def test_an_operator_has_the_bytes_that_it_moves_and_a_collective_one_its_bus_bandwidth() -> None:
    operator = {"model": None, "task": "operator", "bytes_per_item": 8000, "bus_bytes_per_item": 3000}
    found = add_flop_rates(pd.DataFrame([{**CASE, **operator}])).iloc[0]
    assert (found[BYTES], found[BUS]) == (pytest.approx(4.0), pytest.approx(3.0))  # 1e6 calls/s, on 2 nodes
    network = add_flop_rates(pd.DataFrame([CASE])).iloc[0]
    assert pd.isna(network[BYTES])
    assert pd.isna(network[BUS])
