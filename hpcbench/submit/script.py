"""From a job to the text of its script: plain bash that runs with a bare `sbatch`, every value quoted."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jinja2
from jinja2.sandbox import SandboxedEnvironment

import hpcbench
from hpcbench.config.experiment import Measure
from hpcbench.config.site import Environment, Site
from hpcbench.config.slurm_options import SlurmOptions, walltime_s
from hpcbench.errors import UserError
from hpcbench.node.outcomes import MEASURE_AGAIN
from hpcbench.node.planned import COMMAND
from hpcbench.plan.packing import Job, Resources
from hpcbench.resources import shipped
from hpcbench.submit.container import Needs, Words, words
from hpcbench.workspace import SweepPaths, Workspace

TEMPLATE = "job.sh.j2"
_NEWLINE = re.compile(r"[\r\n\0]")
_EVERYBODYS = ("/bin", "/usr/bin", "/usr/local/bin")  # on the PATH anyway, and not first


def quoted(value: object) -> str:
    """One shell word, whatever is in it. Raises ValueError for what no script line can carry."""
    text = str(value)
    if "\0" in text:
        raise ValueError("a value contains a NUL character")
    return shlex.quote(text)


def template_file(workspace: Workspace, name: str) -> Path:
    """The workspace's own template where it has one, else the shipped one."""
    own = workspace.root / "templates" / name
    return own if own.is_file() else shipped("templates") / name


def load_template(file: Path) -> jinja2.Template:
    """A template whose values the filter `sh` makes shell words. Raises UserError where it cannot be read."""
    sandbox = SandboxedEnvironment(
        loader=jinja2.FileSystemLoader(file.parent),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    sandbox.filters["sh"] = quoted
    try:
        return sandbox.get_template(file.name)
    except (jinja2.TemplateError, OSError) as error:
        raise UserError(f"the template cannot be read: {error}", where=str(file)) from error


@dataclass(frozen=True)
class ScriptWriter:
    """Renders the scripts of one sweep."""

    workspace: Workspace
    paths: SweepPaths
    site: Site
    measure: Measure

    def render(self, job: Job, python: str) -> str:
        """The script of one job; `python` is the interpreter of its environment."""
        environment = self.site.environment(job.resources.environment)
        container = self._container(environment, job.resources)
        try:
            return self._template.render(
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
                prefix=container.prefix,
                variables={**_variables(environment), **container.variables},
                foreign=_foreign(environment, job.resources.environment),
                outside=sys.executable,
                launcher=self._launcher(job.resources, environment, container),
                beside=self._beside(job.resources),
                nodes=job.resources.nodes,
                measure=self.measure,
                gpus=job.resources.gpus_per_task > 0,
                again=MEASURE_AGAIN,
                limit_s=walltime_s(job.resources.slurm.time),
            )
        except Exception as error:  # a template of the workspace can raise anything
            raise UserError(f"the template cannot be rendered: {error}", where=str(self.template_file)) from error

    def _programs(self, job: Job, python: str) -> Path | None:
        """The folder of programs that a command finds first, as after `activate`: that of its environment's Python.

        The Python that runs hpcbench, where a command has no environment, is none of its business.
        """
        name = job.resources.environment
        environment = self.site.environment(name)
        chosen = name != COMMAND or environment.python is not None
        if not chosen or environment.container or all(run.case.parameters.framework != COMMAND for run in job.runs):
            return None
        folder = Path(python).parent
        return folder if folder.is_absolute() and str(folder) not in _EVERYBODYS else None

    @property
    def template_file(self) -> Path:
        """The template of these scripts."""
        return template_file(self.workspace, TEMPLATE)

    @cached_property
    def _template(self) -> jinja2.Template:
        return load_template(self.template_file)

    def _options(self, job: Job) -> list[str]:
        if self.site.scheduler == "local":
            return []
        return checked(sbatch_options(job, self.paths))

    def _launcher(self, resources: Resources, environment: Environment, container: Words) -> str:
        if self.site.scheduler == "slurm":
            return " ".join(map(quoted, [*srun_command(resources, self.site), *container.srun]))
        tasks = [f"--tasks={resources.tasks}", f"--cpus-per-task={resources.cpus_per_task}"]
        starts = "outside" if environment.container else "node"  # no container has the command that starts it
        return " ".join([f'"${{{starts}[@]}}"', "spawn", *tasks, "--"])

    def _beside(self, resources: Resources) -> str:
        """What starts one process on each node of the job, beside the tasks; nothing on this machine."""
        return "" if self.site.scheduler == "local" else " ".join(srun_beside(resources))

    def _container(self, environment: Environment, resources: Resources) -> Words:
        if environment.container is None:
            return Words()
        if environment.container.runtime == "pyxis" and self.site.scheduler == "local":
            raise UserError(
                f"the environment '{resources.environment}' is a container of pyxis, and that is a part of srun",
                where=f"site file of '{self.site.name}'",
                hint="run it on the cluster, or name another runtime for this machine",
            )
        root = str(self.workspace.root)
        # jobs/ and results/ may be links to another file system.
        reached = (os.path.realpath(folder) for folder in (root, self.paths.jobs.parent, self.paths.results.parent))
        needs = Needs((root, *dict.fromkeys(reached)), _variables(environment), resources.gpus_per_task > 0)
        return words(environment.container, needs)


def _variables(environment: Environment) -> dict[str, str]:
    """What is exported. Some containers show the user's home, and what pip has put there is not the image's."""
    return {"PYTHONNOUSERSITE": "1", **environment.env} if environment.container else environment.env


def _foreign(environment: Environment, name: str) -> bool:
    """Whether Python packages of the login shell stay out: modules, lines of shell and users may want them in."""
    return not (environment.modules or environment.setup or name == COMMAND)


def checked(options: list[str]) -> list[str]:
    """The same options. Raises ValueError for one that would break out of its #SBATCH line."""
    for option in options:
        if _NEWLINE.search(option):
            raise ValueError(f"an sbatch option cannot contain a line break: {option!r}")
    return options


def sbatch_options(job: Job, paths: SweepPaths) -> list[str]:
    """The #SBATCH lines of a job, without the leading dashes."""
    slurm = job.resources.slurm
    log = paths.logs(job.name) / "%A_%a_0_log.out"
    last = len(job.runs) - 1
    throttle = f"%{slurm.max_running}" if slurm.max_running else ""
    return [
        f"job-name={paths.name}.{job.name}",
        f"array=0-{last}{throttle}",
        f"output={log}",
        *resource_options(job.resources),
    ]


def resource_options(resources: Resources) -> list[str]:
    """The #SBATCH lines that say what a job asks for."""
    r, slurm = resources, resources.slurm
    options = [
        f"nodes={r.nodes}",
        f"ntasks-per-node={r.tasks_per_node}",
        f"cpus-per-task={r.cpus_per_task}",
        f"time={slurm.time}",
        "no-requeue",  # a second start under the same id would mix with the first: resume starts it anew
    ]
    if r.gpus_per_task:
        kind = f"{slurm.gpu_type}:" if slurm.gpu_type else ""
        options.append(f"gres=gpu:{kind}{r.tasks_per_node * r.gpus_per_task}")
    return options + _own_options(slurm)


def _own_options(slurm: SlurmOptions) -> list[str]:
    named = ("partition", "account", "qos", "constraint", "reservation", "nodelist", "exclude", "mem", "hint")
    options = [f"{name}={getattr(slurm, name)}" for name in named if getattr(slurm, name) is not None]
    if slurm.mem_per_cpu:
        options.append(f"mem-per-cpu={slurm.mem_per_cpu}")
    if slurm.exclusive:
        options.append("exclusive")
    for name, value in slurm.options.items():
        if value is not False:
            options.append(name if value is True else f"{name}={value}")
    return options


def srun_command(resources: Resources, site: Site) -> list[str]:
    """The srun of one case. It gets --cpus-per-task itself: since Slurm 22.05 it does not take it from sbatch."""
    return [
        "srun",
        f"--nodes={resources.nodes}",
        f"--ntasks={resources.tasks}",
        f"--ntasks-per-node={resources.tasks_per_node}",
        f"--cpus-per-task={resources.cpus_per_task}",
        "--kill-on-bad-exit=1",
        *site.launcher.srun,
    ]


def srun_beside(resources: Resources) -> list[str]:
    """The srun of one process on each node that shares what the tasks have, and is bound to no CPU of theirs.

    For Slurm 22.05 and newer: what job.sh.j2 does about older ones is said there. Without --mem=0 its limit would be
    --mem-per-cpu, for one CPU. With it, the step may use all memory of the job, and takes none from other steps:
    https://slurm.schedmd.com/srun.html#OPT_mem
    """
    nodes = resources.nodes
    each = [f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--cpus-per-task=1"]
    return ["srun", "--overlap", "--mem=0", *each, "--cpu-bind=none", "--mpi=none"]
