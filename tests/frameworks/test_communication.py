"""The bytes that real ranks exchange on this machine, compared with those that their strategy requires."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.node.host import cpuinfo
from tests.frameworks.asking import Asked

FEW = [("pytorch", "ddp", "mlp"), ("pytorch", "fsdp", "transformer")]
MANY = [
    ("pytorch", "fsdp", "mlp"),
    ("pytorch", "deepspeed", "mlp"),
    ("pytorch", "horovod", "mlp"),
    ("keras-torch", "ddp", "mlp"),
    ("tensorflow", "multi_worker_mirrored", "mlp"),
    ("keras-tensorflow", "multi_worker_mirrored", "mlp"),
    ("jax", "data_parallel", "mlp"),
    ("keras-jax", "data_parallel", "mlp"),
    ("mxnet", "kvstore", "mlp"),
    ("mxnet", "kvstore_async", "mlp"),
    ("pytorch", "local_sgd", "mlp"),
    ("pytorch", "neighbors", "mlp"),
]


@pytest.mark.parametrize(
    ("framework", "strategy", "model", "ranks"),
    [
        *((*each, 2) for each in FEW),
        *(pytest.param(*each, ranks, marks=pytest.mark.long) for each in MANY for ranks in (2, 4)),
        *(pytest.param(*each, 4, marks=pytest.mark.long) for each in FEW),
    ],
)
def test_ranks_exchange_the_bytes_of_their_strategy(
    asked: Asked, framework: str, strategy: str, model: str, ranks: int
) -> None:
    found = of(asked, framework, strategy, model, ranks=ranks)
    assert found["weight_bytes"] > 10e6
    assert 1.0 <= found["ratio"] < 1.1
    assert found["reason"] is None
    assert len(found["sent_bytes"]) == len(found["received_bytes"]) == ranks


@pytest.mark.long
@pytest.mark.skipif(not cpuinfo.computes_in("bfloat16"), reason="not run: this CPU has no bfloat16 arithmetic")
def test_zero_exchanges_gradients_in_16_bits(asked: Asked) -> None:
    found = of(asked, "pytorch", "deepspeed", "transformer", ranks=2, dtype="bfloat16")
    assert 1.0 <= found["ratio"] < 1.1


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_accumulated_batches_exchange_gradients_once(asked: Asked, strategy: str) -> None:
    optimizer = {"name": "sgd", "gradient_accumulation_steps": 3}
    found = of(asked, "pytorch", strategy, "transformer", ranks=2, optimizer=optimizer)
    assert 1.0 <= found["ratio"] < 1.1


def of(asked: Asked, framework: str, strategy: str, model: str, ranks: int, **changes: Any) -> dict[str, Any]:
    case = json.dumps({"execution": FRAMEWORKS[framework].executions[0], "averaging_period": 2, **changes})
    environment = f"horovod-{framework}" if strategy == "horovod" else None
    words = ("communication_probe", framework, strategy, model, case)
    every = asked.answers(*words, framework=framework, environment=environment, ranks=ranks)
    assert all(each == every[0] for each in every)
    return every[0]
