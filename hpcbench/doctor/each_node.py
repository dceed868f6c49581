"""Measure the speed of every node by a small job, compare nodes with the same hardware, and name slow ones."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcbench.config.site import Partition, Site
from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, CheckResult, Progress
from hpcbench.core.node_speed import NodeSpeed, node_speed
from hpcbench.doctor.checked_host import CheckedHost
from hpcbench.doctor.job_files import json_lines, last_lines_of_log, write_job_script
from hpcbench.doctor.node_jobs import SETTLE_S, how_to_correct
from hpcbench.doctor.slow_nodes import LEAST, Comparison, compare_nodes, in_words
from hpcbench.doctor.small_jobs import POLL_S, SmallJob, run_jobs
from hpcbench.plan.packing import Resources
from hpcbench.slurm.nodes import Node, node_list, query_nodes
from hpcbench.store.workspace import Workspace
from hpcbench.submit.zipapp import node_zipapp
from hpcbench.util.text import plural

TEMPLATE = "node-speed.sh.j2"
LIMIT_S = 300
MOST_CPUS = 4  # unless the whole node is requested
SPEED, NOT_MEASURED = "speed of the nodes", "nodes without a result"


@dataclass(frozen=True)
class SpeedOptions:
    """The options of the measurement."""

    whole_node: bool
    pythons: tuple[str, ...]  # may run the kernels, next to the Python of the job
    timeout_s: float  # until a job that has not started is cancelled


@dataclass(frozen=True)
class EachNode:
    """The results of every node: for users, the measured speeds, and the list for --exclude."""

    host: CheckedHost
    speeds: tuple[NodeSpeed, ...]
    exclude: str

    def as_data(self) -> dict[str, Any]:
        """Return the speeds and the list for --exclude as `hpcbench doctor --json` prints them."""
        return {"nodes": [speed.as_data() for speed in self.speeds], "exclude": self.exclude or None}


def check_each_node(
    workspace: Workspace,
    site: Site,
    partitions: Mapping[str, Partition],
    folder: Path,
    options: SpeedOptions,
    progress: Progress,
) -> EachNode:
    """Submit a job to every node of these partitions that accepts jobs, wait for them, and compare the nodes.

    The nodes must see `folder`. Raise UserError if sinfo fails, or if the workspace's template cannot be used.
    """
    nodes = query_nodes(list(partitions), site.cluster)
    (folder / "node.pyz").write_bytes(node_zipapp())
    jobs: dict[str, SmallJob] = {}
    for number, node in enumerate(node for node in nodes if node.usable):
        script = folder / f"node-{number}.sh"
        resources = resources_on(node, site, partitions[node.partition], options.whole_node)
        write_job_script(workspace, TEMPLATE, script, resources, pythons=options.pythons)
        jobs[node.name] = SmallJob(node.name, script, LIMIT_S, site.cluster)
    run_jobs(list(jobs.values()), options.timeout_s, progress)
    speeds = _read([job for job in jobs.values() if job.ended])
    host = CheckedHost("nodes", f"nodes of {', '.join(partitions)}", _counted(nodes, speeds))
    quiet = [speed for speed in speeds.values() if not speed.load]
    compared = compare_nodes(quiet)
    slow = list(dict.fromkeys(each.host for comparison in compared for each in comparison.slow))
    # `exclude` of an experiment replaces that of the site file.
    exclude = node_list([*filter(None, [site.slurm.exclude]), *slow], site.cluster) if slow else ""
    host.add(SPEED, [*map(_found, compared), *_slow(compared, exclude)])
    host.add(NOT_MEASURED, _without_result(nodes, jobs, speeds, options, site))
    return EachNode(host, tuple(speeds.values()), exclude)


def resources_on(node: Node, site: Site, partition: Partition, whole_node: bool) -> Resources:
    """Return the resources of the job of a node: up to four CPUs, and a GPU if it has one; with `whole_node`, all."""
    limit_s = min(LIMIT_S, partition.max_time_s or LIMIT_S)
    chosen = {"partition": node.partition, "nodelist": node.name, "exclude": None, "time": f"{max(1, limit_s // 60)}"}
    slurm = site.slurm.model_copy(update={**chosen, **({"exclusive": True} if whole_node else {})})
    return Resources(1, 1, min(MOST_CPUS, node.cpus), node.gpus if whole_node else min(1, node.gpus), "", slurm)


def _read(jobs: Sequence[SmallJob]) -> dict[str, NodeSpeed]:
    """Return the speeds by node as soon as all are visible: shared file systems may delay them."""
    deadline = time.monotonic() + SETTLE_S
    speeds: dict[str, NodeSpeed] = {}
    while True:
        for job in jobs:
            if job.name not in speeds:
                speeds.update(_speed(job))
        if len(speeds) == len(jobs) or time.monotonic() > deadline:
            return {job.name: speeds[job.name] for job in jobs if job.name in speeds}
        time.sleep(POLL_S)


def _speed(job: SmallJob) -> dict[str, NodeSpeed]:
    for line in json_lines(job.script.with_suffix(".speed")):
        try:
            return {job.name: node_speed(line)._replace(host=job.name)}
        except (KeyError, TypeError, ValueError):
            continue
    return {}


def _counted(nodes: Sequence[Node], speeds: Mapping[str, NodeSpeed]) -> str:
    return f"{len(speeds)} of {plural(len(nodes), 'node')} measured"


def _found(compared: Comparison) -> CheckResult:
    """Return what was found of one kind of rates."""
    kernel, rates = compared.kind.kernel, compared.rates
    lowest, highest = (f"{in_words(kernel, each.rate.value)} ({each.where})" for each in (rates[0], rates[-1]))
    numbers = {"count": float(len(rates)), "median": compared.median, "lowest": rates[0].rate.value}
    numbers["highest"] = rates[-1].rate.value
    if compared.is_possible:
        found = f"{len(rates)} rates, median {in_words(kernel, compared.median)}, lowest {lowest}, highest {highest}"
        return CheckResult(str(compared.kind), OK, found, numbers=numbers)
    found = f"{lowest}, {highest}" if len(rates) > 1 else lowest
    means = f"Slow nodes cannot be detected: this requires {LEAST} nodes of the same type without interference."
    action = "Include more nodes with --partition, or request idle ones with --whole-node."
    return CheckResult(str(compared.kind), NOTE, found, means, action, numbers)


def _slow(comparisons: Sequence[Comparison], exclude: str) -> list[CheckResult]:
    """Return a result for each rate that is an outlier."""
    means = "Cases take longer on this node, and runs on several nodes wait for it."
    action = f"Exclude it in the experiment (slurm: {{exclude: '{exclude}'}}), and inform the administrators."
    results = []
    for comparison in comparisons:
        for each in comparison.slow:
            less = f"{comparison.below_median(each):.0%} below the median".replace("%", " %")
            rate = in_words(comparison.kind.kernel, each.rate.value)
            found = f"{each.where}: {comparison.kind.kernel} {rate}, {less} of {len(comparison.rates)}"
            results.append(CheckResult("slow node", WARNING, found, means, action))
    return results


def _without_result(
    nodes: Sequence[Node],
    jobs: Mapping[str, SmallJob],
    speeds: Mapping[str, NodeSpeed],
    options: SpeedOptions,
    site: Site,
) -> list[CheckResult]:
    """Return why nodes were not measured, were measured in part, or are not compared because of other work on them."""
    results = []
    for node in nodes:
        job, speed = jobs.get(node.name), speeds.get(node.name)
        if job is None:
            found = f"{node.name}: {node.state}"
            results.append(_note("not available", found, "Slurm starts no jobs on this node.", "See `sinfo -R`."))
        elif job.refused:
            means = "Slurm refuses sweeps on this node in the same way."
            found = f"{node.name}: {job.refused}"
            results.append(CheckResult("refused", PROBLEM, found, means, how_to_correct(site)))
        elif job.late:
            found = f"{node.name}: {job.why_late(options.timeout_s)}"
            action = "Wait longer (--timeout SECONDS), or try again when the cluster is less busy."
            results.append(_note("not measured", found, "The speed of this node is unknown.", action))
        elif speed is None:
            found = f"{node.name}: the job ended without a result: {last_lines_of_log(job.script)}"
            means = "The state of the node is unknown, and sweeps may fail there in the same way."
            action = "Check that the node sees the workspace and has Python 3.8 or newer."
            results.append(CheckResult("failed", PROBLEM, found, means, action))
        else:
            results += _incomplete(speed, options.whole_node)
    return results


def _incomplete(speed: NodeSpeed, whole_node: bool) -> list[CheckResult]:
    action = "hpcbench env build pytorch, or numpy or torch for the Python of the node: see docs/guides/doctor.md."
    results = [
        _note("incomplete", f"{speed.host}: {reason}", "This part of the node is not compared.", action)
        for reason in speed.missing
    ]
    alone = "Measure again when these processes have ended." if whole_node else "Request whole nodes: --whole-node."
    for load in speed.load:
        means = "Its speed is not compared with that of others."
        results.append(_note("interference", f"{speed.host}: {load.found}", means, alone))
    return results


def _note(subject: str, found: str, means: str, action: str) -> CheckResult:
    return CheckResult(subject, NOTE, found, means, action)
