"""The dtypes, GPU and arithmetic of a case on TensorFlow."""

from typing import Any, List, Sequence

import tensorflow as tf

from ...workload.problem import Problem
from .. import capabilities

DTYPES = {"float32": tf.float32, "bfloat16": tf.bfloat16, "float16": tf.float16}


def gpus() -> List[Any]:
    """Return the GPUs that TensorFlow sees."""
    return tf.config.list_physical_devices("GPU")


def details(gpu: Any) -> Any:
    """Return what TensorFlow reports about a GPU."""
    return tf.config.experimental.get_device_details(gpu)


def choose_gpu(problem: Problem) -> None:
    """Make the rank's GPU the only visible one, and allocate memory on demand. Call this before the first operation."""
    if problem.on_gpu:
        own = gpus()[capabilities.own_gpu(problem, len(gpus()))]
        tf.config.set_visible_devices(own, "GPU")
        tf.config.experimental.set_memory_growth(own, True)


def check_places(arrays: Sequence[Any]) -> None:
    """Raise RuntimeError if an array is not on a GPU: TensorFlow falls back to the CPU without a message."""
    elsewhere = {tf.convert_to_tensor(array).device for array in arrays}
    elsewhere = {place for place in elsewhere if "GPU" not in place}
    if elsewhere:
        raise RuntimeError("the case requests a GPU, but TensorFlow has arrays on %s" % ", ".join(sorted(elsewhere)))


def set_arithmetic() -> None:
    """Set equal float32 arithmetic in all frameworks; user code may have changed it.

    A GPU would round the factors of products to TF32 (10 bits).
    """
    tf.config.experimental.enable_tensor_float_32_execution(False)


def function(step: Any, compiled: bool) -> Any:
    """Return a function as a graph, or compiled by XLA."""
    return tf.function(step, jit_compile=True if compiled else None, autograph=False)
