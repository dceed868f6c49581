"""The site file: one cluster or machine, with its partitions, limits, environments and prices."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping
from typing import Literal

from pydantic import Field, PrivateAttr, field_validator

from hpcbench.config.container import Container, check_no_options, check_single_lines
from hpcbench.config.environment_variables import Variables, check_no_given_secret, check_no_secret
from hpcbench.config.names import check_name
from hpcbench.config.slurm_options import (
    COMPONENT_OPTIONS,
    RESOURCES,
    SlurmOptions,
    check_option_value,
    check_time,
    walltime_s,
)
from hpcbench.config.validation.common_mistakes import hint_for_key
from hpcbench.config.validation.findings import Findings
from hpcbench.config.yaml_document import Document, Model


class Environment(Model):
    """The setup of a framework on a node: interpreter, modules, shell lines, variables, container."""

    python: str | None = Field(
        default=None,
        description="the Python to use, relative to the workspace; unset: the one that `hpcbench env build` built, "
        "otherwise the one that runs hpcbench, or python3 with modules, setup or container",
    )
    modules: list[str] = Field(default_factory=list, description="arguments of `module load`, in order")
    module_paths: list[str] = Field(default_factory=list, description="arguments of `module use`, before the modules")
    setup: list[str] = Field(default_factory=list, description="shell lines to run after the modules, unchanged")
    env: Variables = Field(default_factory=dict, description="environment variables; hpcbench quotes their values")
    container: Container | None = Field(default=None, description="the container in which the Python runs")

    @field_validator("python")
    @classmethod
    def _program(cls, value: str | None) -> str | None:
        return value and check_no_options([value])[0]

    @field_validator("modules", "module_paths")
    @classmethod
    def _words(cls, value: list[str]) -> list[str]:
        return check_no_options(check_single_lines(value))

    @field_validator("setup")
    @classmethod
    def _lines(cls, value: list[str]) -> list[str]:
        for line in check_single_lines(value):
            check_no_secret(line)
        return value


class Partition(Model):
    """Limits of one partition. Unset limits are not checked."""

    max_time: str | None = Field(default=None, description="maximum wall time, e.g. 2-00:00:00")
    nodes: int | None = Field(default=None, ge=1, description="number of nodes")
    max_nodes: int | None = Field(default=None, ge=1, description="maximum number of nodes of one job")
    cpus_per_node: int | None = Field(default=None, ge=1, description="CPUs of its largest node")
    gpus_per_node: int | None = Field(default=None, ge=0, description="GPUs of its largest node")
    memory_mb_per_node: int | None = Field(default=None, ge=1, description="memory of its largest node in MB")
    default: bool = Field(default=False, description="Slurm's default partition")

    @field_validator("max_time")
    @classmethod
    def _valid_time(cls, value: str | None) -> str | None:
        return None if value is None else check_time(value)

    @property
    def max_time_s(self) -> int | None:
        """Return the maximum time limit in seconds; None if it is unset."""
        return walltime_s(self.max_time) if self.max_time else None


class Limits(Model):
    """Limits of the whole cluster."""

    max_array_size: int = Field(
        default=1001, ge=1, description="MaxArraySize of slurm.conf, or max_array_tasks if that is smaller"
    )
    max_submit_jobs: int | None = Field(
        default=None, ge=1, description="maximum number of jobs of one user in the queue"
    )
    record_delay_s: int = Field(
        default=120,
        ge=0,
        description="maximum time in s from the end of a job until its record is visible here; must exceed the time "
        "for which network file systems and Slurm commands cache data",
    )


class Launcher(Model):
    """The launcher of tasks inside a job."""

    srun: list[str] = Field(default_factory=list, description="additional arguments of srun, e.g. [--mpi=pmix]")
    torchrun: list[str] = Field(default_factory=list, description="additional arguments of torchrun")
    mpirun: list[str] = Field(
        default_factory=list, description="additional arguments of mpirun, e.g. [--bind-to, core, --map-by, node]"
    )

    @field_validator("srun", "torchrun", "mpirun")
    @classmethod
    def _valid_arguments(cls, value: list[str]) -> list[str]:
        for word in value:
            if word.startswith(tuple(f"--{name}" for name in COMPONENT_OPTIONS)):
                raise ValueError(f"heterogeneous jobs are not supported: {word}")
        return [check_no_given_secret(word) for word in value]


class Cost(Model):
    """Prices of a site, which pricing.py applies. null is unknown, not free."""

    currency: str = Field(default="EUR", description="unit of the prices, e.g. EUR or the site's own credits")
    core_hour: float | None = Field(
        default=None, ge=0, description="price of one core (a CPU in Slurm's terms) for an hour"
    )
    node_hour: float | None = Field(
        default=None,
        ge=0,
        description="price of a whole node for an hour; exclusive jobs pay it instead of the other prices",
    )
    gpu_hour: float | None = Field(default=None, ge=0, description="price of one GPU for an hour, in addition to cores")


class Carbon(Model):
    """The emissions of electricity at a site. null is unknown, since no default is valid for all sites."""

    g_per_kwh: float | None = Field(
        default=None,
        ge=0,
        description="grams of CO2 equivalent per kWh: from the contract with your supplier, or the annual average of "
        "your grid, e.g. from ember-energy.org or app.electricitymaps.com",
    )
    pue: float | None = Field(
        default=None,
        ge=1,
        description="power usage effectiveness (ISO/IEC 30134-2): ratio of the energy of the data centre to that of "
        "its computers, as published by its operator; 1 counts only the computers",
    )

    @property
    def g_per_measured_kwh(self) -> float | None:
        """Return grams of CO2 equivalent per kWh measured in a computer; None unless both factors are known."""
        return None if self.g_per_kwh is None or self.pue is None else self.g_per_kwh * self.pue


class Site(Model):
    """A checked site file."""

    name: str = Field(description="name of the site")
    description: str = Field(default="", description="one-line description")
    scheduler: Literal["slurm", "local"] = Field(description="slurm, or local (this machine without a scheduler)")
    cluster: str | None = Field(
        default=None,
        description="submit to another cluster of the same slurmdbd (sbatch --clusters); unset: the cluster of the "
        "machine that runs hpcbench",
    )
    slurm_conf: str | None = Field(
        default=None,
        description="path of the cluster's slurm.conf (SLURM_CONF), absolute or with ~; unset: that of the shell",
    )
    partitions: dict[str, Partition] = Field(default_factory=dict, description="partitions and their limits")
    limits: Limits = Field(default_factory=Limits, description="limits of the cluster")
    slurm: SlurmOptions = Field(default_factory=SlurmOptions, description="defaults of the experiment's slurm section")
    environments: dict[str, Environment] = Field(default_factory=dict, description="environments of the frameworks")
    launcher: Launcher = Field(default_factory=Launcher, description="how tasks are started")
    cost: Cost = Field(default_factory=Cost, description="prices")
    carbon: Carbon = Field(default_factory=Carbon, description="emissions of electricity")
    _from_shell: frozenset[str] = PrivateAttr(default=frozenset())
    _file: str | None = PrivateAttr(default=None)

    @field_validator("name", "cluster")
    @classmethod
    def _valid_name(cls, value: str | None) -> str | None:
        return None if value is None else check_name(value)

    @field_validator("slurm_conf")
    @classmethod
    def _expanded(cls, value: str | None) -> str | None:
        """Return the path without ~. Raise ValueError for a relative path: later commands run in other folders."""
        if value is None:
            return None
        path = os.path.expanduser(check_single_lines([value])[0])  # noqa: PTH111 - Path raises for an unknown user
        if not path.startswith("/"):
            raise ValueError("write an absolute path, e.g. /etc/slurm/slurm.conf")
        return path

    @field_validator("partitions")
    @classmethod
    def _valid_partitions(cls, value: dict[str, Partition]) -> dict[str, Partition]:
        for name in value:
            check_option_value(name)
        return value

    @field_validator("environments")
    @classmethod
    def _valid_environments(cls, value: dict[str, Environment]) -> dict[str, Environment]:
        for name in value:
            check_name(name)
        return value

    def environment(self, name: str) -> Environment:
        """Return the environment `name`; the default environment if the site file does not define it."""
        return self.environments.get(name, Environment())

    def max_time_s(self, partition: str | None) -> int | None:
        """Return the shortest time limit in s of a partition (`a,b` for several, None for the default); None if
        unknown."""
        names = (partition or self.default_partition or "").split(",")
        known = [self.partitions[name].max_time_s for name in names if name in self.partitions]
        return min((limit for limit in known if limit is not None), default=None)

    @property
    def file(self) -> str | None:
        """Return the path of the site file, or None for a site that was read from Slurm or a sweep."""
        return self._file

    def with_shell_defaults(self, options: Mapping[str, str]) -> Site:
        """Return the site with defaults of the slurm section that variables of the user's shell define."""
        site = self.model_copy(update={"slurm": self.slurm.model_copy(update=options)})
        site._from_shell = frozenset(options)
        return site

    @property
    def shell_defaults(self) -> dict[str, str]:
        """Return the defaults of the slurm section that variables of the user's shell define."""
        return {option: getattr(self.slurm, option) for option in sorted(self._from_shell)}

    def place(self, option: str) -> str:
        """Return where a default of the slurm section is defined, for messages: the site file, or a variable."""
        if option in self._from_shell:
            return f"{variable_of(option)} in the shell"
        return f"site file of '{self.name}': slurm.{option}"

    @property
    def default_partition(self) -> str | None:
        """Return the default partition of Slurm; None if unknown."""
        return next((name for name, partition in self.partitions.items() if partition.default), None)


def variable_of(option: str) -> str:
    """Return the variable of sbatch for an option."""
    return f"SBATCH_{option.upper()}"


_SECTIONS = {"slurm": SlurmOptions.model_fields.keys(), "limits": Limits.model_fields.keys(), "experiment": RESOURCES}


def load_site(document: Document, recipes: Collection[str] = ()) -> Site:
    """Return the checked site of a document.

    Raise UserError with all its errors, each with file, line and key; also for an environment whose name is nearly
    that of one of the `recipes`: no case would use it.
    """
    findings = Findings(document, _key_hint)
    site = findings.validated(Site, document.data)
    environments = document.data.get("environments")
    _check_environment_names(environments if isinstance(environments, dict) else {}, recipes, findings)
    checked = findings.checked(site)
    checked._file = document.name
    return checked


def _key_hint(key: str, section: str) -> str:
    """Return a hint for an unknown key of the file, its `slurm` section or an environment."""
    if section.startswith("environments."):
        return hint_for_key(key, section, Environment.model_fields, {})
    known = Site.model_fields.keys() if section == "" else _SECTIONS.get(section, ())
    return hint_for_key(key, section, known, _SECTIONS if section in ("", "slurm") else {})


def _check_environment_names(names: Collection[str], known: Collection[str], findings: Findings) -> None:
    """Add an error for each environment whose name is nearly one of the `known` ones.

    A name with fewer or more words, or with a version, is one of its own: `torch`, `pytorch-ngc`, `keras3-torch`.
    """
    own = (name for name in names if any(name.startswith(f"{each}-") for each in known))
    for name in set(names) - {*known, *own}:
        for close in difflib.get_close_matches(name, known, n=1, cutoff=0.8):
            if not (close in name or close.endswith(name) or _letters(close) == _letters(name)):
                findings.add(f"unknown environment '{name}'", ("environments", name), f"did you mean '{close}'?")


def _letters(name: str) -> str:
    return "".join(filter(str.isalpha, name))
