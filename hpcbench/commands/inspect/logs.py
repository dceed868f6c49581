"""hpcbench logs: the logs of runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from hpcbench.commands.options.case_argument import NamedCase, sweep_and_case, sweep_and_case_argument
from hpcbench.commands.shared.context import archives_of_anybody
from hpcbench.core.status import NOT_FAILED
from hpcbench.errors import UserError
from hpcbench.report.terminal.status_summary import from_workspace, log_path, named
from hpcbench.slurm.states import RUNNING
from hpcbench.status.progress import UNKNOWN, Progress, RunProgress
from hpcbench.status.query import or_records, query
from hpcbench.store.journal import Journal
from hpcbench.store.logs import Follower, last_lines
from hpcbench.store.sweep import Sweep, load
from hpcbench.util.console import err
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.text import plural, printable

LINES = 20
POLL_S = 0.5
LOCAL_QUERY_S, SLURM_QUERY_S = 1.0, 10.0  # between two checks whether a run has ended

Log = tuple[Path, RunProgress]

EPILOG = """\b
Examples:
  hpcbench logs                        the end of each log of the latest sweep, failed runs first
  hpcbench logs --failed               only the logs of failed runs
  hpcbench logs lstm c1a2 --run 2      run 2 of a case of the latest sweep of the experiment lstm
  hpcbench logs batch_size=64 --all
  hpcbench logs --follow               an active run, until it ends
  hpcbench logs lstm.tar.gz            from an archive
  less $(hpcbench logs --failed --path)
""" + exit_statuses("no log found")


@click.command("logs", epilog=EPILOG)
@sweep_and_case_argument()
@click.option("--failed", is_flag=True, help="Print only the logs of failed runs.")
@click.option("--run", "number", type=click.IntRange(min=1), help="Print only the log of run N of each case.")
@click.option(
    "--lines",
    type=click.IntRange(min=1),
    help=f"Print the last N lines of each log.  [default: all lines of one log, {LINES} of each if there are several]",
)
@click.option("--all", "whole", is_flag=True, help="Print all lines of each log.")
@click.option("-f", "--follow", is_flag=True, help="Follow the log of an active run until it ends.")
@click.option("--path", "only_paths", is_flag=True, help="Print only the paths of the logs.")
@click.pass_context
@archives_of_anybody()
def logs_command(
    context: click.Context,
    words: tuple[str, ...],
    failed: bool,
    number: int | None,
    lines: int | None,
    whole: bool,
    follow: bool,
    only_paths: bool,
) -> int:
    """Print the logs of the runs of SWEEP, or only of CASE, with failed runs first.

    CASE is an ID, a unique prefix of one, or KEY=VALUE of parameters that identify one case.

    SWEEP is a name, `latest`, the name of an experiment, a unique prefix, or an archive.  [default: latest] A single
    word without = is read as SWEEP if a sweep has this name, otherwise as CASE.
    """
    for option, used in (("--failed", failed), ("--path", only_paths)):
        if follow and used:
            raise UserError(f"--follow cannot be used with {option}", hint="use one of them")
    given = sweep_and_case(context, words)
    if given.paths.archive and (only_paths or follow):
        option = "--path" if only_paths else "--follow"
        raise UserError(
            f"{option} cannot be used with an archive",
            where=str(given.paths.archive),
            hint="name a sweep of the workspace",
        )
    sweep = load(given.paths)
    progress = query(sweep, ask_slurm=False) if given.paths.archive else or_records(query, sweep)
    for warning in progress.warnings:
        err.print(f"warning: {warning}", soft_wrap=True, markup=False)
    runs = [run for run in _of_case(progress, given) if number in (None, run.planned.run)]
    if follow:
        return _follow(sweep, runs)
    found = list(_logs(sweep, [run for run in _failed_first(runs) if not failed or _has_failed(run)]))
    if not found:
        err.print(f"no log of a {'failed run' if failed else 'run'} found; see: hpcbench status {sweep.paths.name}")
        return 1
    for path, run in found:
        if only_paths:
            _write(f"{path}\n")
        else:
            default = LINES if len(found) > 1 else None
            _print(sweep, path, run, None if whole else lines or default, several=len(found) > 1)
    return 0


def _of_case(progress: Progress, given: NamedCase) -> list[RunProgress]:
    """Return the runs of the named case, or all runs. Raise UserError unless the words identify one case."""
    if not given.case:
        return list(progress.runs)
    from hpcbench.report.load.find_case import row_of_case  # pandas, which nothing else here needs
    from hpcbench.report.load.records import cases_of

    cases = cases_of(progress)
    case = cases.iloc[row_of_case(cases, given.case, given.where)]["case"]
    return [run for run in progress.runs if run.planned.case_id == case]


def _has_failed(run: RunProgress) -> bool:
    return run.ended and run.state not in NOT_FAILED


def _failed_first(runs: Iterable[RunProgress]) -> list[RunProgress]:
    return sorted(runs, key=lambda run: (not _has_failed(run), run.planned.case_index, run.planned.run))


def _logs(sweep: Sweep, runs: Iterable[RunProgress]) -> Iterator[Log]:
    """Yield each log once, with the first of its runs: those that a job runs one after another share its log."""
    batches = {batch.slurm_id: batch.name for batch in Journal.read(sweep.paths).accepted}
    seen = set[Path]()
    for run in runs:
        path = log_path(sweep, run) or _log_of_unfinished(sweep, run, batches)
        if path is not None and path not in seen:
            seen.add(path)
            yield path, run


def _log_of_unfinished(sweep: Sweep, run: RunProgress, batches: dict[str | None, str]) -> Path | None:
    """Return the log of a run that has not ended, or None if it has printed nothing."""
    if run.ended:
        return None
    index = run.element if run.slurm_id is None or run.index is None else run.index
    path = sweep.paths.log(batches.get(run.slurm_id, run.job), index, run.slurm_id)
    return path if path.is_file() else None


def _print(sweep: Sweep, path: Path, run: RunProgress, lines: int | None, *, several: bool) -> None:
    """Print the last `lines` lines of a log, or all if None, below its name if it is one of several."""
    if several:
        _write(f"==> {from_workspace(sweep, path)}: {named(sweep, run.planned)}, {run.state} <==\n")
    try:
        if lines:
            _write("".join(f"{line}\n" for line in last_lines(path, lines)))
        else:
            _print_new(Follower(path))
    except BrokenPipeError:  # of stdout
        raise
    except OSError as error:
        err.print(f"{path}: cannot be read: {error.strerror}", soft_wrap=True, markup=False)
    if several:
        _write("\n")


def _follow(sweep: Sweep, runs: list[RunProgress]) -> int:
    """Print the log of the first running run until it ends. Raise UserError if no run with a log is running."""
    running = list(_logs(sweep, [run for run in runs if run.state == RUNNING]))
    if not running:
        raise UserError("no run is running", where=sweep.paths.name, hint=f"see: hpcbench status {sweep.paths.name}")
    path, run = running[0]
    others = f"; {plural(len(running) - 1, 'other')} running: name a CASE, or --run N" if len(running) > 1 else ""
    err.print(f"{from_workspace(sweep, path)}: {named(sweep, run.planned)}{others}", soft_wrap=True, markup=False)
    log, has_ended = Follower(path), _ending(sweep, run)
    while True:
        ended = has_ended()  # asked before the log is read, so that its end is not missed
        _print_new(log)
        if ended:
            return 0
        time.sleep(POLL_S)


def _print_new(log: Follower) -> None:
    for text in log.new():
        _write(text)


def _ending(sweep: Sweep, run: RunProgress) -> Callable[[], bool]:
    """Return a function that returns whether a run has stopped running, and asks only from time to time.

    While Slurm does not respond, the run counts as running.
    """
    pause_s = LOCAL_QUERY_S if sweep.scheduler == "local" else SLURM_QUERY_S
    asked_at = time.monotonic()

    def has_ended() -> bool:
        nonlocal asked_at
        if time.monotonic() < asked_at + pause_s:
            return False
        states = {(each.job, each.element): each.state for each in or_records(query, sweep).runs}
        asked_at = time.monotonic()
        return states[run.job, run.element] not in (RUNNING, UNKNOWN)

    return has_ended


def _write(text: str) -> None:
    """Print text that a program has written, without control characters that would change the terminal."""
    sys.stdout.buffer.write(printable(text).encode(errors="replace"))
    sys.stdout.buffer.flush()
