"""The job scripts of a case, and the commands that rerun it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.text import Text

from hpcbench.core import ranges
from hpcbench.report.terminal.case.facts import Fact, Facts
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.report.terminal.status_summary import from_workspace
from hpcbench.status.fails_again import failing_again
from hpcbench.store import packs
from hpcbench.util.text import plural, printable

_UNKNOWN = "%JOB%"


def script(view: CaseView) -> Facts:
    """Return scripts, array tasks, and rerun commands of a case."""
    facts: list[Fact] = []
    for job in dict.fromkeys(run.job for run in view.runs):
        facts += _of_job(view, job)
    return Facts([*facts, ("run again", "\n".join(_again(view)))])


def command(view: CaseView) -> Text:
    """Return the command with which the job's driver starts the run CaseView.telling, to be pasted into a job.

    An unknown job id or process id is a shell variable.
    """
    run = view.telling or view.runs[0]
    on_slurm = view.sweep.scheduler == "slurm"
    batch, process, restart, attempt = run.job, _UNKNOWN, "0", 1
    if run.record is not None:
        batch, attempt = run.record.batch, run.record.attempt or 1
        restart = run.record.slurm.get("restart_count", "0")
        process = run.record.slurm.get("job_id", _UNKNOWN) if on_slurm else _UNKNOWN
    line = shlex.join(view.sweep.run_command(run.job, batch, run.element, process, restart, attempt))
    variable = "$SLURM_JOB_ID" if on_slurm else "$$"
    results = str(view.sweep.paths.results)
    if shlex.quote(results) != results:  # the variable must not be within single quotes
        variable = f"'\"{variable}\"'"
    return Text(printable(line.replace(_UNKNOWN, variable)), no_wrap=True)


def _of_job(view: CaseView, job: str) -> Iterator[Fact]:
    batches = dict.fromkeys(record.batch for record in view.ended if record.job == job)
    yield "script", from_workspace(view.sweep, view.sweep.paths.script(job))
    planned = from_workspace(view.sweep, view.sweep.paths.runs(job))
    elements = _elements(view, job)
    lines = ranges.compact(element + 1 for element in elements)
    yield "elements", f"{ranges.compact(elements)}, in lines {lines} of {planned}"
    yield "submitted as", ", ".join(batch for batch in batches if batch != job)


def _elements(view: CaseView, job: str) -> list[int]:
    return [run.element for run in view.runs if run.job == job]


def _again(view: CaseView) -> Iterator[str]:
    """Yield rerun commands, first the one that runs only missing runs."""
    paths = view.sweep.paths
    if paths.archive:
        yield f"hpcbench sweep --from {shlex.quote(str(paths.archive))}"
        return
    if len(view.progress.to_do()) > len(failing_again(view.progress)):
        yield f"hpcbench resume {shlex.quote(paths.name)}"
    elif any(run.has_interference for run in view.runs) and view.sweep.tuning is None:
        yield f"hpcbench resume {shlex.quote(paths.name)} --interference"
    for job in dict.fromkeys(run.job for run in view.runs):
        file = shlex.quote(from_workspace(view.sweep, paths.script(job)))
        yield _by_slurm(view, job, file) if view.sweep.scheduler == "slurm" else _here(view, job, file)


def _here(view: CaseView, job: str, file: str) -> str:
    elements = [str(element) for element in _elements(view, job)]
    if len(elements) == 1:
        return f"bash {file} {elements[0]}"
    return f"for element in {' '.join(elements)}; do bash {file} $element; done"


def _by_slurm(view: CaseView, job: str, file: str) -> str:
    """Return the sbatch command of the array tasks with the case, and the number of other runs in these."""
    elements = set(_elements(view, job))
    packed = {index: pack for index, pack in enumerate(packs.read(view.sweep.paths.packs(job))) if elements & {*pack}}
    others = sum(len(pack) for pack in packed.values()) - len(elements)
    comment = f"    # and {plural(others, 'run')} of other cases in the same jobs" if others else ""
    conf = f"SLURM_CONF={shlex.quote(view.sweep.slurm_conf)} " if view.sweep.slurm_conf else ""
    return f"{conf}sbatch --array={ranges.compact(packed)} {file}{comment}"
