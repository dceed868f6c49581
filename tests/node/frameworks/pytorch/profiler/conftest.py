"""Tiny networks of the catalog, built by the adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem
from tests.node.frameworks.pytorch.tiny import TINY


@pytest.fixture
def build(make_parameters: Callable[..., dict[str, Any]]) -> Iterator[Callable[..., Any]]:
    """A tiny network on the CPU, through the adapter."""
    from hpcbench.node.frameworks import load

    networks = []

    def make(model: str = "mlp", **changes: Any) -> Any:
        parameters = make_parameters(model=model, **{"model_options": TINY[model], "batch_size": 2, **changes})
        networks.append(load("pytorch").build(problem.of_case(parameters, Group(Ranks(0, 1)))))
        return networks[-1]

    yield make
    for network in networks:
        network.close()
