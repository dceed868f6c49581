"""Tables of the keys of experiment, site, recipe and device files, from the models that check them."""

from __future__ import annotations

import types
import typing

from pydantic import BaseModel

from hpcbench.config.container import Container
from hpcbench.config.devices.description import Description, DeviceFile, MatrixRates
from hpcbench.config.experiment import Experiment, Measure, Profile, Tune
from hpcbench.config.matrix.axes import Range
from hpcbench.config.matrix.csv_group import CsvGroup
from hpcbench.config.metrics import Metric
from hpcbench.config.parameters import Parameters
from hpcbench.config.recipe import Compile, Recipe, Step
from hpcbench.config.retry import Retry
from hpcbench.config.site import Carbon, Cost, Environment, Launcher, Limits, Partition, Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.workload.data_source import DataSource
from hpcbench.config.workload.model_input import ModelInput
from hpcbench.config.workload.optimizer import LearningRate, Optimizer
from reference_parts.tables import code, codes, markdown_table

# By the name of the generated part.
MODELS: dict[str, type[BaseModel]] = {
    "experiment": Experiment,
    "parameters": Parameters,
    "data": DataSource,
    "input": ModelInput,
    "optimizer": Optimizer,
    "learning_rate": LearningRate,
    "measure": Measure,
    "profile": Profile,
    "retry": Retry,
    "tune": Tune,
    "metrics": Metric,
    "slurm": SlurmOptions,
    "ranges": Range,
    "CSV files": CsvGroup,
    "site": Site,
    "environments": Environment,
    "container": Container,
    "partitions": Partition,
    "site limits": Limits,
    "launcher": Launcher,
    "cost": Cost,
    "carbon": Carbon,
    "recipe": Recipe,
    "steps": Step,
    "compile": Compile,
    "device files": DeviceFile,
    "devices": Description,
    "matrix_tflops": MatrixRates,
}
_PLAIN = {int: "integer", float: "number", str: "text", bool: "`true`, `false`"}


def keys_of(model: type[BaseModel]) -> list[str]:
    """Return a table of the keys of a model."""
    rows = [_row(field.alias or name, field) for name, field in model.model_fields.items()]
    return markdown_table(("key", "type", "default", "meaning"), rows)


def _row(name: str, field: typing.Any) -> tuple[str, str, str, str]:
    default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
    return code(name), _kind(field.annotation), default, field.description or ""


def _default(value: object) -> str:
    if isinstance(value, BaseModel):
        return "see below"
    if value is None:
        return "unset"
    return code(str(value).lower() if isinstance(value, bool) else str(value) or '""')


def _kind(annotation: typing.Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return codes(arguments)
    if origin is typing.Annotated:
        return _kind(arguments[0])
    if origin in (typing.Union, types.UnionType):
        if set(arguments) == {bool, int, float, str}:
            return "text, number, `true` or `false`"
        return " or ".join(_kind(kind) for kind in arguments if kind is not type(None))
    if origin is list:
        return f"list of {_kind(arguments[0])}"
    if origin is dict:
        return f"mapping to {_kind(arguments[1])}"
    if origin is tuple:
        return "`[first, last]`" if len(set(arguments)) == 1 else f"[{', '.join(map(_kind, arguments))}]"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping" if annotation is not Range else "range"
    return _PLAIN.get(annotation, "any value")
