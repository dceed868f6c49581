"""An external model of Keras on JAX."""

from typing import Any

import keras

from ....workload.problem import Problem
from ...external.trace import Trace
from ...jax.external.network import ExternalJaxNetwork
from ...jax.external.trace import trace
from ...jax.network import Model
from ..losses import LOSSES
from ..on_jax import KerasJaxNetwork, pure
from .build import model_of


class ExternalKerasJaxNetwork(ExternalJaxNetwork, KerasJaxNetwork):
    """A model of keras.applications or of the user's function in JAX's compiled step."""

    losses = LOSSES

    def model_of(self, problem: Problem) -> Model:
        model = model_of(self, problem, _traced)
        self._variables = model.trainable_variables
        self.prepare_loss()
        return pure(model)


def _traced(model: keras.Model, item: Any, shown: str) -> Trace:
    return trace(shown, pure(model), item)
