"""The plan of a sweep: cases, jobs, and their maximum cost. Pure: no clock, no network, no disk."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hpcbench.config.experiment import Experiment
from hpcbench.config.matrix.locations import where_written
from hpcbench.config.pricing import Price, price_per_hour, total
from hpcbench.config.site import Partition, Site
from hpcbench.config.slurm_options import SlurmOptions, walltime_s
from hpcbench.config.yaml_document import Document
from hpcbench.core.run_spec import COMMAND, MPIRUN, NO_LAUNCHER
from hpcbench.errors import UserError, nearest
from hpcbench.plan.allocation import allocation_of
from hpcbench.plan.case import Case, expand
from hpcbench.plan.later_parts import time_warnings
from hpcbench.plan.packing import Job, Resources, Sharing, pack, shuffled_runs
from hpcbench.plan.profiled_cases import profiled
from hpcbench.plan.trajectories import check_trajectory
from hpcbench.util.text import in_list, plural

# The options of `measure` that end the measurements of models; a command ends by itself.
_OF_STEPS = ("min_measurements", "min_time_s", "max_time_s")

MANY_JOBS = 10_000  # default MaxJobCount, for all users (slurm.conf(5))


@dataclass(frozen=True)
class Plan:
    """The cases and jobs of a sweep, with its experiment, site and warnings."""

    experiment: Experiment
    site: Site
    cases: tuple[Case, ...]
    jobs: tuple[Job, ...]
    warnings: tuple[str, ...]

    @property
    def follow_on(self) -> SlurmOptions | None:
        """Return the Slurm options of the first job that allows a continuation job; None if no job does."""
        asked = (job.resources.slurm for job in self.jobs if self.site.scheduler == "slurm")
        return next((slurm for slurm in asked if slurm.follow_on), None)


@dataclass(frozen=True)
class Budget:
    """The resources that a plan uses if every run reaches its time limit."""

    node_hours: float
    core_hours: float
    gpu_hours: float
    price: Price
    longest_s: int


def make_plan(experiment: Experiment, document: Document, site: Site, limit: int | None = None) -> Plan:
    """Plan an experiment on a site, or its first `limit` cases. Raise UserError if it cannot run on the site."""
    expansion = expand(experiment, document, site.slurm, limit)
    if limit is None or len(expansion.cases) < limit:  # the trainings may follow the first `limit` cases
        check_trajectory(expansion.cases, experiment, document)
    cases, left_out = profiled(expansion.cases, experiment, document)
    runs = shuffled_runs(cases, experiment.measure, experiment.same_workload)
    jobs = pack(runs, site.limits.max_array_size, lambda resources: sharing(resources, experiment, site, document))
    if site.scheduler == "slurm":
        for job in jobs:
            _check_partition(job, site, document)
    warnings = (
        *(warning for rows in document.csv_rows for warning in rows.warnings),
        *expansion.warnings,
        *left_out,
        *_queue_warnings(jobs, site),
        *_node_warnings(cases, site),
        *_time_warnings(jobs, experiment),
        *time_warnings(jobs, experiment.measure),
        *_unused(cases, experiment),
    )
    return Plan(experiment, site, cases, jobs, warnings)


def _queue_warnings(jobs: tuple[Job, ...], site: Site) -> list[str]:
    asked, most = sum(len(job.packs) for job in jobs), site.limits.max_submit_jobs
    if site.scheduler == "local":
        return []
    warnings = []
    if asked > MANY_JOBS:
        message = f"the sweep has {asked} jobs in {len(jobs)} arrays"
        warnings.append(f"{message}; slurm.pack_walltime combines runs into fewer jobs")
    if most is None or asked <= most:
        return warnings
    if any(job.resources.slurm.follow_on for job in jobs):
        how = "a continuation job submits the rest"
    else:
        how = "`hpcbench resume` submits the rest, or a continuation job (slurm.follow_on: true)"
    return [*warnings, f"the sweep has {asked} jobs, and the limit of the queue is {most}: {how}"]


def _node_warnings(cases: tuple[Case, ...], site: Site) -> list[str]:
    """Return a warning if cases request several nodes, and runs are on this machine."""
    count = sum(case.parameters.nodes > 1 for case in cases)
    if site.scheduler != "local" or not count:
        return []
    verb = "requests" if count == 1 else "request"
    what = f"{count:,} of {plural(len(cases), 'case')} {verb} several nodes, but site '{site.name}' is a single machine"
    return [f"{what}: these runs will be `unsupported`; use a site with Slurm, or nodes: 1"]


def _time_warnings(jobs: tuple[Job, ...], experiment: Experiment) -> list[str]:
    """Return a warning if the time limit of a run may end before its measurement, so that its measurements are lost."""
    most = experiment.measure.max_time_s
    sampled = [job for job in jobs if any(run.case.parameters.model for run in job.runs)]
    shortest = min((job.resources.limit_s for job in sampled), default=math.inf)
    if most < shortest:
        return []
    what = f"measure.max_time_s ({most:g} s) exceeds the time limit per run ({shortest:g} s)"
    return [f"{what}: its measurements may be lost"]


def _unused(cases: tuple[Case, ...], experiment: Experiment) -> list[str]:
    """Return a warning about options of `measure` that have no effect, because all cases are commands."""
    unused = [name for name in _OF_STEPS if name in experiment.measure.model_fields_set]
    if not unused or any(case.parameters.framework != COMMAND for case in cases):
        return []
    verb = "has" if len(unused) == 1 else "have"
    what = f"{in_list([f'measure.{name}' for name in unused])} {verb} no effect on commands"
    return [f"{what}; to limit the time of a run: --set slurm.time=00:10:00"]


def budget(jobs: tuple[Job, ...], site: Site) -> Budget:
    """Return the maximum use of jobs. Exclusive jobs count whole nodes, if the site file has their size."""
    used = [(allocation_of(job.resources, site, job.width), len(job.packs) * job.limit_s / 3600) for job in jobs]
    return Budget(
        node_hours=sum(each.nodes * hours for each, hours in used),
        core_hours=sum(each.cores * hours for each, hours in used),
        gpu_hours=sum(each.gpus * hours for each, hours in used),
        price=total(price_per_hour(site.cost, each).times(hours) for each, hours in used),
        longest_s=max(job.limit_s for job in jobs),
    )


def sharing(resources: Resources, experiment: Experiment, site: Site, document: Document) -> Sharing:
    """Return how many runs share a job: as many turns as fit into `slurm.pack_walltime`.

    Raise UserError for concurrent runs if the size of a node is unknown, or `measure.idle_node` does not permit them.
    """
    slurm = resources.slurm
    if slurm.pack_walltime is None or site.scheduler == "local":
        return Sharing()
    turns = walltime_s(slurm.pack_walltime) // resources.limit_s
    return Sharing(turns, _side_by_side(resources, experiment, site, document) if slurm.pack == "parallel" else 1)


def _side_by_side(resources: Resources, experiment: Experiment, site: Site, document: Document) -> int:
    """Return how many runs fit on one node; 1 for runs on several nodes."""
    if experiment.measure.idle_node != "ignore":
        what = f"measure.idle_node: {experiment.measure.idle_node} cannot be used with slurm.pack: parallel"
        raise _option_error(what, "pack", site, document, "use pack: serial, or idle_node: ignore")
    if resources.launch in (MPIRUN, NO_LAUNCHER):
        what = f"launch: {resources.launch} cannot be used with slurm.pack: parallel, because srun separates the runs"
        raise _option_error(what, "pack", site, document, "use pack: serial")
    if resources.gpus and resources.slurm.gpu_option == "none":
        what = (
            "slurm.gpu_option: none cannot be used with slurm.pack: parallel, because all runs would use the same GPUs"
        )
        raise _option_error(what, "pack", site, document, "use pack: serial")
    if resources.nodes > 1:
        return 1
    name = resources.slurm.partition or site.default_partition
    known = [site.partitions[one] for one in (name or "").split(",") if one in site.partitions]
    fitting: list[int] = []
    for kind, key, each in (("CPUs", "cpus_per_node", resources.cores), ("GPUs", "gpus_per_node", resources.gpus)):
        sizes = [getattr(partition, key) for partition in known]
        if each and (not sizes or None in sizes):
            what = f"the number of {kind} per node of partition '{name}' is unknown"
            hint = f"add it to the site file, e.g. partitions: {{NAME: {{{key}: 8}}}}"
            raise _option_error(what, "pack", site, document, hint)
        if each:
            fitting.append(min(sizes) // each)
    memory = _memory_mb(resources)
    if memory:
        fitting += [part.memory_mb_per_node // memory for part in known if part.memory_mb_per_node]
    return max(1, min(fitting))


_REDUCE = "reduce it, or choose another `partition:` under `slurm:`"


def _check_partition(job: Job, site: Site, document: Document) -> None:
    """Raise UserError if a job exceeds the limits in the site file. Missing limits are not checked."""
    resources = job.resources
    name = resources.slurm.partition or site.default_partition
    if not site.partitions or name is None:
        return
    names = name.split(",")  # Slurm uses the partition of the earliest start
    for one in names:
        if one not in site.partitions:
            hint = nearest(one, site.partitions)
            what = f"partition '{one}' not found in the site '{site.name}'"
            raise _option_error(what, "partition", site, document, hint)
    problems = [_over_limit(job, one, site.partitions[one]) for one in names]
    if all(problems):
        what, path = next(problem for problem in problems if problem)
        if path[0] == "slurm":
            raise _option_error(what, path[1], site, document, _REDUCE)
        raise document.error(what, where_written(path[1], document), _REDUCE)


def _option_error(what: str, key: str, site: Site, document: Document, hint: str = "") -> UserError:
    """Return an error located in the experiment, or where the site's default of the option is defined."""
    if ("slurm", key) in document.places or key not in site.slurm.model_fields_set:
        return document.error(what, ("slurm", key), hint)
    return UserError(what, where=site.place(key), hint=hint)


def _over_limit(job: Job, name: str, partition: Partition) -> tuple[str, tuple[str, str]] | None:
    r = job.resources
    for key in ("time", "pack_walltime"):  # resume fills pack_walltime; the first packs may be shorter
        time = getattr(r.slurm, key)
        if time and partition.max_time_s and walltime_s(time) > partition.max_time_s:
            return f"{time} exceeds the limit of partition '{name}', {partition.max_time}", ("slurm", key)
    limits = (
        ("mem", _memory_mb(r), partition.memory_mb_per_node, "MB of memory per node"),
        ("nodes", r.nodes, partition.max_nodes or partition.nodes, "nodes"),
        ("cpus_per_task", r.tasks_per_node * r.cpus_per_task, partition.cpus_per_node, "CPUs per node"),
        ("gpus_per_task", r.tasks_per_node * r.gpus_per_task, partition.gpus_per_node, "GPUs per node"),
    )
    for parameter, wanted, most, unit in limits:
        if most is not None and wanted > most:
            what = f"a case requests {wanted} {unit}, and partition '{name}' has {most}"
            return what, ("slurm" if parameter == "mem" else "parameters", parameter)
    return None


_MB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}


def _memory_mb(r: Resources) -> int:
    """Return the requested memory per node in MB; 0 if unset. A number without a suffix is in MB (sbatch(1))."""
    text = r.slurm.mem or r.slurm.mem_per_cpu
    if text is None:
        return 0
    each = int(text.rstrip("KMGT")) * _MB.get(text[-1], 1)
    return math.ceil(each if r.slurm.mem else each * r.tasks_per_node * r.cpus_per_task)


def check_size(count: int, most: int, document: Document) -> None:
    """Raise UserError if a matrix has more than `most` points."""
    if count > most:
        raise UserError(
            f"the matrix has {count:,} points, more than {most:,}",
            where=document.name,
            hint="add --yes to allow it, or --limit N to run only the first N cases",
        )
