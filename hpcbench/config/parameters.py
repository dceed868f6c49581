"""The parameters of a case: names, types and defaults. The tables in the docs are generated from this schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, field_validator, model_validator

from hpcbench.config.environment_variables import check_no_secret
from hpcbench.config.workload import external_model, operator_name, operator_parameters, pipeline
from hpcbench.config.workload.data_source import DataSource
from hpcbench.config.workload.fields import FRAMEWORKS, MOST, Settings
from hpcbench.config.workload.model_name import OF_LIBRARIES, ONNX_EXAMPLE, similar
from hpcbench.config.workload.optimizer import Optimizer, check_epochs
from hpcbench.config.workload.pipeline import PageCacheState
from hpcbench.core import frameworks
from hpcbench.core.frameworks import (
    BACKWARD,
    DYNAMIC,
    EXCHANGE_IN_UPDATE,
    ONLY_INFER,
    OPERATOR,
    THREAD_COUNTS,
    TIME_TO_ACCURACY,
)
from hpcbench.core.run_spec import COMMAND, SRUN
from hpcbench.errors import nearest
from hpcbench.models import catalog
from hpcbench.models.operators.catalog import OPERATORS
from hpcbench.models.source import ONNX_FRAMEWORKS, Source, source_of

MAX_SEED = 2**32 - 1
# Parameters that do not apply to a command unless the user sets them; otherwise null in plans and tables.
_OF_NETWORKS = (
    *("model", "model_options", *external_model.PARAMETERS, "task", "strategy", "dtype", "batch_size", "seed"),
    *("optimizer", "averaging_period", "data", "held_out", "target_accuracy", "max_epochs", "page_cache"),
    *(*operator_parameters.PARAMETERS, "validate"),
)

_OF_DYNAMIC = {
    "framework": ("pytorch",),
    "device": ("cpu",),
    "execution": ("eager",),
    "strategy": ("single",),
    "task": ("inference", "training"),
    "wait_policy": ("passive",),  # spinning threads would be counted as busy
}
_OF_SECTIONS = ("schedule", "section_depth")
# Parameters of models, which a command cannot have.
NOT_OF_COMMANDS = (
    *("model", "model_options", *external_model.PARAMETERS),
    *(
        "execution",
        "data",
        "target_accuracy",
        "page_cache",
        "optimizer",
        "threads",
        *_OF_SECTIONS,
        "operator",
        "sizes",
        "validate",
    ),
)


class Parameters(Settings):
    """All parameters of a case. Equal parameters and user parameters define the same case."""

    oversubscribe: bool = Field(default=False, description="whether threads may outnumber CPUs")
    optimizer: Optimizer = Field(
        default_factory=Optimizer, description="optimizer of training: a name, or a mapping with its options"
    )
    averaging_period: int = Field(
        default=8, ge=1, le=MOST, description="with strategy: local_sgd, steps between two averagings of the weights"
    )
    data: DataSource | None = Field(
        default=None, description="real data, read by the framework's input pipeline; unset: synthetic input"
    )
    held_out: float = Field(default=0.2, gt=0, lt=1, description="fraction of the data in the validation split")
    target_accuracy: float | None = Field(
        default=None, gt=0, le=1, description="with time_to_accuracy: accuracy to reach on the validation split"
    )
    max_epochs: int = Field(
        default=100,
        ge=1,
        le=MOST,
        description="with time_to_accuracy: maximum number of epochs; a run that needs more fails",
    )
    page_cache: PageCacheState | None = Field(
        default=None,
        description="with input_pipeline: `warm` reads the image files into the page cache before the measurement, "
        "`cold` drops them from it before each window of measurements; unset: as found",
    )
    seed: int = Field(default=0, ge=0, le=MAX_SEED, description="seed of weights and synthetic input")
    environment: str | None = Field(
        default=None,
        description="environment of the framework; unset: the one with the framework's name, `horovod-FRAMEWORK` for "
        "the strategy horovod, or `pytorch-zoo` for a library model of PyTorch",
    )

    @model_validator(mode="before")
    @classmethod
    def _only_task(cls, values: Any) -> Any:
        """Return the parameters with the task inference if it is not set and the framework has no other."""
        is_unset = isinstance(values, dict) and values.get("framework") in ONLY_INFER and "task" not in values
        return {**values, "task": "inference"} if is_unset else values

    @field_validator("framework")
    @classmethod
    def _known_framework(cls, value: str) -> str:
        return _one_of(value, FRAMEWORKS, "framework")

    @field_validator("model")
    @classmethod
    def _known_model(cls, value: str | None) -> str | None:
        if value is None or source_of(value).is_external:
            return value
        meant = similar(value)
        if meant:
            raise ValueError(f"unknown model '{value}'; did you mean model: {meant}?")
        if value not in catalog.MODELS:
            raise ValueError(f"unknown model '{value}'; {nearest(value, catalog.MODELS)} {OF_LIBRARIES}")
        return value

    @field_validator("operator")
    @classmethod
    def _known_operator(cls, value: str | None) -> str | None:
        if value is not None:
            operator_name.check(value, OPERATORS)
        return value

    @field_validator("command")
    @classmethod
    def _no_secret(cls, value: str | None) -> str | None:
        return value if value is None else check_no_secret(value)

    @model_validator(mode="after")
    def _consistent(self) -> Parameters:
        if self.device == "gpu" and self.gpus_per_task == 0:
            raise ValueError("device is gpu, so gpus_per_task must be 1 or more")
        return self._network() if self.framework != COMMAND else self._program()

    def _network(self) -> Parameters:
        if self.command is not None:
            raise ValueError(f"'command' requires framework: {COMMAND}, not {self.framework}")
        if self.launch != SRUN:
            raise ValueError(f"launch: {self.launch} requires framework: {COMMAND}, not {self.framework}")
        if self.task == OPERATOR:
            operator_parameters.check(self)
        else:
            self._model()
        framework = frameworks.FRAMEWORKS[self.framework]
        if self.task != "inference" and not framework.trains:
            raise ValueError(f"task: {self.task} cannot be used with framework: {self.framework}; use task: inference")
        if self.strategy not in framework.strategies:
            known = ", ".join(framework.strategies)
            raise ValueError(f"{self.framework} has no strategy '{self.strategy}'; use one of: {known}")
        if self.execution is not None and self.execution not in framework.executions:
            known = ", ".join(framework.executions)
            raise ValueError(f"{self.framework} has no execution '{self.execution}'; use one of: {known}")
        self._check_single(framework.strategies)
        self._check_exchange()
        self._check_threads()
        return self

    def _model(self) -> None:
        """Raise ValueError if the parameters of a network do not fit together."""
        operator_parameters.check_absent(self)
        if self.model is None:
            is_of_onnx = self.framework in ONNX_FRAMEWORKS
            known = f"an ONNX file, {ONNX_EXAMPLE}" if is_of_onnx else f"one of {', '.join(catalog.MODELS)}"
            raise ValueError(f"'model' is missing: {self.framework} requires {known}")
        source = source_of(self.model)
        pipeline.check(self, source)
        if source.is_external:
            external_model.check(self, source)
        else:
            self._shipped(self.model)
        self._check_target()
        check_epochs(self.optimizer, has_data=self.data is not None)

    def _check_single(self, strategies: Sequence[str]) -> None:
        """Raise ValueError for several tasks without a strategy, unless each of them has a model of its own.

        These are the trainings of several models to a target accuracy, and replicas of frameworks without strategies.
        The tasks of a collective operator make one call together.
        """
        others = ", ".join(name for name in strategies if name != "single")
        may_be_several = self.task == TIME_TO_ACCURACY or operator_parameters.is_collective(self.operator)
        if self.strategy == "single" and self.tasks > 1 and others and not may_be_several:
            raise ValueError(f"the strategy single allows one task, not {self.tasks}; use one of: {others}")

    def _check_exchange(self) -> None:
        """Raise ValueError if ranks communicate in the update, which the task backward does not have."""
        if self.task == BACKWARD and self.strategy in EXCHANGE_IN_UPDATE.get(self.framework, ()):
            raise ValueError(
                f"strategy: {self.strategy} of {self.framework} cannot be used with task: {BACKWARD}; "
                "its ranks communicate in the update"
            )

    def _shipped(self, model: str) -> None:
        if self.framework in ONNX_FRAMEWORKS:
            raise ValueError(
                f"'{model}' cannot be used with framework: {self.framework}; use an ONNX file, {ONNX_EXAMPLE}"
            )
        external_model.check_absent(self)
        options = catalog.resolved_options(model, self.model_options)
        if self.data and self.data.imagefolder and "image_size" not in options:
            raise ValueError(f"'data' is an image folder, but {model} does not use images")

    def _check_threads(self) -> None:
        given = [name for name in THREAD_COUNTS if getattr(self, name) is not None]
        if self.threads == "none" and given:
            raise ValueError(f"threads: none cannot be used with {given[0]}: {getattr(self, given[0])}")
        if self.threads == "fixed" and not given:
            raise ValueError("threads: fixed requires intra_op_threads or inter_op_threads")
        if self.threads == DYNAMIC:
            self._check_dynamic()
            return
        for name in _OF_SECTIONS:
            if getattr(self, name) is not None:
                mode = self.threads or "the framework defaults"
                raise ValueError(f"{name} requires threads: dynamic, not {mode}")

    def _check_dynamic(self) -> None:
        """Raise ValueError for parameters with which dynamic threads, hooks on modules of one process, cannot work."""
        for name, wanted in _OF_DYNAMIC.items():
            value = getattr(self, name)
            if value is not None and value not in wanted:
                unset = " or unset" if getattr(type(self).model_fields[name], "default", "") is None else ""
                raise ValueError(f"threads: dynamic requires {name} {' or '.join(wanted)}{unset}, not {value}")
        if self.schedule is not None and self.section_depth is not None:
            raise ValueError("schedule cannot be used with section_depth")
        if self.instances > 1:  # strategy: single implies one task
            raise ValueError(f"threads: dynamic cannot be used with instances: {self.instances}")

    def _check_target(self) -> None:
        if self.task != TIME_TO_ACCURACY:
            if self.target_accuracy is not None:
                raise ValueError(f"target_accuracy requires task: {TIME_TO_ACCURACY}, not {self.task}")
        elif self.target_accuracy is None:
            raise ValueError(f"task {TIME_TO_ACCURACY} requires target_accuracy, e.g. 0.95")
        elif self.data is None:
            raise ValueError(f"task {TIME_TO_ACCURACY} requires data: synthetic input cannot converge")

    def _program(self) -> Parameters:
        if not (self.command or "").strip():
            raise ValueError("'command' is missing; add one, e.g. `command: ./bench --size 4`")
        for name in NOT_OF_COMMANDS:
            if getattr(self, name) and name in self.content():
                raise ValueError(f"'{name}' cannot be used with framework: {COMMAND}")
        if self.strategy != "single":
            raise ValueError(f"strategy: {self.strategy} cannot be used with framework: {COMMAND}")
        return self

    @property
    def tasks(self) -> int:
        """Return the number of tasks on all nodes."""
        return self.nodes * self.tasks_per_node

    @property
    def environment_name(self) -> str:
        """Return the name of the environment with the framework and strategy of the case."""
        if self.environment:
            return self.environment
        if self.strategy == "horovod":
            return f"horovod-{self.framework}"
        return f"{self.framework}-zoo" if self.source and self.source.needs_zoo else self.framework

    @property
    def source(self) -> Source | None:
        """Return where the model comes from; None for a command."""
        return source_of(self.model) if self.model else None

    def content(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, which determine the id of a case.

        Defaults are omitted, so that the id of a case does not change when a later version adds a parameter.
        """
        content = self.model_dump(mode="json", exclude_defaults=True, exclude={"optimizer", "sizes", "validate"})
        if sizes := operator_parameters.changed_sizes(self):
            content["sizes"] = sizes
        if optimizer := self.optimizer.content():
            content["optimizer"] = optimizer
        usual = self.model_copy(update={"environment": None}).environment_name
        if content.get("environment") == usual:  # the default for the framework
            del content["environment"]
        if content.get("threads") != DYNAMIC:  # derived from the thread counts
            content.pop("threads", None)
        if self.model is None or source_of(self.model).is_external:
            return content
        defaults = catalog.MODELS[self.model].options
        options = {name: value for name, value in self.model_options.items() if value != defaults[name]}
        return {**content, "model_options": options} if options else _without(content, "model_options")

    def planned(self) -> dict[str, Any]:
        """Return all parameters by name. Those that the case cannot have are None.

        For a command, parameters of networks are None unless the user set them.
        """
        values = self.model_dump(mode="json")
        if self.framework == COMMAND:
            values.update({name: None for name in _OF_NETWORKS if name not in self.model_fields_set})
        elif self.task == OPERATOR:
            values.update(dict.fromkeys(operator_parameters.NOT_OF_OPERATORS))
            values["sizes"] = operator_parameters.changed_sizes(self)
        else:
            values.update(dict.fromkeys(operator_parameters.PARAMETERS))
        return values


NAMES = frozenset(Parameters.model_fields)


def reserved_hint(name: str) -> str:
    """Return a hint for a program that has a parameter with the name of one of hpcbench."""
    return f"'{name}' is a parameter of hpcbench; for one of your program, use another name, e.g. my_{name}"


def _without(content: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != name}


def _one_of(value: str, known: Any, kind: str) -> str:
    if value not in known:
        raise ValueError(f"unknown {kind} '{value}'; {nearest(value, known)}")
    return value
