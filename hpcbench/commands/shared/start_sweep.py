"""Create a sweep, and submit or run its jobs: for sweep and gate."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from hpcbench.commands.shared.context import resumable
from hpcbench.commands.shared.live_output import live_output
from hpcbench.commands.shared.run_locally import run_here
from hpcbench.commands.shared.watch import wait_for
from hpcbench.config.matrix.locations import where_written
from hpcbench.config.yaml_document import Document
from hpcbench.core.start_rules import failure_limit
from hpcbench.core.start_rules.failure_limit import NO_LIMIT, FailureLimit
from hpcbench.plan.packing import Job
from hpcbench.plan.plan import Plan
from hpcbench.report.text.counts import jobs_in_words
from hpcbench.status.query import query
from hpcbench.store.journal import Journal, locked
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import err
from hpcbench.util.exit_status import SUCCESS
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.submit.slurm_executor import Array


def check_schedules(plan: Plan, workspace: Workspace, document: Document) -> None:
    """Raise UserError for a missing schedule with a relative path; an absolute path may exist only on the nodes."""
    named = dict.fromkeys(case.parameters.schedule for case in plan.cases)
    for file in filter(None, named):
        if not Path(file).is_absolute() and not (workspace.root / file).is_file():
            what = f"'{file}' not found in the workspace, {workspace.root}"
            raise document.error(
                what, where_written("schedule", document), "to search for a thread plan: hpcbench tune"
            )


def print_size(created: Sweep, plan: Plan) -> None:
    """Print the numbers of cases, runs and jobs of a new sweep, and where it runs."""
    runs = sum(len(job.runs) for job in plan.jobs)
    counts = plural(len(plan.cases), "case"), plural(runs, "run"), jobs_in_words(plan)
    err.print(f"{created.paths.name}: {', '.join(counts)}, on {_where(created)}", soft_wrap=True, markup=False)


def _where(sweep: Sweep) -> str:
    site = sweep.description["site"]["name"]
    if sweep.scheduler != "slurm":
        return f"this machine (site {site})"
    cluster = sweep.description["cluster"]
    return f"Slurm cluster {cluster} (site {site})" if cluster and cluster != site else f"Slurm (site {site})"


def start(
    created: Sweep,
    plan: Plan,
    workspace: Workspace,
    *,
    wait: bool,
    live: bool = False,
    limit: FailureLimit = NO_LIMIT,
) -> int:
    """Run a new sweep on this machine, or submit its jobs and `wait` for them; return the exit status.

    With `live`, print the output of the first run on a terminal. The sweep stops at the `limit` of its failures; if
    that is the first one, all other jobs wait until the first runs have ended.
    """
    from hpcbench.commands.shared.submit import submit_with_progress

    paths = created.paths
    failure_limit.begin(limit, str(paths.results))
    shown = live_output(paths) if live and err.is_terminal else nullcontext(lambda: None)
    here = created.scheduler != "slurm"
    with locked(paths.jobs) as lease, resumable(paths.name, here=here):
        if here:
            with shown as finish:
                return run_here(created, list(query(created).runs), lease, finish)
        first, rest = _arrays(plan.jobs, limit)
        submit_with_progress(created, workspace, first, Journal(paths), lease, rest)
    if not wait:
        return SUCCESS
    with shown:
        return wait_for(created)


def _arrays(jobs: Iterable[Job], limit: FailureLimit) -> tuple[list[Array], list[Array]]:
    """Return the arrays of a sweep, and those that wait for the end of the former: with fail_fast, all later runs."""
    from hpcbench.submit.slurm_executor import Array

    first: list[Array] = []
    later: list[Array] = []
    for job in jobs:
        leads = [not limit.fail_fast or any(run.is_first for run in pack) for pack in job.packs]
        for arrays, wanted in ((first, True), (later, False)):
            packs = tuple(pack for pack, lead in zip(job.packed_elements, leads, strict=True) if lead == wanted)
            arrays += [Array(job.name, packs)] if packs else []
    return first, later
