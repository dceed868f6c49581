"""The frameworks, with their strategies, execution modes and settings, and the terms that all of them share."""

from typing import Dict, NamedTuple, Tuple

TIME_TO_ACCURACY = "time_to_accuracy"
TASKS = ("inference", "training", TIME_TO_ACCURACY)
DEVICES = ("cpu", "gpu")
DTYPES = ("float32", "bfloat16", "float16")
EAGER, GRAPH, COMPILED = "eager", "graph", "compiled"
EXECUTIONS = (EAGER, GRAPH, COMPILED)
NONE, FIXED, DYNAMIC = "none", "fixed", "dynamic"  # threads: what nobody sets, a count for all, and one by section
SCHEDULE = "schedule"  # what dynamic threads have kept where that gains, else FIXED


class Framework(NamedTuple):
    """`executions` begins with the one that its users get when they ask for nothing. `settings` are the parameters of
    CPUs that not every framework has."""

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
# Their ranks need each other in inference, too; the replicas of the others have nothing to say to one another then.
SHARDED = ("fsdp",)
