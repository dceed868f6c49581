"""The parameters of a case that describe its computation and its resources, and its thread and runtime settings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import Field, create_model

from hpcbench.config.workload.model_input import Inputs
from hpcbench.config.workload.model_name import JSON_SCHEMA, ModelName
from hpcbench.config.workload.operator_name import OperatorName
from hpcbench.config.workload.operator_name import json_schema as operator_schema
from hpcbench.config.yaml_document import Model
from hpcbench.core import frameworks
from hpcbench.core.frameworks import DEVICES, DTYPES, ONLY_INFER, SETTINGS, STRATEGIES, TASKS, Setting
from hpcbench.core.run_spec import COMMAND, LAUNCHERS, SRUN
from hpcbench.models.items import ITEMS
from hpcbench.models.losses import LOSSES
from hpcbench.models.operators.catalog import OPERATORS
from hpcbench.models.operators.operator import FORWARD, PHASES

MOST, MOST_ITEMS = 10**6, 10**9  # upper bounds of counts, and of counts of items
FRAMEWORKS = tuple(dict.fromkeys((*frameworks.FRAMEWORKS, COMMAND)))
EXECUTIONS = tuple(dict.fromkeys(name for each in frameworks.FRAMEWORKS.values() for name in each.executions))

if TYPE_CHECKING:
    Task: TypeAlias = str
    Device: TypeAlias = str
    Dtype: TypeAlias = str
    Launch: TypeAlias = str
    Phase: TypeAlias = str
else:
    Task, Device, Dtype, Launch = Literal[tuple(TASKS)], Literal[DEVICES], Literal[DTYPES], Literal[LAUNCHERS]
    Phase = Literal[PHASES]


def _names(known: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in known)


def _type_of(setting: Setting) -> Any:
    kind = Literal[setting.values] if setting.values else setting.kind
    return kind if setting.default is not None else kind | None


def _field_of(setting: Setting) -> Any:
    limits: dict[str, Any] = {"ge": 1, "le": setting.maximum} if setting.kind is int else {}
    if setting.kind is str and not setting.values:
        limits = {"min_length": 1}
    return Field(default=setting.default, description=setting.description, **limits)


class Work(Model):
    """The computation of a case and its resources."""

    framework: str = Field(
        description=f"the framework: {_names(FRAMEWORKS)}; `command` runs any program instead of a model",
        json_schema_extra={"enum": [*FRAMEWORKS]},
    )
    command: str | None = Field(default=None, description="one or more lines of bash, if framework is command")
    model: ModelName = Field(
        default=None,
        description=f"the network, unless framework is command or task is operator: {_names(ITEMS)}; or a library "
        "model: `torchvision/NAME`, `timm/NAME` and `transformers/NAME` with PyTorch, `keras-applications/NAME` with "
        "Keras. With PyTorch, Keras or JAX, also your own: `MODULE:FUNCTION`. "
        "With onnxruntime, an ONNX file, relative to the workspace: `{onnx: FILE}` or `onnx:FILE`",
        json_schema_extra=JSON_SCHEMA,
    )
    model_options: dict[str, Any] = Field(
        default_factory=dict,
        description="options that differ from the model's defaults; for library models and your own, keyword arguments "
        "or configuration values",
    )
    input: Inputs | None = Field(
        default=None,
        description="input of a library model, your own model or an ONNX file: one input, or a mapping from names to "
        "inputs; unset: the default input of the library or file; required for `MODULE:FUNCTION`",
    )
    loss_function: str | None = Field(
        default=None,
        description=f"loss of a library model or of your own: {_names(LOSSES)}, or `MODULE:FUNCTION`, which receives "
        "output and targets; unset: cross_entropy",
    )
    step: str | None = Field(
        default=None,
        description="`MODULE:FUNCTION` that runs one training step of a library model or of your own, in "
        "PyTorch; it receives model, inputs, targets and optimizer, and returns the loss",
    )
    weights: str | None = Field(
        default=None,
        min_length=1,
        description="file or folder with weights for a library model or your own, relative to the workspace; unset: "
        "random weights from `seed`",
    )
    task: Task = Field(
        default="training",
        description=". ".join(f"{name}: {task.description}" for name, task in TASKS.items())
        + f". {', '.join(ONLY_INFER)}: inference only",
    )
    operator: OperatorName = Field(
        default=None,
        description=f"with task: operator, the operator: {_names(OPERATORS)}. With PyTorch, also your own, in a Python "
        "file relative to the workspace: `{python: FILE}` or `python:FILE`",
        json_schema_extra=operator_schema(OPERATORS),
    )
    phase: Phase = Field(
        default=FORWARD,
        description="with task: operator, what is computed: the result, or from a fixed cotangent the gradients of the "
        "inputs, of the weights, or of both",
    )
    sizes: dict[str, Any] = Field(
        default_factory=dict,
        description="with task: operator, sizes and attributes that differ from the operator's defaults, e.g. "
        "`{m: 512, n: 512, k: 64}`; for your own operator, arguments of its function `inputs`",
    )
    strategy: str = Field(
        default="single",
        description=f"parallel strategy: {_names(STRATEGIES)}, if the framework has it; `single` is one "
        "task, except in time_to_accuracy, where each task trains its own model",
        json_schema_extra={"enum": [*STRATEGIES]},
    )
    device: Device = Field(default="cpu", description="device of the model")
    dtype: Dtype = Field(
        default="float32", description="data type; training in 16 bits uses mixed precision (autocast)"
    )
    execution: str | None = Field(
        default=None,
        description="`eager`: operation by operation. `graph`: traced once (tf.function, MXNet's hybridize). "
        "`compiled`: fused by a compiler (torch.compile, XLA). Unset: the framework's default",
        json_schema_extra={"enum": [*EXECUTIONS, None]},
    )
    batch_size: int = Field(
        default=32, ge=1, le=MOST_ITEMS, description="samples per batch and task; sequences for gpt"
    )
    nodes: int = Field(default=1, ge=1, le=MOST, description="nodes of the job")
    tasks_per_node: int = Field(default=1, ge=1, le=MOST, description="tasks (processes) per node")
    cpus_per_task: int = Field(default=1, ge=1, le=MOST, description="CPUs per task")
    launch: Launch = Field(
        default=SRUN,
        description="with framework: command, what starts the processes. `srun`: one process per task, also on a "
        "machine without Slurm. `torchrun`: torchrun on each node, with tasks_per_node workers. `mpirun`: mpirun on "
        "the first node, with all tasks. `none`: the command once, on the first node; it starts other processes itself",
    )
    gpus_per_task: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description="GPUs per task; the task uses one of them; default: 1 if device is gpu",
    )


if TYPE_CHECKING:

    class Settings(Work):
        """Annotations of the settings that `core.frameworks` declares, for type checkers."""

        validate: bool = False  # type: ignore[assignment]
        intra_op_threads: int | None = None
        inter_op_threads: int | None = None
        threads: str | None = None
        schedule: str | None = None
        section_depth: int | None = None
        instances: int = 1
        affinity: str | None = None
        openmp: str | None = None
        allocator: str | None = None
        compile_mode: str | None = None

else:
    _VALIDATE = Field(
        default=False,
        description="after the measurement, compare the results with a reference in float64, and repeat the call. "
        "The results are the output or gradients of an operator, the output of a model in inference, otherwise "
        "its loss and the gradients of its weights. In a training with data, check instead that each item is delivered "
        "once per epoch",
    )
    with warnings.catch_warnings():  # `validate` is also a deprecated method of pydantic's models
        warnings.filterwarnings("ignore", 'Field name "validate"', UserWarning)
        Settings = create_model(
            "Settings",
            __base__=Work,
            validate=(bool, _VALIDATE),
            **{each.name: (_type_of(each), _field_of(each)) for each in SETTINGS},
        )
