"""Memory of networks from parameters and lists."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.networks.memory import memory, saved_bytes
from hpcbench.predict.tables import operators as table
from tests.predict.networks.listed.fleet_of_two import a_list, gemm, row_wise, some_networks

# A linear layer, GELU and layer normalization of 64 x 1024, as torch.autograd saves them: one tensor each.
MLP = a_list(
    "mlp",
    gemm(64, 1024, 1024),
    row_wise(64, 1024, function="gelu"),
    row_wise(64, 1024, kind=table.LAYER_NORM, function="layer_norm"),
)
TENSOR = 64 * 1024 * 4.0


def _asked(**changes: object) -> pd.DataFrame:
    return some_networks({"device": "first", "network": "mlp", "list_id": "mlp", "mparams": 1.0, **changes})


def test_inference_needs_weights_and_the_tensors_of_one_operator() -> None:
    found = memory(_asked(), MLP).loc[0]
    assert found.to_dict() == pytest.approx(
        {
            "weight_bytes": 4e6,
            "gradient_bytes": 0.0,
            "optimizer_bytes": 0.0,
            "activation_bytes": 2 * TENSOR,
            "memory_bytes": 4e6 + 2 * TENSOR,
        }
    )


def test_training_with_adam_needs_16_bytes_for_each_parameter_and_saved_tensors() -> None:
    found = memory(_asked(phase="training", optimizer="adamw"), MLP).loc[0]
    assert found["weight_bytes"] + found["gradient_bytes"] + found["optimizer_bytes"] == pytest.approx(16e6)
    assert found["activation_bytes"] == pytest.approx(3 * TENSOR + 2 * TENSOR)


def test_stochastic_gradient_descent_without_momentum_has_no_state() -> None:
    assert memory(_asked(phase="training", optimizer="sgd"), MLP)["optimizer_bytes"].item() == 0.0


def test_without_parameters_or_a_list_the_memory_is_unknown() -> None:
    asked = pd.concat([_asked(mparams=np.nan), _asked(list_id="missing"), _asked(dtype="amp")], ignore_index=True)
    assert memory(asked, MLP)["memory_bytes"].isna().all()


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (gemm(64, 32, 16, kind=table.BATCHED_GEMM, batch=8), 8 * (64 * 16 + 16 * 32) * 4),
        (row_wise(8, 64, 2, function="mul"), 2 * 8 * 64 * 4),
        (row_wise(8, 64, 2, function="add"), 0),
        (row_wise(8, 64, function="relu"), 0),
        (row_wise(8, 64, function="dropout"), 8 * 64),
        (row_wise(8, 64, kind=table.POOLING, function="max_pool2d_with_indices"), 8 * 64 * 6),
        (row_wise(8, 64, function="gelu", dtype="float16", bytes=2.0 * 2 * 8 * 64), 8 * 64 * 2),
    ],
    ids=["bmm", "mul", "add", "relu", "dropout", "max pool", "gelu in float16"],
)
def test_what_an_operator_saves(operator: dict[str, object], expected: float) -> None:
    assert saved_bytes(a_list("one", operator)) == pytest.approx([expected])
