"""The plan of a sweep: cases, jobs, and what they may cost at most. Pure: no clock, no network, no disk."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hpcbench.config.experiment import Experiment
from hpcbench.config.loading import Document
from hpcbench.config.site import Partition, Site
from hpcbench.config.slurm_options import walltime_s
from hpcbench.errors import UserError, nearest
from hpcbench.plan.case import Case, expand, where_written
from hpcbench.plan.packing import Job, Resources, pack, shuffled_runs


@dataclass(frozen=True)
class Plan:
    """Everything that a sweep is going to run."""

    experiment: Experiment
    site: Site
    cases: tuple[Case, ...]
    jobs: tuple[Job, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Budget:
    """What a plan takes if every repetition uses all of its wall time."""

    node_hours: float
    core_hours: float
    gpu_hours: float
    longest_s: int


def make_plan(experiment: Experiment, document: Document, site: Site, limit: int | None = None) -> Plan:
    """Plan an experiment on a site; `limit` keeps only the first cases. Raises UserError where it cannot run there."""
    expansion = expand(experiment, document, site.slurm, limit)
    cases = expansion.cases
    most = min(site.limits.max_array_size, site.limits.max_submit_jobs or site.limits.max_array_size)
    jobs = pack(shuffled_runs(cases, experiment.measure), most)
    for job in jobs:
        if site.scheduler == "slurm":
            _check_partition(job.resources, site, document)
    warnings = (*expansion.warnings, *_queue_warnings(jobs, site), *_time_warnings(jobs, experiment))
    return Plan(experiment, site, cases, jobs, warnings)


def _queue_warnings(jobs: tuple[Job, ...], site: Site) -> list[str]:
    elements, most = sum(len(job.runs) for job in jobs), site.limits.max_submit_jobs
    if site.scheduler == "local" or most is None or elements <= most:
        return []
    return [f"the sweep has {elements} repetitions, and you may have {most} jobs in the queue: Slurm may refuse some"]


def _time_warnings(jobs: tuple[Job, ...], experiment: Experiment) -> list[str]:
    """Where the samples alone may take longer than the job may: it would be ended before it can tell them."""
    most = experiment.measure.max_time_s
    sampled = [job for job in jobs if any(run.case.parameters.model for run in job.runs)]
    shortest = min((walltime_s(job.resources.slurm.time) for job in sampled), default=math.inf)
    if most < shortest:
        return []
    return [f"measure.max_time_s is {most:g} s, and the wall time {shortest:g} s: what samples for so long is lost"]


def budget(jobs: tuple[Job, ...], site: Site) -> Budget:
    """The most that these jobs can use: whole nodes where they are exclusive, as far as the site knows their size."""
    hours = [(job.resources, len(job.runs) * walltime_s(job.resources.slurm.time) / 3600) for job in jobs]
    return Budget(
        node_hours=sum(r.nodes * h for r, h in hours),
        core_hours=sum(_charged(r, site, r.cores, "cpus_per_node") * h for r, h in hours),
        gpu_hours=sum(_charged(r, site, r.gpus, "gpus_per_node") * h for r, h in hours),
        longest_s=max(walltime_s(job.resources.slurm.time) for job in jobs),
    )


def _charged(resources: Resources, site: Site, asked: int, per_node: str) -> int:
    partition = site.partitions.get(resources.slurm.partition or site.default_partition or "")
    size = getattr(partition, per_node, None)
    return max(asked, resources.nodes * size) if resources.slurm.exclusive and size else asked


def _check_partition(resources: Resources, site: Site, document: Document) -> None:
    """What the site file knows of a partition is checked before Slurm is asked; what it does not know is not."""
    name = resources.slurm.partition or site.default_partition
    if not site.partitions or name is None:
        return
    names = name.split(",")  # Slurm takes whichever of several starts first
    for one in names:
        if one not in site.partitions:
            hint = nearest(one, site.partitions)
            what = f"the site '{site.name}' has no partition '{one}'"
            raise _option_error(what, "partition", site, document, hint)
    problems = [_over_limit(resources, one, site.partitions[one]) for one in names]
    if all(problems):
        what, path = next(problem for problem in problems if problem)
        if path[0] == "slurm":
            raise _option_error(what, path[1], site, document)
        raise document.error(what, where_written(path[1], document))


def _option_error(what: str, key: str, site: Site, document: Document, hint: str = "") -> UserError:
    """At the experiment's own line, or at the site file where the option comes from its defaults."""
    if ("slurm", key) in document.places or key not in site.slurm.model_fields_set:
        return document.error(what, ("slurm", key), hint)
    return UserError(what, where=f"site file of '{site.name}': slurm.{key}", hint=hint)


def _over_limit(r: Resources, name: str, partition: Partition) -> tuple[str, tuple[str, str]] | None:
    asked = walltime_s(r.slurm.time)
    if partition.max_time_s and asked > partition.max_time_s:
        return f"{r.slurm.time} is over the limit {partition.max_time} of partition '{name}'", (
            "slurm",
            "time",
        )
    limits = (
        ("mem", _memory_mb(r), partition.memory_mb_per_node, "MB of memory on a node"),
        ("nodes", r.nodes, partition.max_nodes or partition.nodes, "nodes"),
        ("cpus_per_task", r.tasks_per_node * r.cpus_per_task, partition.cpus_per_node, "CPUs on a node"),
        ("gpus_per_task", r.tasks_per_node * r.gpus_per_task, partition.gpus_per_node, "GPUs on a node"),
    )
    for parameter, wanted, most, unit in limits:
        if most is not None and wanted > most:
            what = f"a case asks for {wanted} {unit}, and partition '{name}' has {most}"
            return what, ("slurm" if parameter == "mem" else "parameters", parameter)
    return None


_MB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}


def _memory_mb(r: Resources) -> int:
    """Memory that a job asks for on each node; 0 where it leaves that to Slurm. A bare number is in MB (sbatch(1))."""
    text = r.slurm.mem or r.slurm.mem_per_cpu
    if text is None:
        return 0
    each = int(text.rstrip("KMGT")) * _MB.get(text[-1], 1)
    return math.ceil(each if r.slurm.mem else each * r.tasks_per_node * r.cpus_per_task)


def check_size(count: int, most: int, document: Document) -> None:
    """Raises UserError where a matrix is larger than anyone means it to be."""
    if count > most:
        raise UserError(
            f"the matrix has {count:,} points, more than {most:,}",
            where=document.name,
            hint="if it is meant to be that large, say so with --yes; --limit N runs the first N cases",
        )
