"""Training: one step is forward, loss, backward and optimizer step on one batch."""

from typing import Any, Callable

from ...frameworks.adapter import Network


def step(network: Network) -> Callable[[], Any]:
    """Return the function that runs one step."""
    return network.train
