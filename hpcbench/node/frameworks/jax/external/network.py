"""A model of any layer library on JAX, with its own inputs and loss."""

from typing import Any, Callable, Iterator, Mapping

import jax
import numpy
from jax import numpy as jnp

from .....models.inputs import Input
from ....workload.data import Items
from ....workload.problem import channels_last
from ...adapter import Batch
from ...external.network import ExternalNetwork
from ...external.outputs import main_output
from ...external.trace import Trace
from .. import data
from ..network import JaxNetwork, set_arithmetic


class ExternalJaxNetwork(ExternalNetwork, JaxNetwork):
    """A network that the user's function, or a library, builds; `losses` are those of the layer library by name."""

    losses: Mapping[str, Callable[..., jax.Array]]

    def describe(self, known: Mapping[str, Input], trace: Callable[[Any, str], Trace]) -> None:
        set_arithmetic(self.problem)  # again, since the user's module may have changed it
        jax.config.update("jax_traceback_filtering", "off")  # a remark on filtering would follow the error
        super().describe(known, trace)

    def prepare_loss(self) -> None:
        """Set the loss of training."""
        if self.problem.training:
            self._loss = self.loss_function(self.losses, lambda outputs: self.output(outputs).astype(jnp.float32))

    def loss(self, outputs: Any, labels: jax.Array) -> jax.Array:
        loss: jax.Array = self._loss(outputs, labels)
        return loss

    def output(self, outputs: Any) -> jax.Array:
        return main_output(outputs, jax.Array)

    def on_device(self, inputs: Any, labels: "numpy.ndarray") -> Batch:
        if not self.problem.training:
            inputs = in_dtype(inputs, self.dtype)
        return jax.tree.map(self.strategy.batch, inputs), self.strategy.batch(labels)

    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        for inputs, labels in data.batches(self.problem, items, forever):
            yield self.on_device(self.of_data(channels_last(inputs)), labels)


def in_dtype(tree: Any, dtype: Any) -> Any:
    """Return a tree with its floating-point arrays in `dtype`; integers and random keys are unchanged."""

    def converted(array: Any) -> Any:
        return array.astype(dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array

    return jax.tree.map(converted, tree)
