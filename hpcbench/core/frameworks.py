"""The frameworks with their strategies, execution modes and settings, and the terms that all of them share."""

from typing import Dict, NamedTuple, Tuple

TIME_TO_ACCURACY = "time_to_accuracy"
TASKS = ("inference", "training", TIME_TO_ACCURACY)
DEVICES = ("cpu", "gpu")
DTYPES = ("float32", "bfloat16", "float16")
EAGER, GRAPH, COMPILED = "eager", "graph", "compiled"
EXECUTIONS = (EAGER, GRAPH, COMPILED)
NONE, FIXED, DYNAMIC = (
    "none",
    "fixed",
    "dynamic",
)  # thread modes: framework defaults, one count for all layers, one count per layer group
SCHEDULE = "schedule"  # the per-layer thread plan of DYNAMIC if it is faster, otherwise FIXED


class Framework(NamedTuple):
    """What one framework supports.

    The first of `executions` is the framework's default. `settings` are the CPU parameters that only some frameworks
    have.
    """

    description: str
    strategies: Tuple[str, ...]
    executions: Tuple[str, ...]
    settings: Tuple[str, ...]


_OPENMP = ("openmp", "wait_policy")
_TORCH = (*_OPENMP, "allocator", "flush_denormals", "onednn", "compile_mode")
_TENSORFLOW = ("allocator", "onednn")
_JAX = ("allocator",)

FRAMEWORKS: Dict[str, Framework] = {
    "pytorch": Framework("PyTorch", ("single", "ddp", "fsdp", "horovod", "deepspeed"), (EAGER, COMPILED), _TORCH),
    "tensorflow": Framework(
        "TensorFlow", ("single", "multi_worker_mirrored", "horovod"), (GRAPH, EAGER, COMPILED), _TENSORFLOW
    ),
    "keras-torch": Framework("Keras 3 on PyTorch", ("single", "ddp"), (EAGER, COMPILED), _TORCH),
    "keras-jax": Framework("Keras 3 on JAX", ("single", "data_parallel"), (COMPILED,), _JAX),
    "keras-tensorflow": Framework(
        "Keras 3 on TensorFlow", ("single", "multi_worker_mirrored"), (GRAPH, EAGER, COMPILED), _TENSORFLOW
    ),
    "jax": Framework("JAX with Flax and Optax", ("single", "data_parallel"), (COMPILED,), _JAX),
    "mxnet": Framework(
        "MXNet's Gluon", ("single", "kvstore", "horovod"), (GRAPH, EAGER), (*_OPENMP, "allocator", "onednn")
    ),
}
SETTINGS = tuple(dict.fromkeys(setting for each in FRAMEWORKS.values() for setting in each.settings))
STRATEGIES = tuple(dict.fromkeys(strategy for each in FRAMEWORKS.values() for strategy in each.strategies))
# Strategies whose ranks communicate in inference, too. The replicas of the others do not.
SHARDED = ("fsdp",)
