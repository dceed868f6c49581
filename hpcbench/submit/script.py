"""Render the script of a job: plain bash that runs with a bare `sbatch`, with every value quoted."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import hpcbench
from hpcbench.config.experiment import Experiment
from hpcbench.config.retry import Retry
from hpcbench.config.site import Environment, Site
from hpcbench.config.slurm_options import SlurmOptions, check_no_component
from hpcbench.core.run_spec import COMMAND, MPIRUN, SRUN, TORCHRUN
from hpcbench.errors import UserError
from hpcbench.plan.packing import Job, Resources
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit.container import ContainerCommand, ContainerNeeds, container_command
from hpcbench.submit.template import Template

TEMPLATE = "job.sh.j2"
LOG = "%A_%a_0_log.out"  # the name that submitit expects
# Valid in an #SBATCH line: with a blank, quote, backslash or #, sbatch would read more than one option.
_OPTION = re.compile(r"[a-z][a-z0-9-]*(?:=[A-Za-z0-9_.,:/@%+=*&|()\[\]!~^-]+)?\Z")
_SYSTEM_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin")  # on the PATH anyway; must not come first


class Launch(NamedTuple):
    """The words that start the tasks of a run."""

    srun: list[str]  # empty on this machine, and if the run starts without srun
    python: list[str]  # of the workload, in its container if it has one
    launcher: str  # of the processes of a command: torchrun or mpirun with the site's arguments, otherwise empty


@dataclass(frozen=True)
class ScriptWriter:
    """Render the scripts of one sweep."""

    workspace: Workspace
    paths: SweepPaths
    site: Site
    experiment: Experiment
    given: Path | None = None  # replaces the template of the workspace and the shipped one

    def render(self, job: Job, python: str) -> str:
        """Return the script of a job; `python` is the interpreter of its environment.

        Raise UserError if a value cannot be written, or if the template cannot be rendered.
        """
        environment = self.site.environment(job.resources.environment)
        container = self._container(environment, job.resources)
        launch = self.launch(job, python)
        try:
            return self.template.render(
                version=hpcbench.__version__,
                sweep=self.paths.name,
                job=job.name,
                elements=len(job.runs),
                slurm=self.site.scheduler == "slurm",
                options=self._options(job),
                script=self.paths.script(job.name),
                sweep_directory=self.paths.jobs,
                results_directory=self.paths.results,
                environment=environment,
                python=python,
                programs=self._programs(job, python),
                variables={**_variables(environment), **container.variables},
                foreign=_foreign(environment, job.resources.environment),
                outside=sys.executable,
                srun=shlex.join(launch.srun),
                launcher=launch.launcher,
                workload_python=shlex.join(launch.python),
                limit_s=job.resources.limit_s,
            )
        except ValueError as error:
            raise UserError(f"the script cannot be written: {error}", where=str(self.paths.script(job.name))) from error

    def _programs(self, job: Job, python: str) -> Path | None:
        """Return the folder of a command's environment, to come first on its PATH, as after `activate`; or None.

        The folder of hpcbench's own Python, for commands without an environment, is not on the PATH.
        """
        name = job.resources.environment
        environment = self.site.environment(name)
        chosen = name != COMMAND or environment.python is not None
        if not chosen or environment.container or all(run.case.parameters.framework != COMMAND for run in job.runs):
            return None
        folder = Path(python).parent
        return folder if folder.is_absolute() and str(folder) not in _SYSTEM_FOLDERS else None

    @cached_property
    def template(self) -> Template:
        """Return the template of the scripts."""
        return Template(self.given) if self.given else Template.find(self.workspace, TEMPLATE)

    def _options(self, job: Job) -> list[str]:
        if self.site.scheduler == "local":
            return []
        return checked(sbatch_options(job, self.paths, self.experiment.retry))

    def launch(self, job: Job, python: str) -> Launch:
        """Return the words that start the tasks of a run of a job."""
        environment = self.site.environment(job.resources.environment)
        container = self._container(environment, job.resources)
        srun = srun_command(job.resources, self.site, job.width) if self.site.scheduler == "slurm" else []
        arguments = {TORCHRUN: self.site.launcher.torchrun, MPIRUN: self.site.launcher.mpirun}.get(job.resources.launch)
        launcher = "" if arguments is None else shlex.join([job.resources.launch, *arguments])
        return Launch([*srun, *container.srun], [*container.prefix, python], launcher)

    def _container(self, environment: Environment, resources: Resources) -> ContainerCommand:
        if environment.container is None:
            return ContainerCommand()
        if environment.container.runtime == "pyxis":
            self._check_srun(resources)
        root = str(self.workspace.root)
        # jobs/ and results/ may be links to another file system
        reached = (os.path.realpath(folder) for folder in (root, self.paths.jobs.parent, self.paths.results.parent))
        needs = ContainerNeeds((root, *dict.fromkeys(reached)), _variables(environment), resources.gpus_per_task > 0)
        return container_command(environment.container, needs)

    def _check_srun(self, resources: Resources) -> None:
        """Raise UserError unless srun, which starts the containers of pyxis, starts the runs."""
        what = f"environment '{resources.environment}' is a container of pyxis, which requires srun"
        where = f"site file of '{self.site.name}'"
        if self.site.scheduler == "local":
            hint = "run it on the cluster, or choose another container runtime for this machine"
            raise UserError(what, where=where, hint=hint)
        if resources.launch not in (SRUN, TORCHRUN):
            hint = "use launch: srun or torchrun, or choose another container runtime"
            raise UserError(f"{what}, and launch: {resources.launch} does not use it", where=where, hint=hint)


def _variables(environment: Environment) -> dict[str, str]:
    """Return the variables to export. Some containers mount the home directory: ignore packages of pip there."""
    return {"PYTHONNOUSERSITE": "1", **environment.env} if environment.container else environment.env


def _foreign(environment: Environment, name: str) -> bool:
    """Return whether to hide Python packages of the login shell; modules and shell lines may need them."""
    return not (environment.modules or environment.setup or name == COMMAND)


def checked(options: list[str]) -> list[str]:
    """Return the options. Raise ValueError for one that an #SBATCH line cannot carry as one option."""
    for option in options:
        if not _OPTION.match(option):
            raise ValueError(f"an #SBATCH line cannot carry the option {option!r}")
        check_no_component(option)
    return options


def sbatch_options(job: Job, paths: SweepPaths, retry: Retry) -> list[str]:
    """Return the #SBATCH options of a job, without the leading dashes."""
    slurm = job.resources.slurm
    throttle = f"%{slurm.max_running}" if slurm.max_running else ""
    return [
        f"job-name={paths.name}.{job.name}",
        f"array=0-{len(job.packs) - 1}{throttle}",
        f"output={paths.logs(job.name) / LOG}",
        "open-mode=append",  # a requeued job continues its log
        "requeue" if retry.by_slurm else "no-requeue",
        *resource_options(job.resources, job.time, job.width),
    ]


def resource_options(resources: Resources, time: str, width: int = 1) -> list[str]:
    """Return the #SBATCH options for the resources of a job with `width` concurrent runs."""
    r, slurm = resources, resources.slurm
    options = [
        f"nodes={r.nodes}",
        f"ntasks-per-node={width * r.tasks_per_node}",
        f"cpus-per-task={r.cpus_per_task}",
        f"time={time}",
    ]
    options += _gpu_options(r, width)
    if slurm.mem:
        options.append(f"mem={times_memory(slurm.mem, width)}")
    return options + _own_options(slurm)


def _gpu_options(resources: Resources, width: int = 1) -> list[str]:
    """Return the option that requests the GPUs of `width` concurrent runs; empty if they use no GPU.

    sbatch and srun need the same option: Slurm 26.05 rejects --gres=gpu together with --gpus-per-node.
    """
    r, option = resources, resources.slurm.gpu_option
    if not r.gpus_per_task or option == "none":
        return []
    kind = f"{r.slurm.gpu_type}:" if r.slurm.gpu_type else ""
    count = r.gpus_per_task if option == "gpus-per-task" else width * r.tasks_per_node * r.gpus_per_task
    return [f"{option}={'gpu:' if option == 'gres' else ''}{kind}{count}"]


def times_memory(memory: str, width: int) -> str:
    """Return a multiple of an amount of memory: `32G` for 16G and 2."""
    number = memory.rstrip("KMGT")
    return f"{width * int(number)}{memory[len(number) :]}"


def _own_options(slurm: SlurmOptions) -> list[str]:
    named = ("partition", "account", "qos", "constraint", "reservation", "nodelist", "exclude", "hint")
    options = named_options(slurm, named)
    if slurm.mem_per_cpu:
        options.append(f"mem-per-cpu={slurm.mem_per_cpu}")
    if slurm.exclusive:
        options.append("exclusive")
    for name, value in slurm.options.items():
        if value is not False:
            options.append(name if value is True else f"{name}={value}")
    return options


def named_options(slurm: SlurmOptions, names: tuple[str, ...]) -> list[str]:
    """Return the named options that are set."""
    return [f"{name}={getattr(slurm, name)}" for name in names if getattr(slurm, name) is not None]


def srun_command(resources: Resources, site: Site, width: int = 1) -> list[str]:
    """Return the srun command of one run, in a job with `width` concurrent runs; empty if srun does not start it.

    Concurrent runs request their GPUs explicitly. --cpus-per-task is repeated, because srun does not take it from
    sbatch since Slurm 22.05. torchrun is one task per node, with all CPUs and GPUs of the run on the node.
    """
    if resources.launch not in (SRUN, TORCHRUN):
        return []
    started = _per_node(resources) if resources.launch == TORCHRUN else resources
    gpus = _gpu_options(started) or ["gres=none"]
    return [
        "srun",
        f"--nodes={started.nodes}",
        f"--ntasks={started.tasks}",
        f"--ntasks-per-node={started.tasks_per_node}",
        f"--cpus-per-task={started.cpus_per_task}",
        "--kill-on-bad-exit=1",
        *(f"--{option}" for option in gpus if width > 1 or (started.gpus and started != resources)),
        *site.launcher.srun,
    ]


def _per_node(resources: Resources) -> Resources:
    """Return the same resources for one task per node."""
    tasks = resources.tasks_per_node
    cpus, gpus = tasks * resources.cpus_per_task, tasks * resources.gpus_per_task
    return replace(resources, tasks_per_node=1, cpus_per_task=cpus, gpus_per_task=gpus)
