"""Operators of Keras 3 on JAX."""

from jax.experimental import sparse

from ....models.operators import pointwise, recurrent
from ..jax.operators import JaxOperator
from .operator_functions import FUNCTIONS, STATES, without_float64


class KerasJaxOperator(JaxOperator):
    """An operator of Keras on JAX's engine."""

    functions = FUNCTIONS
    states = STATES
    without_float64 = without_float64(recurrent.Lstm, pointwise.Tanh)
    sparse_array = sparse.BCOO  # the only one that Keras knows
