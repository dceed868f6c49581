"""The bytes of each strategy, computed by hand for four ranks and 12 MB of weights."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.core.frameworks import STRATEGIES
from hpcbench.models.communication_volume import Exchange, expected

MB = 10**6
SIZES = {"weight_bytes": 12 * MB, "gradient_bytes": 12 * MB}


def of(strategy: str, **changes: Any) -> float:
    return expected(Exchange(**{"strategy": strategy, "ranks": 4, **SIZES, **changes})).bytes


@pytest.mark.parametrize("strategy", ["ddp", "horovod", "multi_worker_mirrored", "data_parallel"])
def test_a_ring_sends_each_byte_almost_twice(strategy: str) -> None:
    assert of(strategy) == 18 * MB
    assert of(strategy, ranks=2) == 12 * MB
    assert of(strategy, batches=3) == 18 * MB, "gradients are accumulated before they are exchanged"


def test_zero_gathers_the_weights_in_addition() -> None:
    assert of("deepspeed") == 27 * MB
    assert of("deepspeed", gradient_bytes=6 * MB) == (9 + 9) * MB


def test_fsdp_gathers_once_or_twice_and_reduces() -> None:
    assert of("fsdp") == (9 + 18) * MB
    assert of("fsdp", resharded_bytes=8 * MB) == (9 + 6 + 18) * MB
    assert of("fsdp", resharded_bytes=8 * MB, batches=2) == (2 * (9 + 6) + 18) * MB
    assert of("fsdp", resharded_bytes=8 * MB, on_gpu=True) == (9 + 6 + 9) * MB
    assert of("fsdp", resharded_bytes=8 * MB, trains=False) == 9 * MB


def test_a_worker_of_a_server_sends_gradients_and_receives_weights() -> None:
    assert of("kvstore") == of("kvstore", ranks=2) == 12 * MB


def test_weights_go_to_all_ranks_or_to_the_neighbors() -> None:
    assert of("local_sgd", period=3) == 18 * MB, "in a step that averages"
    assert of("neighbors") == of("neighbors", ranks=3) == 24 * MB
    assert of("neighbors", ranks=2) == 12 * MB


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_single_rank_exchanges_nothing_without_a_server(strategy: str) -> None:
    assert of(strategy, ranks=1) == (12 * MB if strategy.startswith("kvstore") else 0)
