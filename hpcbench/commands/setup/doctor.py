"""hpcbench doctor: check Slurm, environments, this machine and nodes for problems that affect measurements."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.live import Live
from rich.text import Text

import hpcbench
from hpcbench.commands.options.outputs import json_option
from hpcbench.commands.shared.context import choose_site, site_option, workspace_of
from hpcbench.config.site import Partition, Site
from hpcbench.config.slurm_options import check_option_value
from hpcbench.core.check_result import LEAST_SECONDS, NOTE, PROBLEM, SECONDS, CheckResult, Progress
from hpcbench.doctor import environments, node_jobs, slurm_checks
from hpcbench.doctor.checked_host import CheckedHost, counts
from hpcbench.doctor.checkup_job import CheckupOptions
from hpcbench.doctor.each_node import EachNode, SpeedOptions, check_each_node
from hpcbench.doctor.peaks import candidate_pythons, save_peaks
from hpcbench.doctor.terminal import print_hosts
from hpcbench.doctor.this_machine import check_this_machine
from hpcbench.doctor.trial import hidden_folder
from hpcbench.errors import UserError, nearest
from hpcbench.slurm import cluster_query
from hpcbench.slurm.cluster_query import Cluster, query_cluster
from hpcbench.store.workspace import Workspace, check_root
from hpcbench.util.console import err, out
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.signals import ended_like_ctrl_c

TIMEOUT_S = 120
SLURM, ENVIRONMENTS = "Slurm", "environments"

EPILOG = """\b
Examples:
  hpcbench doctor                                check this machine; on a cluster, also Slurm and the site file
  hpcbench doctor --on-node                      check a node of each partition with a small job
  hpcbench doctor --on-node --partition gpu --timeout 600
  hpcbench doctor --on-node --whole-node         use all CPUs of these nodes, and measure their peak performance
  hpcbench doctor --each-node --partition gpu    measure the speed of every node, and list slow ones to exclude
  hpcbench doctor --json | jq '.places[].findings[] | select(.level == "problem")'
""" + exit_statuses("at least one problem")


@click.command("doctor", epilog=EPILOG)
@site_option()
@click.option("--on-node", is_flag=True, help="Check a node of each partition with a small job.")
@click.option(
    "--each-node",
    is_flag=True,
    help="Measure the speed of every node with a small job on each, and list slow nodes to exclude.",
)
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="PARTITION",
    help="Check only this partition; may be repeated. Requires --on-node or --each-node.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    default=TIMEOUT_S,
    show_default=True,
    help="Cancel jobs that have not started after this time, in seconds. Applies to --on-node and --each-node.",
)
@click.option(
    "--seconds",
    metavar="SECONDS",
    type=click.IntRange(LEAST_SECONDS, 60),
    default=SECONDS,
    show_default=True,
    help="Measure the noise floor for this time, in seconds; longer measurements show rarer events.",
)
@click.option(
    "--whole-node",
    is_flag=True,
    help="Request whole nodes, with all of their CPUs. Requires --on-node or --each-node.",
)
@click.option("--peaks/--no-peaks", default=True, help="Measure FLOP/s and bandwidth, for rooflines.  [default: peaks]")
@json_option()
@click.pass_context
def doctor_command(
    context: click.Context,
    site: str | None,
    on_node: bool,
    each_node: bool,
    partitions: tuple[str, ...],
    timeout_s: int,
    seconds: int,
    whole_node: bool,
    peaks: bool,
    as_json: bool,
) -> int:
    """Check Slurm, the environments and this machine. With --on-node, check compute nodes instead of this machine.

    Each result states its effect on measurements and what to do. doctor needs no privileges and changes no settings. It
    saves the peak performance of each machine in results/.machines/.

    \b
    ok       as recommended
    note     consider it when you read the results
    warning  results are worse than they could be
    problem  cases fail, or their results are wrong
    """
    for option, given in (("--partition", partitions), ("--whole-node", whole_node)):
        if given and not (on_node or each_node):
            raise click.UsageError(f"{option} requires --on-node or --each-node", context)
    workspace = workspace_of(context)
    chosen, state = _choose(workspace, site)
    cluster = query_cluster(chosen.cluster) if state == "up" and chosen.scheduler == "slurm" else None
    with _progress() as progress, ended_like_ctrl_c():
        site_host = _site(workspace, chosen, cluster, state, progress)
        pythons = candidate_pythons(workspace, chosen)
        options = CheckupOptions(seconds, whole_node, pythons if peaks else None)
        machines: list[CheckedHost] = []
        speeds: EachNode | None = None
        if on_node or each_node:
            option = "--on-node" if on_node else "--each-node"
            selected = _select(_require_slurm(option, chosen, cluster, state), chosen, partitions)
            check_root(workspace.root, "slurm")
            with hidden_folder(workspace) as folder:
                if on_node:
                    machines = node_jobs.check_nodes(workspace, chosen, selected, folder, options, timeout_s, progress)
                if each_node:
                    how = SpeedOptions(whole_node, pythons, timeout_s)
                    speeds = check_each_node(workspace, chosen, selected, folder, how, progress)
        else:
            machines = [check_this_machine(chosen, cluster, options, progress)]
    for machine in machines:
        save_peaks(workspace, machine)
    _print(chosen, site_host, machines, speeds, as_json)
    return int(PROBLEM in counts([site_host, *machines, *([speeds.host] if speeds else [])]))


def _choose(workspace: Workspace, site: str | None) -> tuple[Site, str]:
    """Return the site to check, and the state of its Slurm; this machine if no site is named and Slurm is silent."""
    if site or os.environ.get("HPCBENCH_SITE"):
        chosen = choose_site(workspace, site, local=False)  # first: the site may name a slurm.conf
        return chosen, "none" if chosen.scheduler == "local" else _slurm_state()
    state = _slurm_state()
    return choose_site(workspace, None, local=state == "silent"), state


def _slurm_state() -> str:
    """Return "up", "none", or "silent" if Slurm is configured here and does not respond."""
    try:
        return "up" if cluster_query.slurm_responds() else "none"
    except UserError:
        return "silent"


def _site(workspace: Workspace, site: Site, cluster: Cluster | None, state: str, progress: Progress) -> CheckedHost:
    host = CheckedHost("site", f"site {site.name}", site.description)
    if cluster:
        host.add(SLURM, slurm_checks.check_slurm(cluster, site))
    elif state == "silent":
        host.add(SLURM, [slurm_checks.SILENT])
    elif site.scheduler == "slurm":
        host.add(SLURM, [slurm_checks.ABSENT])
    try:
        host.add(ENVIRONMENTS, environments.check_environments(workspace, site, progress))
    except (UserError, OSError) as error:
        means = "Whether the environments work is unknown."
        action = "Run doctor in a folder with write permission: it runs a script there, and removes it."
        host.add(ENVIRONMENTS, [CheckResult("environments", NOTE, f"not checked: {error}", means, action)])
    return host


def _require_slurm(option: str, site: Site, cluster: Cluster | None, state: str) -> Cluster:
    if cluster is None:
        silent = "which is configured on this host, but not responding"
        absent = f"which is not available at the site '{site.name}'"
        what = f"{option} requires Slurm, {silent if state == 'silent' else absent}"
        raise UserError(what, hint=f"to check this machine, omit {option}")
    return cluster


def _select(cluster: Cluster, site: Site, names: tuple[str, ...]) -> dict[str, Partition]:
    """Return the partitions to check: the named ones, otherwise those of the site file, otherwise all.

    Raise UserError for an unknown partition or an invalid name.
    """
    theirs, ours = cluster.site.partitions, site.partitions
    known = {**theirs, **{name: _filled(ours[name], theirs.get(name)) for name in ours}}
    for name in names:
        if name not in known:
            raise UserError(f"partition '{name}' not found", where="--partition", hint=nearest(name, known))
    chosen = {name: known[name] for name in dict.fromkeys(names or ours or theirs)}
    for name in chosen:
        try:
            check_option_value(name)
        except ValueError as error:
            raise UserError(
                f"{name!r} is not a valid partition name: {error}", where=f"site file of '{site.name}'"
            ) from error
    return chosen


def _filled(ours: Partition, theirs: Partition | None) -> Partition:
    """Return a partition of the site file, with missing values from Slurm."""
    if theirs is None:
        return ours
    return theirs.model_copy(update={name: getattr(ours, name) for name in ours.model_fields_set})


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show progress: one changing line on a terminal, otherwise one line per activity.

    Draw only changes, because drawing interferes with measurements.
    """
    if err.is_terminal:
        with Live(console=err, transient=True, auto_refresh=False) as live:
            yield lambda what, how_far: live.update(Text(f"{what}: {how_far}" if how_far else what), refresh=True)
        return
    printed: list[str] = []

    def print_new(what: str, how_far: str) -> None:
        if printed[-1:] != [what]:
            printed.append(what)
            err.print(what, markup=False, soft_wrap=True)

    yield print_new


def _print(
    chosen: Site, site: CheckedHost, machines: list[CheckedHost], speeds: EachNode | None, as_json: bool
) -> None:
    nodes = [speeds.host] if speeds else []
    now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    if as_json:
        content = {"hpcbench_version": hpcbench.__version__, "created_at": now, "site": chosen.name}
        places = [host.as_data() for host in (site, *machines, *nodes)]
        click.echo(json.dumps({**content, "places": places, **(speeds.as_data() if speeds else {})}, indent=1))
        return
    out.print(f"hpcbench {hpcbench.__version__} doctor, {now}")
    print_hosts(out, [site], machines, nodes)
    if speeds and speeds.exclude:
        out.print(f"For the experiment:\nslurm:\n  exclude: {speeds.exclude!r}", markup=False, highlight=False)
