"""Inference: one step is the forward pass of one batch."""

from typing import Any, Callable

from ...frameworks.adapter import Network


def step(network: Network) -> Callable[[], Any]:
    """Return the function that runs one step."""
    return network.infer
