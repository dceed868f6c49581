"""The tasks; the frameworks with their strategies and execution modes; their thread and runtime settings."""

from typing import Any, Dict, NamedTuple, Optional, Tuple

INFERENCE, BACKWARD, TRAINING = "inference", "backward", "training"
TIME_TO_ACCURACY, INPUT_PIPELINE, OPERATOR = "time_to_accuracy", "input_pipeline", "operator"
LOCAL_SGD, NEIGHBORS, KVSTORE_ASYNC = "local_sgd", "neighbors", "kvstore_async"  # whose ranks have different weights
DEVICES = ("cpu", "gpu")
DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}  # of one number
DTYPES = tuple(DTYPE_BYTES)
EAGER, GRAPH, COMPILED = "eager", "graph", "compiled"
# Thread modes: framework defaults, one count for all layers, one count per layer group.
NONE, FIXED, DYNAMIC = "none", "fixed", "dynamic"
SCHEDULE = "schedule"  # the per-layer thread plan of DYNAMIC if it is faster, otherwise FIXED


class Task(NamedTuple):
    """What a case does with its network."""

    description: str
    trains: bool  # otherwise replicas do not communicate, and the times of single steps are latencies
    in_steps: bool  # whether a measurement is the time of equal steps; otherwise it is the time of the whole run


TASKS: Dict[str, Task] = {
    INFERENCE: Task("the forward pass", trains=False, in_steps=True),
    BACKWARD: Task("a training step without the update of the weights", trains=True, in_steps=True),
    TRAINING: Task(
        "forward, loss and backward of one or more batches, then an optimizer step", trains=True, in_steps=True
    ),
    TIME_TO_ACCURACY: Task("training until `target_accuracy`", trains=True, in_steps=False),
    INPUT_PIPELINE: Task("one batch of `data` on the device, without the network", trains=False, in_steps=True),
    OPERATOR: Task("one phase of `operator` instead of a model", trains=False, in_steps=True),
}
FORWARD_TASKS = tuple(name for name, task in TASKS.items() if not task.trains)
STEP_TASKS = tuple(name for name, task in TASKS.items() if task.in_steps)
NETWORK_TASKS = tuple(name for name in TASKS if name != OPERATOR)


def trains_steps(task: Any) -> bool:
    """Return whether a measurement of a task is a training step; False for None, the task of commands."""
    found = TASKS.get(task)
    return found is not None and found.trains and found.in_steps


class Framework(NamedTuple):
    """What one framework supports. The first of `executions` is the framework's default."""

    description: str
    strategies: Tuple[str, ...]
    executions: Tuple[str, ...]
    trains: bool = True  # otherwise its only task is inference


FRAMEWORKS: Dict[str, Framework] = {
    "pytorch": Framework(
        "PyTorch", ("single", "ddp", "fsdp", "horovod", "deepspeed", LOCAL_SGD, NEIGHBORS), (EAGER, COMPILED)
    ),
    "tensorflow": Framework("TensorFlow", ("single", "multi_worker_mirrored", "horovod"), (GRAPH, EAGER, COMPILED)),
    "keras-torch": Framework("Keras 3 on PyTorch", ("single", "ddp"), (EAGER, COMPILED)),
    "keras-jax": Framework("Keras 3 on JAX", ("single", "data_parallel"), (COMPILED,)),
    "keras-tensorflow": Framework(
        "Keras 3 on TensorFlow", ("single", "multi_worker_mirrored"), (GRAPH, EAGER, COMPILED)
    ),
    "jax": Framework("JAX with Flax and Optax", ("single", "data_parallel"), (COMPILED,)),
    "mxnet": Framework("MXNet's Gluon", ("single", "kvstore", KVSTORE_ASYNC, "horovod"), (GRAPH, EAGER)),
    "onnxruntime": Framework("ONNX Runtime", ("single",), (GRAPH,), trains=False),
}
TRAINING_FRAMEWORKS = tuple(name for name, each in FRAMEWORKS.items() if each.trains)  # which have the shipped models
ONLY_INFER = tuple(name for name in FRAMEWORKS if name not in TRAINING_FRAMEWORKS)
STRATEGIES = tuple(dict.fromkeys(strategy for each in FRAMEWORKS.values() for strategy in each.strategies))
# Strategies that exchange gradients or weights in the update instead of the backward pass, by framework.
EXCHANGE_IN_UPDATE = {
    "pytorch": ("deepspeed", LOCAL_SGD, NEIGHBORS),
    "mxnet": ("kvstore", KVSTORE_ASYNC, "horovod"),
}
# Strategies whose ranks communicate in inference, too. The replicas of the others do not.
SHARDED = ("fsdp",)


class Setting(NamedTuple):
    """A thread or runtime setting: a parameter that changes how fast a case runs, not what it computes.

    It is the only declaration: the parameter with its documentation, the check of the framework, the columns of tables,
    the search space of `hpcbench tune` and the comparison with the value in effect are derived from it. Applying the
    value and reading it back is the code of `node/`.
    """

    name: str
    kind: type  # bool, int (1 or more) or str
    description: str
    values: Tuple[str, ...] = ()  # of a str; none: any text
    frameworks: Optional[Tuple[str, ...]] = None  # that have it; None: all have it
    default: Any = None
    maximum: Optional[int] = None
    effective: Optional[Tuple[str, str]] = None  # the record's section and key with the value that was read back
    verified: Optional[str] = None  # when the value read back must be the requested one: ALWAYS or IF_KNOWN
    calls: Tuple[Tuple[str, str], ...] = ()  # framework and the line that sets the value in a user's program
    changes_results: bool = False  # whether results may differ in their last digits


ALWAYS, IF_KNOWN = "always", "if known"
_TORCH = ("pytorch", "keras-torch")
_TENSORFLOW = ("tensorflow", "keras-tensorflow")
_OPENMP = (*_TORCH, "mxnet")
_ONNXRUNTIME = ("onnxruntime",)


def _calls(frameworks: Tuple[str, ...], line: str) -> Tuple[Tuple[str, str], ...]:
    return tuple((framework, line) for framework in frameworks)


SETTINGS = (
    Setting(
        "intra_op_threads",
        int,
        "threads inside one operation; unset: the framework's default",
        effective=("threads", "intra_op"),
        calls=_calls(_TORCH, "torch.set_num_threads({})")
        + _calls(_TENSORFLOW, "tf.config.threading.set_intra_op_parallelism_threads({})")
        + _calls(_ONNXRUNTIME, "session_options.intra_op_num_threads = {}"),
    ),
    Setting(
        "inter_op_threads",
        int,
        "operations that may run concurrently; unset: the framework's default",
        effective=("threads", "inter_op"),
        calls=_calls(_TORCH, "torch.set_num_interop_threads({})")
        + _calls(_TENSORFLOW, "tf.config.threading.set_inter_op_parallelism_threads({})")
        + _calls(
            _ONNXRUNTIME,
            "session_options.inter_op_num_threads = {}; "
            "session_options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL",
        ),
    ),
    Setting(
        "threads",
        str,
        "`none`: the framework's default. `fixed`: as set. `dynamic` (PyTorch on the CPU): a count per layer group, "
        "at most `intra_op_threads` or all usable CPUs. Unset: fixed if a thread count is set, otherwise none",
        values=(NONE, FIXED, DYNAMIC),
    ),
    Setting(
        "schedule",
        str,
        "with `threads: dynamic`: file of the per-layer thread plan, relative to the workspace; unset: search for one",
    ),
    Setting(
        "section_depth",
        int,
        "with `threads: dynamic`: maximum depth of layer groups in the module tree; unset: its leaves",
        maximum=100,
    ),
    Setting(
        "instances",
        int,
        "processes per task, each with its own share of the task's CPUs, its own model and its own input",
        default=1,
        maximum=10**6,
    ),
    Setting(
        "affinity",
        str,
        "CPUs of each process. `compact`: core after core. `scatter`: spread over NUMA nodes, then cores. "
        "`numa`: within one NUMA node. `cores`: one hardware thread per core. Unset: all CPUs of the task",
        values=("compact", "scatter", "numa", "cores"),
    ),
    Setting(
        "openmp",
        str,
        "the OpenMP runtime, loaded with LD_PRELOAD; unset: the framework's",
        values=("gnu", "intel", "llvm"),
        frameworks=_OPENMP,
        effective=("settings", "openmp"),
    ),
    Setting(
        "wait_policy",
        str,
        "whether OpenMP threads spin or sleep while they wait; unset: the runtime's default",
        values=("active", "passive"),
        frameworks=_OPENMP,
        effective=("settings", "wait_policy"),
        verified=IF_KNOWN,  # GNU's OpenMP does not report it
    ),
    Setting(
        "allocator",
        str,
        "memory allocator, loaded by LD_PRELOAD; `glibc-retain`: the C library's, configured to keep freed memory; "
        "unset: the C library's",
        values=("jemalloc", "tcmalloc", "glibc-retain"),
        frameworks=tuple(FRAMEWORKS),
        effective=("settings", "allocator"),
    ),
    Setting(
        "flush_denormals",
        bool,
        "whether numbers too small for full precision become 0; unset: the framework's default",
        frameworks=_TORCH,
        effective=("settings", "flush_denormals"),
        verified=ALWAYS,
        calls=_calls(_TORCH, "torch.set_flush_denormal({})"),
        changes_results=True,
    ),
    Setting(
        "onednn",
        bool,
        "whether oneDNN kernels are used; unset: the framework's default",
        frameworks=(*_TORCH, *_TENSORFLOW, "mxnet"),
        effective=("settings", "onednn"),
        verified=ALWAYS,
        calls=_calls(_TORCH, "torch.backends.mkldnn.set_flags({})"),
    ),
    Setting(
        "compile_mode",
        str,
        "mode of torch.compile, if execution is `compiled`; unset: `default`",
        values=("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
        frameworks=_TORCH,
    ),
)
SETTING_NAMES = tuple(setting.name for setting in SETTINGS)
CHOICES = ("execution", *SETTING_NAMES)  # what one may choose without doing other work, on the same CPUs
THREAD_COUNTS = ("intra_op_threads", "inter_op_threads")


def runtime_settings(framework: str) -> Tuple[str, ...]:
    """Return the settings of a framework that not every case can have."""
    return tuple(each.name for each in SETTINGS if each.frameworks is not None and framework in each.frameworks)
