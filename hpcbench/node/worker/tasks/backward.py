"""Backward: one step is forward, loss and backward on one or more batches, without the update of the weights."""

from typing import Any, Callable

from ...frameworks.adapter import Network


def step(network: Network) -> Callable[[], Any]:
    """Return the function that runs one step."""
    return network.backward
