"""The experiment file: constants, axes, measurement and Slurm options."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, field_validator, model_validator

from hpcbench.config.expressions import names_in
from hpcbench.config.matrix.axes import Axes
from hpcbench.config.metrics import Metric
from hpcbench.config.names import check_name
from hpcbench.config.parameters import NAMES
from hpcbench.config.retry import Retry
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.validation.acceptance import Conditions, check_accept
from hpcbench.config.validation.common_mistakes import hint_for_key
from hpcbench.config.validation.experiment_checks import (
    GROUPS,
    check_axes_apart,
    check_held_out,
    check_metrics,
    check_parameter_names,
    check_rank_by,
    with_valid_axes,
)
from hpcbench.config.validation.findings import Findings
from hpcbench.config.yaml_document import Document, Model
from hpcbench.core.profiling.operator_row import MOST_CLOCKS
from hpcbench.core.run_spec import COMMAND, MOST_RUNS
from hpcbench.core.training.trajectory import MOST_STEPS
from hpcbench.models import catalog


class Profile(Model):
    """The profile of the operators of each network, measured after the run's other measurements."""

    power: Literal["auto", "off"] | Annotated[StrictInt, Field(ge=1)] = Field(
        default="auto",
        description="operators whose power is measured: `off` for none; a number; `auto` for up to 80 with different "
        "utilization, if the node has a power sensor",
        json_schema_extra={"anyOf": [{"enum": ["auto", "off", False]}, {"type": "integer", "minimum": 1}]},
    )
    clocks: StrictInt | None = Field(
        default=None,
        ge=1,
        le=MOST_CLOCKS,
        description="number of clocks of the device at which to profile, in addition to the default clock; requires "
        "permission on the node",
    )
    unsupported: Literal["refuse", "skip"] = Field(
        default="refuse",
        description="cases that cannot be profiled: `refuse` ends `sweep` with an error, `skip` leaves them out",
    )

    @field_validator("power", mode="before")
    @classmethod
    def _of_yaml(cls, value: Any) -> Any:
        """Return `off` for False: YAML 1.1 reads the word as a boolean. Raise ValueError for another value."""
        if value is False:
            return "off"
        if value in ("auto", "off") or (type(value) is int and value > 0):
            return value
        raise ValueError(f"{value!r} is not valid: should be auto, off, or a number of operators, 1 or more")


class Trajectory(Model):
    """A second training of each case that trains, of which losses and weights are recorded."""

    steps: int = Field(default=100, ge=1, le=MOST_STEPS, description="number of steps")


class Measure(Model):
    """The measurement of each run: number of runs, warm-up, measurements and stopping rules."""

    precision: float = Field(
        default=0.01,
        gt=0,
        lt=1,
        description="measure until the 95 % CI of the median is narrower than this fraction of the median (0.01 or "
        "1 %), or no longer narrows",
        json_schema_extra={"type": ["number", "string"], "pattern": "%$"},
    )
    min_measurements: int = Field(default=10, ge=1, description="minimum number of measurements")
    min_time_s: float = Field(default=1.0, gt=0, description="minimum measuring time in seconds")
    max_time_s: float = Field(default=10.0, gt=0, description="maximum measuring time in seconds")
    max_warmup_s: float = Field(
        default=10.0, ge=0, description="maximum warm-up in seconds; it ends earlier if the step time is steady"
    )
    repetitions: int = Field(default=6, ge=1, le=MOST_RUNS, description="runs of each case, each in new processes")
    idle_node: Literal["ignore", "wait", "require"] = Field(
        default="ignore",
        description="check first whether other processes use the node: `wait` until it is idle, for at most half of "
        "the wall time; `require` an idle node, otherwise skip the run",
    )
    retries: int = Field(default=1, ge=0, le=100, description="maximum number of retries of a run with interference")
    shuffle_seed: int = Field(default=0, ge=0, description="seed of the random order of the runs")
    profile: Profile | None = Field(
        default=None, description="also time each operator of the networks (PyTorch); unset: no profile"
    )
    trajectory: Trajectory | None = Field(
        default=None,
        description="also train each network again, from its initial weights on batches that are equal in all "
        "frameworks, and record losses and weights, in the first two runs of each case; unset: no trajectory",
    )

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
        description="other shapes, e.g. `{batch_size: 24}`, on which `hpcbench tune` measures the gain of a per-layer "
        "thread plan",
    )


class Experiment(Model):
    """A checked experiment file. The values of its parameters are checked when they are resolved, case by case."""

    name: str = Field(description="name of the experiment: letters, digits, dot, dash and underscore")
    description: str = Field(default="", description="one-line description")
    parameters: dict[str, Any] = Field(
        default_factory=dict, description='constants, or "{{ expressions }}" of other parameters'
    )
    matrix: Axes = Field(default_factory=dict, description="axes; hpcbench measures all combinations of values")
    zip: list[Axes] = Field(
        default_factory=list, description="groups of axes, combined element by element, or CSV files"
    )
    exclude: list[dict[str, Any] | str] = Field(
        default_factory=list, description='points to remove: values to match, or a "{{ condition }}"'
    )
    include: list[dict[str, Any]] = Field(default_factory=list, description="points to add; a value may be a list")
    user_parameters: list[str] = Field(
        default_factory=list,
        description="user parameters that `command` does not use, e.g. for Slurm options. Names in expressions "
        "of `command` need no declaration. Each becomes a column of the table",
    )
    same_workload: list[str] = Field(
        default_factory=list,
        description="user parameters that do not change the workload of a command; cases that differ in them are "
        "ranked together",
    )
    measure: Measure = Field(default_factory=Measure, description="how each run is measured")
    tune: Tune = Field(default_factory=Tune, description="additional measurements of `hpcbench tune`")
    retry: Retry = Field(default_factory=Retry, description="which runs are retried automatically")
    skip_larger_on_oom: list[str] = Field(
        default_factory=list,
        description="parameters whose larger values never need less memory: after a case runs out of memory, hpcbench "
        "skips cases that are larger in these parameters and otherwise equal",
    )
    metrics: dict[str, Metric] = Field(
        default_factory=dict, description="metrics to read from the output or the files of a command, by name"
    )
    rank_by: str | None = Field(
        default=None,
        description="metric by which `report` ranks the cases, written as for its option `--metric`, e.g. `loss:lower`",
    )
    expect: list[str] = Field(
        default_factory=list,
        description="regular expressions that the output of a command must match; otherwise the run fails",
    )
    accept: dict[str, Conditions] = Field(
        default_factory=dict,
        description='conditions that each case must meet, by quantity: `{accuracy: ">= 0.93"}`; a quantity may have a '
        "list of them. Quantities have names as in `rank_by`",
    )
    slurm: dict[str, Any] = Field(default_factory=dict, description="Slurm options")
    shared: bool = Field(
        default=False,
        description="let others read the sweep's folders, and resume the sweep if the umask lets them write; otherwise "
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
            raise ValueError("the key has no axes: add an axis, or remove the key for a single case")
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

    @property
    def runs_command(self) -> bool:
        """Return whether the file has cases with `framework: command`."""
        return any(COMMAND in (value if isinstance(value, list) else [value]) for value in self._values("framework"))

    @property
    def commands(self) -> list[str]:
        """Return all commands of the file."""
        return [
            str(each) for value in self._values("command") for each in (value if isinstance(value, list) else [value])
        ]

    def _values(self, name: str) -> list[Any]:
        """Return all values that the file gives a parameter, in any group."""
        groups: list[dict[str, Any]] = [self.parameters, *map(dict, (self.matrix, *self.zip)), *self.include]
        return [group[name] for group in groups if name in group]


OPTIONS = frozenset(option for model in catalog.MODELS.values() for option in model.options)
"""The options of the shipped models."""
# Keys that users write in another section; one that several sections have belongs to the first.
SECTIONS = {
    "slurm": SlurmOptions.model_fields.keys(),
    "measure": Measure.model_fields.keys(),
    "parameters": NAMES,
    "model_options": OPTIONS,
}


def load_experiment(document: Document) -> Experiment:
    """Return the checked experiment of a document.

    Raise UserError with all its errors, each with file, line and key, except those of values that cases resolve.
    """
    findings = Findings(document, _key_hint)
    data = with_valid_axes(document.data, findings)
    experiment = findings.validated(Experiment, data)
    if isinstance(data.get("slurm"), dict):
        constants = {key: value for key, value in data["slurm"].items() if not _is_resolved(key, value)}
        findings.validated(SlurmOptions, constants, ("slurm",))

    def part(*keys: str) -> Experiment | None:
        """Return an experiment with only these keys, or None if one of them is not valid."""
        return Findings(document).validated(Experiment, {"name": "part", **{k: data[k] for k in keys if k in data}})

    if groups := experiment or part(*GROUPS):
        check_parameter_names(groups, SECTIONS, findings)
        check_axes_apart(groups, findings)
    if output := experiment or part("metrics", "rank_by", "expect", "accept"):
        check_metrics(output.metrics, output.expect, findings)
        check_rank_by(output.rank_by, output.metrics, findings)
        check_accept(output.accept, output.metrics, findings)
    if tuned := experiment or part("tune"):
        check_held_out(tuned.tune.held_out, SECTIONS, findings)
    return findings.checked(experiment)


def _key_hint(key: str, section: str) -> str:
    """Return a hint for an unknown key of the file, `slurm` or `measure`."""
    known = Experiment.model_fields.keys() if section == "" else SECTIONS.get(section, ())
    return hint_for_key(key, section, known, SECTIONS if section in ("", "slurm") else {})


def _is_resolved(key: str, value: Any) -> bool:
    return key in SlurmOptions.model_fields and "{{" in str(value)
