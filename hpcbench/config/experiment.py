"""The experiment file: constants, axes, measurement and Slurm options."""

from __future__ import annotations

import contextlib
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from hpcbench.config.axes import Axes, Range, axis_values
from hpcbench.config.expressions import names_in
from hpcbench.config.metrics import Metric, check_metrics
from hpcbench.config.names import check_name
from hpcbench.config.parameters import NAMES, OPTIONS
from hpcbench.config.retry import Retry
from hpcbench.config.schema_location import KeyPath
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.yaml_document import Document, Model, build, schema_error
from hpcbench.errors import nearest


class Measure(Model):
    """The measurement of each run: repetitions, warm-up, samples and stopping rules."""

    precision: float = Field(
        default=0.01,
        gt=0,
        lt=1,
        description="sample until the 95 % CI of the median is narrower than this fraction of the median (0.01 or "
        "1 %), or no longer narrows",
        json_schema_extra={"type": ["number", "string"], "pattern": "%$"},
    )
    min_samples: int = Field(default=10, ge=1, description="minimum number of samples")
    min_time_s: float = Field(default=1.0, gt=0, description="minimum sampling time in seconds")
    max_time_s: float = Field(default=10.0, gt=0, description="maximum sampling time in seconds")
    max_warmup_s: float = Field(
        default=10.0, ge=0, description="maximum warm-up time in seconds; it ends earlier if the step time is steady"
    )
    repetitions: int = Field(default=6, ge=1, le=1000, description="runs of each case, each in new processes")
    idle_node: Literal["ignore", "wait", "require"] = Field(
        default="ignore",
        description="check first whether other processes use the node: `wait` until it is idle, for at most half of "
        "the wall time; `require` an idle node, otherwise skip the run",
    )
    retries: int = Field(
        default=1, ge=0, le=100, description="maximum number of new attempts of a run because of interference"
    )
    shuffle_seed: int = Field(default=0, ge=0, description="seed of the order in which repetitions run")

    @field_validator("precision", mode="before")
    @classmethod
    def _of_percent(cls, value: Any) -> Any:
        """Return a percentage as a fraction: 0.02 for `2 %`."""
        if isinstance(value, str) and value.endswith("%"):
            with contextlib.suppress(ValueError):
                return float(value.removesuffix("%")) / 100
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Measure:
        if self.max_time_s < self.min_time_s:
            raise ValueError(f"max_time_s is {self.max_time_s:g}, less than min_time_s, {self.min_time_s:g}")
        return self


class Tune(Model):
    """Options of `hpcbench tune`, in addition to the matrix."""

    held_out: list[dict[str, Any]] = Field(
        default_factory=list,
        description="other shapes, e.g. `{batch_size: 24}`, on which `hpcbench tune` measures the gain of a schedule",
    )


class Experiment(Model):
    """A checked experiment file. The values of its parameters are checked when they are resolved, case by case."""

    name: str = Field(description="name of the experiment: letters, digits, dot, dash and underscore")
    description: str = Field(default="", description="description in one line")
    parameters: dict[str, Any] = Field(
        default_factory=dict, description='constants, or "{{ expressions }}" of other parameters'
    )
    matrix: Axes = Field(default_factory=dict, description="axes; all combinations of their values are measured")
    zip: list[Axes] = Field(default_factory=list, description="groups of axes, combined element by element")
    exclude: list[dict[str, Any] | str] = Field(
        default_factory=list, description='points to remove: values to match, or a "{{ condition }}"'
    )
    include: list[dict[str, Any]] = Field(default_factory=list, description="points to add; a value may be a list")
    user_parameters: list[str] = Field(
        default_factory=list,
        description="user parameters that `command` does not use, e.g. for Slurm options. Names in expressions "
        "of `command` need no declaration. Each is a column of the table",
    )
    same_workload: list[str] = Field(
        default_factory=list,
        description="user parameters that do not change the workload of a command; cases that differ in them are "
        "ranked together",
    )
    measure: Measure = Field(default_factory=Measure, description="how each repetition is measured")
    tune: Tune = Field(default_factory=Tune, description="additional measurements of `hpcbench tune`")
    retry: Retry = Field(default_factory=Retry, description="which repetitions are retried automatically")
    skip_larger_on_oom: list[str] = Field(
        default_factory=list,
        description="parameters whose larger values never need less memory: after a case has run out of memory, cases "
        "that are larger in these and otherwise equal are skipped",
    )
    metrics: dict[str, Metric] = Field(
        default_factory=dict, description="metrics to read from the output or the files of a command, by name"
    )
    expect: list[str] = Field(
        default_factory=list, description="regular expressions without which the output of a command is a failure"
    )
    slurm: dict[str, Any] = Field(default_factory=dict, description="Slurm options")
    shared: bool = Field(
        default=False,
        description="let others read the sweep's folders, and resume it where the umask lets them write; otherwise "
        "only you can read them (mode 0700)",
    )

    @field_validator("name")
    @classmethod
    def _valid_name(cls, value: str) -> str:
        return check_name(value)

    @field_validator("matrix", "zip", mode="before")
    @classmethod
    def _something(cls, value: Any) -> Any:
        if not value:
            raise ValueError("it is empty: add an axis, or remove the key for a single case")
        return value

    @property
    def axis_names(self) -> list[str]:
        """Return the parameters that the matrix, the zip groups and the included points set, in order of appearance."""
        groups = [self.matrix, *self.zip, *self.include]
        return list(dict.fromkeys(name for group in groups for name in group))

    @property
    def all_user_parameters(self) -> tuple[str, ...]:
        """Return the declared user parameters, and those that `command` uses directly or through other parameters."""
        used, waiting = set[str](), {"command"}
        while waiting:
            names = {name for text in map(self._values, waiting) for name in names_in(text)}
            used |= (waiting := names - used)
        found = (name for name in (*self.axis_names, *self.parameters) if name in used and name not in NAMES)
        return tuple(dict.fromkeys((*self.user_parameters, *found)))

    def _values(self, name: str) -> list[Any]:
        """Return all values that the file gives a parameter, in any group."""
        groups: list[dict[str, Any]] = [self.parameters, *map(dict, (self.matrix, *self.zip)), *self.include]
        return [group[name] for group in groups if name in group]


def load_experiment(document: Document) -> Experiment:
    """Return the checked experiment of a document. Raise UserError, with file, line and key, if it is not valid."""
    _check_axes(document)
    experiment = build(Experiment, document)
    _check_parameter_names(experiment, document)
    check_metrics(experiment.metrics, experiment.expect, document)
    for key in experiment.slurm:
        if key not in SlurmOptions.model_fields:
            hint = nearest(key, SlurmOptions.model_fields)
            raise document.error(f"unknown key '{key}'", ("slurm", key), hint)
    constants = {key: value for key, value in experiment.slurm.items() if not _has_expression(value)}
    try:
        SlurmOptions.model_validate(constants)
    except ValidationError as error:
        raise schema_error(error, SlurmOptions, document, ("slurm",)) from error
    return experiment


def _has_expression(value: Any) -> bool:
    return "{{" in str(value)


def _check_axes(document: Document) -> None:
    """Raise UserError for an invalid axis; the messages of the schema for `a list or a range` would be unclear."""
    groups: list[tuple[KeyPath, Any]] = [(("matrix",), document.data.get("matrix"))]
    zipped = document.data.get("zip")
    groups += [(("zip", index), group) for index, group in enumerate(zipped if isinstance(zipped, list) else [])]
    for path, group in groups:
        if len(path) > 1 and group == {}:
            raise document.error("the group has no axes", path)
        for name, axis in group.items() if isinstance(group, dict) else ():
            where = (*path, name)
            if isinstance(axis, dict):
                try:
                    Range.model_validate(axis)
                except ValidationError as error:
                    raise schema_error(error, Range, document, where) from error
            elif not isinstance(axis, list):
                raise document.error(f"an axis is a list or a range, not {axis!r}", where, f"write [{axis}]")
            elif not axis:
                raise document.error("the axis has no values", where)


def _check_parameter_names(experiment: Experiment, document: Document) -> None:
    for index, name in enumerate(experiment.user_parameters):
        if name in NAMES:
            what = f"'{name}' is a standard parameter: remove it from user_parameters"
            raise document.error(what, ("user_parameters", index))
        if not name.isidentifier():
            what = f"the user parameter {name!r} must be a plain word, e.g. run_of_the_week"
            raise document.error(what, ("user_parameters", index))
    own = experiment.all_user_parameters
    known = NAMES | set(own)
    groups: list[tuple[KeyPath, dict[str, Any]]] = [(("parameters",), experiment.parameters)]
    groups.append((("matrix",), dict(experiment.matrix)))
    groups += [(("zip", index), dict(group)) for index, group in enumerate(experiment.zip)]
    groups += [(("include", index), group) for index, group in enumerate(experiment.include)]
    groups += [(("exclude", index), group) for index, group in enumerate(experiment.exclude) if isinstance(group, dict)]
    for path, group in groups:
        for name, value in group.items():
            if path[0] == "include" and value == []:
                raise document.error("the list has no values", (*path, name))
            if name not in known:
                raise document.error(f"unknown parameter '{name}'", (*path, name), _parameter_hint(name, known))
    for index, name in enumerate(experiment.same_workload):
        if name not in own:
            hint = nearest(name, own) if own else "use it in `command`, or list it in user_parameters"
            raise document.error(f"unknown user parameter '{name}'", ("same_workload", index), hint)
    for index, name in enumerate(experiment.skip_larger_on_oom):
        if name not in known | OPTIONS:
            raise document.error(
                f"unknown parameter '{name}'", ("skip_larger_on_oom", index), nearest(name, known | OPTIONS)
            )
    _check_held_out(experiment, document)
    _check_axes_apart(experiment, document)


def _check_held_out(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a shape in `tune.held_out` that is empty, or not of sizes of a network or its input."""
    known = {"batch_size", *OPTIONS}
    for index, shape in enumerate(experiment.tune.held_out):
        if not shape:
            raise document.error("the shape is empty", ("tune", "held_out", index), "as in {batch_size: 24}")
        for name in shape:
            if name not in known:
                hint = nearest(name, known)
                raise document.error(
                    f"'{name}' is not a size of a network or its input", ("tune", "held_out", index), hint
                )


def _parameter_hint(name: str, known: set[str] | frozenset[str]) -> str:
    own = f"for a parameter of your own program, use it in `command`, or add user_parameters: [{name}]"
    return f"{nearest(name, known)}\n  {own}"


def _check_axes_apart(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a parameter on two axes, or axes of a zip group of different lengths."""
    seen: dict[str, str] = dict.fromkeys(experiment.matrix, "matrix")
    for index, group in enumerate(experiment.zip):
        lengths = {name: len(axis_values(axis)) for name, axis in group.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            raise document.error(f"the axes of a group must have equal lengths: {shown}", ("zip", index))
        for name in group:
            if name in seen:
                raise document.error(f"duplicate axis '{name}', also in {seen[name]}", ("zip", index, name))
            seen[name] = f"zip[{index}]"
