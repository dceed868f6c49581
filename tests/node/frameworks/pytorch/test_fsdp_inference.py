"""Sharded inference: the weights are gathered in every step, not in the first one alone."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("model", ["mlp", "lstm"])
def test_one_rank_infers_under_fsdp_and_frees_its_weights_again(model: str) -> None:
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor

    from hpcbench.config.parameters import Parameters
    from hpcbench.node.frameworks.pytorch.adapter import ADAPTER
    from hpcbench.node.workload import problem

    given: dict[str, Any] = {"framework": "pytorch", "model": model, "task": "inference", "strategy": "fsdp"}
    parameters = Parameters.model_validate({**given, "batch_size": 2, "model_options": {"hidden_size": 16}})
    network = ADAPTER.build(problem.of_case(parameters.model_dump(), Group(Ranks(0, 1))))
    try:
        for _ in range(2):
            assert network.infer().shape == (2, 10)
            assert all(isinstance(weight, DTensor) for weight in network.model.parameters())
    finally:
        network.close()
    assert not dist.is_initialized()
