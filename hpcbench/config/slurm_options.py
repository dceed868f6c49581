"""Slurm options of a case in addition to its resources, with checks that they are safe in #SBATCH lines."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema, field_validator, model_validator

from hpcbench.config.environment_variables import check_no_given_secret
from hpcbench.config.validation.common_mistakes import canonical
from hpcbench.config.yaml_document import Model

# #SBATCH lines are not quoted for a shell: only the characters of Slurm's option values are allowed.
OPTION_PATTERN = re.compile(r"[A-Za-z0-9_.,:/@%+=*&|()\[\]!~^-]*\Z")
_TIME = re.compile(r"(?:\d+-\d{1,2}(?::\d{1,2}(?::\d{1,2})?)?|\d+(?::\d{1,2}){0,2})\Z", re.ASCII)
_MEMORY = re.compile(r"\d+[KMGT]?\Z", re.ASCII)
_COMPONENTS = re.compile("hetjob|packjob", re.IGNORECASE)
COMPONENT_OPTIONS = ("het-group", "pack-group")  # srun options for components of heterogeneous jobs
_OPTION_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
# Options that hpcbench sets: a second value would break the script or lose its log.
OWN_OPTIONS = {
    *("array", "chdir", "clusters", "cpus-per-task", "error", "gpus", "gpus-per-node", "gpus-per-task", "gres"),
    *("input", "job-name", "no-requeue", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "parsable"),
    *("requeue", "signal", "test-only", "wait", "wrap"),
}


RESOURCES = ("nodes", "tasks_per_node", "cpus_per_task", "gpus_per_task")
# Text that may be written as a number: `time: 30`.
_TextOrNumber = Annotated[str, WithJsonSchema({"type": ["string", "integer"]})]
_PLACING = ("partition", "qos", "constraint", "reservation", "nodelist", "exclude", "gpu_type")


class SlurmOptions(Model):
    """Slurm options in addition to the resources that the parameters give. Values may be expressions."""

    time: _TextOrNumber = Field(default="01:00:00", description="time limit per run: M, M:S, H:M:S, D-H[:M[:S]]")
    partition: str | None = Field(default=None, description="partition; unset: the site's, otherwise Slurm's default")
    account: str | None = Field(default=None, description="account to charge")
    qos: str | None = Field(default=None, description="quality of service")
    constraint: str | None = Field(default=None, description="node features")
    reservation: str | None = Field(default=None, description="reservation")
    nodelist: str | None = Field(default=None, description="nodes that must be used")
    exclude: str | None = Field(default=None, description="nodes that must not be used")
    mem: _TextOrNumber | None = Field(default=None, description="memory per node, e.g. 16G")
    mem_per_cpu: _TextOrNumber | None = Field(default=None, description="memory per CPU, e.g. 2G")
    gpu_type: str | None = Field(default=None, description="type of the GPUs, e.g. v100")
    gpu_option: Literal["gres", "gpus-per-node", "gpus-per-task", "none"] = Field(
        default="gres",
        description="sbatch option that requests GPUs; `none` for a cluster without GRES: cases then use the GPUs that "
        "the driver shows, and should be `exclusive`",
    )
    exclusive: bool = Field(default=False, description="whole nodes, not shared with other jobs")
    hint: Literal["compute_bound", "memory_bound", "multithread", "nomultithread"] | None = Field(
        default=None, description="Slurm's --hint"
    )
    max_running: int | None = Field(default=None, ge=1, description="maximum number of running jobs of one array")
    pack_walltime: _TextOrNumber | None = Field(
        default=None,
        description="combine runs into jobs of at most this wall time; unset: one job per run",
    )
    pack: Literal["serial", "parallel"] = Field(
        default="serial",
        description="execute the runs of a job one after another, or concurrently on separate CPUs and GPUs, as "
        "many at once as the site's cpus_per_node allows; concurrent runs interfere with each other",
    )
    follow_on: bool = Field(
        default=False,
        description="a continuation job submits jobs that exceed the queue limit; otherwise, run `hpcbench resume`",
    )
    options: dict[str, str | int | bool] = Field(
        default_factory=dict, description="other sbatch options by long name; true for a flag"
    )

    @property
    def placement(self) -> str:
        """Return the options that may choose or configure nodes, e.g. `partition=gpu constraint=a100`."""
        named = {name: getattr(self, name) for name in _PLACING}
        return " ".join(f"{name}={value}" for name, value in {**named, **self.options}.items() if value is not None)

    @field_validator("time", "pack_walltime", "mem", "mem_per_cpu", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("time", "pack_walltime")
    @classmethod
    def _valid_time(cls, value: str | None) -> str | None:
        return None if value is None else check_time(value)

    @field_validator("mem", "mem_per_cpu")
    @classmethod
    def _valid_memory(cls, value: str | None) -> str | None:
        if value is not None and not _MEMORY.match(value):
            raise ValueError("write memory as a whole number with K, M, G or T, e.g. 16G")
        return value

    @field_validator("partition", "account", "qos", "constraint", "reservation", "nodelist", "exclude", "gpu_type")
    @classmethod
    def _safe(cls, value: str | None) -> str | None:
        if value is not None:
            check_option_value(value)
        return value

    @field_validator("options")
    @classmethod
    def _safe_options(cls, value: dict[str, str | int | bool]) -> dict[str, str | int | bool]:
        for name, setting in value.items():
            if not _OPTION_NAME.match(name):
                raise ValueError(f"'{name}' is not the long name of an sbatch option such as 'mail-type'")
            if name in COMPONENT_OPTIONS:
                raise ValueError(f"heterogeneous jobs are not supported: --{name}")
            if name in OWN_OPTIONS:
                instead = canonical(name)
                use = f"; use the parameter {instead} of the experiment" if instead in RESOURCES else ""
                raise ValueError(f"hpcbench sets --{name} itself{use}")
            if name.replace("-", "_") in cls.model_fields:
                raise ValueError(f"use slurm.{name.replace('-', '_')} instead")
            cls._check_not_short_for(name)
            check_option_value(str(setting))
            check_no_given_secret(str(setting))
        return value

    @classmethod
    def _check_not_short_for(cls, name: str) -> None:
        """Raise ValueError for abbreviations of known options, since sbatch accepts `outp` as --output."""
        known = sorted({*OWN_OPTIONS, *(field.replace("_", "-") for field in cls.model_fields)})
        longer = next((option for option in known if option.startswith(name)), None)
        if longer:
            raise ValueError(f"--{name} is an abbreviation of --{longer}: write options in full")

    @model_validator(mode="after")
    def _consistent(self) -> SlurmOptions:
        if self.mem and self.mem_per_cpu:
            raise ValueError("mem cannot be used with mem_per_cpu")
        if self.pack_walltime and walltime_s(self.pack_walltime) < walltime_s(self.time):
            raise ValueError(
                f"pack_walltime is {self.pack_walltime}, less than slurm.time ({self.time}), the time limit per run"
            )
        if self.gpu_type and self.gpu_option == "none":
            raise ValueError("gpu_type cannot be used with gpu_option: none")
        if self.pack == "parallel" and not self.pack_walltime:
            raise ValueError("pack: parallel requires pack_walltime")
        return self


def check_time(value: str) -> str:
    """Return a time limit. Raise ValueError if it is not a time of Slurm, or zero."""
    if not _TIME.match(value) or walltime_s(value) == 0:
        raise ValueError('write a time as M, M:S, H:M:S or D-H:M:S, e.g. "00:30:00"')
    return value


def check_no_component(text: str) -> None:
    """Raise ValueError for `hetjob` and `packjob`, by which sbatch separates the components of a heterogeneous job.

    It does so anywhere in a line, also inside the value of an option.
    """
    if found := _COMPONENTS.search(text):
        what = f"'{found.group()}' in an sbatch option begins a component of a heterogeneous job"
        raise ValueError(f"heterogeneous jobs are not supported: {what}: {text!r}")


def check_option_value(value: str) -> None:
    """Raise ValueError if a value is not safe in an #SBATCH line."""
    bad = sorted({char for char in value if not OPTION_PATTERN.match(char)})
    if bad or value.startswith("-") or not value:
        shown = " ".join(repr(char) for char in bad) or repr(value)
        raise ValueError(f"an sbatch option cannot contain {shown}")
    check_no_component(value)


def walltime_s(text: str) -> int:
    """Return the seconds of a valid Slurm time: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S (sbatch(1), --time)."""
    days, dash, rest = text.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
        return ((int(days) * 24 + hours) * 60 + minutes) * 60 + seconds
    if len(parts) == 1:
        return parts[0] * 60
    if len(parts) == 2:
        return parts[0] * 60 + parts[1]
    return (parts[0] * 60 + parts[1]) * 60 + parts[2]


def time_text(seconds: int) -> str:
    """Return seconds as a Slurm time: H:MM:SS, or D-HH:MM:SS."""
    minutes, s = divmod(seconds, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    return f"{days}-{h:02d}:{m:02d}:{s:02d}" if days else f"{h}:{m:02d}:{s:02d}"
