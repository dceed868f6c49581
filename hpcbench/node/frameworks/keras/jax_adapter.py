"""The adapter of Keras on JAX."""

from ..jax.network import JAX, JaxAdapter
from .external.jax_network import ExternalKerasJaxNetwork
from .layers import KERAS
from .on_jax import KerasJaxNetwork
from .operators_on_jax import KerasJaxOperator


class KerasJax(JaxAdapter):
    """The adapter of Keras on JAX."""

    name = "keras-jax"
    packages = ("keras", "jax", "jaxlib", "grain", "numpy")
    libraries = (KERAS, JAX)
    network = KerasJaxNetwork
    external = ExternalKerasJaxNetwork
    operator = KerasJaxOperator


ADAPTER = KerasJax()
