"""hpcbench doctor: what works here, and what makes numbers worse than they could be."""

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
from hpcbench.commands.shared.context import choose_site, workspace_of
from hpcbench.config.site import Partition, Site
from hpcbench.config.slurm_options import check_option_value
from hpcbench.core.check_result import LEAST_SECONDS, NOTE, PROBLEM, SECONDS, Finding, Progress
from hpcbench.doctor import environments, slurm_checks
from hpcbench.doctor import node_jobs as nodes
from hpcbench.doctor.checked_host import Place, counts
from hpcbench.doctor.checkup_job import Wanted
from hpcbench.doctor.peaks import keep, pythons
from hpcbench.doctor.terminal import print_places
from hpcbench.doctor.this_machine import this_machine
from hpcbench.doctor.trial import hidden_folder
from hpcbench.errors import UserError, nearest
from hpcbench.slurm import cluster_query
from hpcbench.slurm.cluster_query import Cluster, query_cluster
from hpcbench.store.workspace import Workspace, check_root
from hpcbench.util.console import err, out
from hpcbench.util.signals import ended_like_ctrl_c

WAIT_S = 120
SLURM, ENVIRONMENTS = "Slurm", "environments"

EPILOG = """\b
Examples:
  hpcbench doctor                                this machine; on a cluster Slurm and the site file, too
  hpcbench doctor --on-node                      a node of each partition, by a small job
  hpcbench doctor --on-node --partition gpu --wait 600
  hpcbench doctor --on-node --whole-node         all CPUs of these nodes, and what they can do at most
  hpcbench doctor --json | jq '.places[].findings[] | select(.level == "problem")'

Exit status: 0; 1 something is a problem: it fails, or its numbers would be wrong; 2 a mistake; 130 interrupted.
"""


@click.command("doctor", epilog=EPILOG, short_help="Say what works here, and what makes numbers worse.")
@click.option("--site", help="Site file, or the name of one.  [default: as in hpcbench sweep]")
@click.option("--on-node", is_flag=True, help="Look at a node of each partition, by a small job.")
@click.option("--partition", "partitions", multiple=True, help="With --on-node: only this one; may be given again.")
@click.option(
    "--wait",
    "wait_s",
    type=click.IntRange(min=1),
    default=WAIT_S,
    show_default=True,
    help="With --on-node: seconds for the jobs to start in. What has not is cancelled, and told.",
)
@click.option(
    "--seconds",
    type=click.IntRange(LEAST_SECONDS, 60),
    default=SECONDS,
    show_default=True,
    help="How long to look at the noise floor: longer shows what is rarer.",
)
@click.option("--whole-node", is_flag=True, help="With --on-node: ask for whole nodes, with all of their CPUs.")
@click.option("--peaks/--no-peaks", default=True, help="Measure FLOP/s and bandwidth, for rooflines.  [default: do]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def doctor_command(
    context: click.Context,
    site: str | None,
    on_node: bool,
    partitions: tuple[str, ...],
    wait_s: int,
    seconds: int,
    whole_node: bool,
    peaks: bool,
    as_json: bool,
) -> int:
    """Look at Slurm, the environments and this machine, or with --on-node at the nodes of the cluster.

    Each finding says what it means for the numbers and how to mend it. No rights are needed, and nothing is changed:
    only what a machine can do at most is kept, in results/.machines/.

    \b
    ok       as it should be
    note     to be known when the numbers are read
    warning  numbers are worse than they could be
    problem  something fails, or its numbers would be wrong
    """
    for option, given in (("--partition", partitions), ("--whole-node", whole_node)):
        if given and not on_node:
            raise click.UsageError(f"{option} goes with --on-node", context)
    workspace = workspace_of(context)
    state = _slurm_state()
    chosen = choose_site(workspace, site, local=state == "silent" and not _named(site))
    if _named(site) and chosen.scheduler == "local":
        state = "none"  # for this site: it has no use for the one that is here
    cluster = query_cluster() if state == "up" and chosen.scheduler == "slurm" else None
    with _progress() as progress, ended_like_ctrl_c():
        about_site = _site(workspace, chosen, cluster, state, progress)
        wanted = Wanted(seconds, whole_node, pythons(workspace, chosen) if peaks else None)
        if on_node:
            there = _chosen(_with_jobs(chosen, cluster), chosen, partitions)
            check_root(workspace.root, "slurm")
            with hidden_folder(workspace) as folder:
                machines = nodes.look(workspace, chosen, there, folder, wanted, wait_s, progress)
        else:
            machines = [this_machine(chosen, cluster, wanted, progress)]
    for machine in machines:
        keep(workspace, machine)
    _print(chosen, about_site, machines, as_json)
    return int(PROBLEM in counts([about_site, *machines]))


def _named(site: str | None) -> bool:
    return bool(site or os.environ.get("HPCBENCH_SITE"))


def _slurm_state() -> str:
    """up, none, or silent: set up here, and gives no answer."""
    try:
        return "up" if cluster_query.slurm_responds() else "none"
    except UserError:
        return "silent"


def _site(workspace: Workspace, site: Site, cluster: Cluster | None, state: str, progress: Progress) -> Place:
    place = Place("site", f"site {site.name}", site.description)
    if cluster:
        place.add(SLURM, slurm_checks.look(cluster, site))
    elif state == "silent":
        place.add(SLURM, [slurm_checks.SILENT])
    elif site.scheduler == "slurm":
        place.add(SLURM, [slurm_checks.ABSENT])
    try:
        place.add(ENVIRONMENTS, environments.look(workspace, site, progress))
    except (UserError, OSError) as error:
        means = "Whether the environments work is not known."
        mend = "Run this in a folder that you may write to: a script is made there, run, and removed."
        place.add(ENVIRONMENTS, [Finding("environments", NOTE, f"cannot be tried: {error}", means, mend)])
    return place


def _with_jobs(site: Site, cluster: Cluster | None) -> Cluster:
    if cluster is None:
        what = f"the site '{site.name}' has no Slurm that answers, so no job can look at a node"
        raise UserError(what, hint="without --on-node, doctor looks at this machine")
    return cluster


def _chosen(cluster: Cluster, site: Site, names: tuple[str, ...]) -> dict[str, Partition]:
    """The partitions to look at: those named, else those of the site file, else all; with what is known of each."""
    theirs, ours = cluster.site.partitions, site.partitions
    known = {**theirs, **{name: _filled(ours[name], theirs.get(name)) for name in ours}}
    for name in names:
        if name not in known:
            raise UserError(f"no partition is called '{name}'", where="--partition", hint=nearest(name, known))
    chosen = {name: known[name] for name in dict.fromkeys(names or ours or theirs)}
    for name in chosen:
        try:
            check_option_value(name)
        except ValueError as error:
            raise UserError(
                f"{name!r} is no name of a partition: {error}", where=f"site file of '{site.name}'"
            ) from error
    return chosen


def _filled(ours: Partition, theirs: Partition | None) -> Partition:
    """What the site file says of a partition, and Slurm where it says nothing."""
    if theirs is None:
        return ours
    return theirs.model_copy(update={name: getattr(ours, name) for name in ours.model_fields_set})


@contextmanager
def _progress() -> Iterator[Progress]:
    """One line that changes on a terminal, drawn only when there is news: drawing disturbs what is timed. Else a line
    for each thing that begins."""
    if err.is_terminal:
        with Live(console=err, transient=True, auto_refresh=False) as live:
            yield lambda what, how_far: live.update(Text(f"{what}: {how_far}" if how_far else what), refresh=True)
        return
    told: list[str] = []

    def tell(what: str, how_far: str) -> None:
        if told[-1:] != [what]:
            told.append(what)
            err.print(what, markup=False, soft_wrap=True)

    yield tell


def _print(chosen: Site, site: Place, machines: list[Place], as_json: bool) -> None:
    now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    if as_json:
        content = {"hpcbench_version": hpcbench.__version__, "created_at": now, "site": chosen.name}
        click.echo(json.dumps({**content, "places": [place.as_data() for place in (site, *machines)]}, indent=1))
        return
    out.print(f"hpcbench {hpcbench.__version__} doctor, {now}")
    print_places(site, machines, out)
