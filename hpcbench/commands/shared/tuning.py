"""Run the search of a sweep, or submit its job, and print the result: for tune and resume."""

from __future__ import annotations

from collections.abc import Callable

import click
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from hpcbench.analysis.cases.quantities import in_items_of
from hpcbench.commands.shared.context import not_done_without_slurm, resumable
from hpcbench.commands.shared.watch import wait_for_search
from hpcbench.config.experiment import Experiment, load_experiment
from hpcbench.core.frameworks import DYNAMIC
from hpcbench.environments.resolve import check_still_there
from hpcbench.plan.case import Case
from hpcbench.plan.plan import Plan, make_plan
from hpcbench.report.terminal.tuning import in_words, lines
from hpcbench.report.text.numbers import value_in_words
from hpcbench.slurm.search_job import searching
from hpcbench.store.journal import Journal, locked
from hpcbench.store.records import interference_causes
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.local_executor import LocalExecutor
from hpcbench.submit.rerun import Rerun
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.measurement_runner import MeasurementRunner, Runs
from hpcbench.tuning.objective import Objective, objective_of
from hpcbench.tuning.result import TuningResult
from hpcbench.tuning.result_file import all_recommended, as_json, read_results, save_results, save_schedule
from hpcbench.tuning.search_space import Context, contexts
from hpcbench.tuning.tuner import Event, GridStarted, Measured, ScheduleSearchStarted, Tuner, max_measurements
from hpcbench.util.console import err, out
from hpcbench.util.locking.lease import Lease
from hpcbench.util.signals import ended_like_ctrl_c
from hpcbench.util.text import plural

LOCK_TIMEOUT_S = 60.0  # in the job that searches: the process that submitted it may still hold the sweep


def resume_search(
    sweep: Sweep, workspace: Workspace, *, here: bool = False, wait: bool = False, in_json: bool = False
) -> int:
    """Continue the search of a sweep: run it, or submit its job unless that is queued, and `wait` for the job.

    `here` is True if this process is that job. Print the results, if there are any, as text or JSON. Return 1 if no
    configuration of a context could be measured, or if an awaited job left no result. Raises UserError for a sweep
    that cannot continue.
    """
    again, how = Rerun.of(sweep.paths), sweep.tuning or {}
    document = again.document()
    experiment = load_experiment(document)
    objective = objective_of(str(how.get("metric")), experiment)
    plan = make_plan(experiment, document, again.site(local=True))
    searched = contexts(plan.cases, objective, document)
    exhaustive = bool(how.get("exhaustive"))
    found = read_results(sweep.paths)
    in_job = sweep.is_searched_by_job and not here
    if found is None:
        for name, python in sorted({sweep.environment(job) for job in sweep.job_names}):
            check_still_there(sweep.site, name, python, workspace)
    if found is None and in_job:
        shapes, repetitions = len(experiment.tune.held_out), experiment.measure.repetitions
        most = max_measurements(searched, repetitions, shapes, exhaustive=exhaustive)
        with locked(sweep.paths.jobs) as lease:
            _submit(sweep, plan, most, workspace, lease)
        if not wait:
            err.print(f"see: hpcbench status {sweep.paths.name}", soft_wrap=True)
            return 0
        wait_for_search(sweep)
        found = read_results(sweep.paths)
        if found is None:
            err.print(f"no result; see: hpcbench status {sweep.paths.name}", soft_wrap=True)
            return 1
    elif found is None:
        tuner = Tuner(
            searched, experiment, objective, lambda *plan: save_schedule(sweep.paths, *plan), exhaustive=exhaustive
        )
        with locked(sweep.paths.jobs, LOCK_TIMEOUT_S if here else 0) as lease, resumable(sweep.paths.name, here=True):
            found = _run(tuner, sweep, experiment, objective, lease)
    if in_json:
        click.echo(as_json(found))
    else:
        for line in (line for finding in found for line in lines(finding, objective.quantity)):
            out.print(Text(line), soft_wrap=True)
    err.print(f"all measurements: hpcbench report {sweep.paths.name}", soft_wrap=True)
    return int(not all_recommended(found))


def _submit(sweep: Sweep, plan: Plan, measurements: int, workspace: Workspace, lease: Lease) -> None:
    from hpcbench.submit.slurm_executor import adopt_orphans, check_available
    from hpcbench.submit.tuning_job import submit_search  # submitit

    check_available(sweep.other_cluster, sweep.slurm_conf)
    journal = Journal.read(sweep.paths)
    with not_done_without_slurm("nothing was submitted", f"hpcbench resume {sweep.paths.name}"):
        adopt_orphans(sweep, journal)
        queued = searching(sweep, journal)
    for job, entry in queued.items():
        err.print(f"job {job} runs the search, and is {entry.in_words}", soft_wrap=True, markup=False)
    if not queued:
        with resumable(sweep.paths.name):
            job = submit_search(sweep, plan, measurements, workspace, journal, lease)
        err.print(f"job {job} runs the search", soft_wrap=True)


def _run(tuner: Tuner, sweep: Sweep, experiment: Experiment, objective: Objective, lease: Lease) -> list[TuningResult]:
    """Measure what the tuner asks for until it has its results; print its events and save the results."""
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    progress = Progress(*columns, console=err, refresh_per_second=1, disable=not err.is_terminal)
    with ended_like_ctrl_c(), progress as bar, LocalExecutor(sweep.paths, lease.fileno()) as executor:
        name, runs = sweep.paths.name, Runs(sweep)
        task = bar.add_task(name, total=None)
        if runs.measured:
            err.print(f"{plural(runs.measured, 'measurement')} reused", soft_wrap=True)
        runner = MeasurementRunner(sweep, lease, executor, experiment.measure, runs)
        while (trial := tuner.ask()) is not None:
            for event in tuner.tell(runner.measure(trial)):
                _show(event, objective, lambda line: bar.update(task, description=f"{name} {line}"))
    save_results(sweep.paths, tuner.results)
    return tuner.results


def _show(event: Event, objective: Objective, update_bar: Callable[[str], None]) -> None:
    """Print an event; on a terminal, the bar alone shows a new measurement that completed."""
    if isinstance(event, GridStarted):
        err.print(f"the full grid: {plural(event.measurements, 'measurement')}", soft_wrap=True)
    elif isinstance(event, ScheduleSearchStarted):
        err.print("per-layer threads: searching for a thread plan, with the best configuration", soft_wrap=True)
    elif event.measurement.is_new:
        case, stage = event.measurement.trial
        line = f"{_configuration(event.context, case)}: {_outcome(event, stage, objective)}"
        update_bar(line)
        if not err.is_terminal or objective.cost_of(event.measurement.record) is None:
            err.print(Text(line), soft_wrap=True)


def _configuration(context: Context, case: Case) -> str:
    """Return what a case sets, also if it follows a thread plan or has a held-out shape."""
    parameters, usual = case.parameters, context.cases[context.default].parameters
    values = {name: value for name, value in context.values(case).items() if name != "threads"}
    if parameters.batch_size != usual.batch_size:
        values["batch_size"] = parameters.batch_size
    options = parameters.model_options.items()
    values |= {name: value for name, value in options if value != usual.model_options.get(name)}
    if parameters.threads != DYNAMIC:
        return in_words(values)
    return f"{'following the' if parameters.schedule else 'searching for a'} thread plan, {in_words(values)}"


def _outcome(event: Measured, stage: Stage, objective: Objective) -> str:
    record, quantity = event.measurement.record, in_items_of(objective.quantity, event.context.model)
    cost, causes = objective.cost_of(record), interference_causes(record)
    if cost is None:
        return objective.why_unknown(record)
    value = value_in_words(quantity, objective.value_of(cost))
    return f"{value}, measured {stage.word}{f', interference: {causes}' if causes else ''}"
