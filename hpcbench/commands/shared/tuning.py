"""A search from its first measurement to what it has found: shared by tune and resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import click
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from hpcbench.commands.shared.context import resumable
from hpcbench.commands.shared.watch import wait_for_search
from hpcbench.config.experiment import Experiment, load_experiment
from hpcbench.core.frameworks import DYNAMIC
from hpcbench.environments.resolve import check_still_there
from hpcbench.plan.case import Case
from hpcbench.plan.plan import Plan, make_plan
from hpcbench.report.terminal.tuning import in_words, lines
from hpcbench.report.text.numbers import value_in_words
from hpcbench.slurm.queue import searching
from hpcbench.store.journal import Journal, locked
from hpcbench.store.records import Record, disturbed_by
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.rerun import Rerun
from hpcbench.tuning.ask_tell import Notebook, Result, Search, conduct
from hpcbench.tuning.budget import PAIRS, most_measurements
from hpcbench.tuning.conclusion import conclude, with_grid
from hpcbench.tuning.exhaustive import whole_grid
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.measurement_runner import Bench, Runs
from hpcbench.tuning.objective import Objective, objective_of
from hpcbench.tuning.result import Finding
from hpcbench.tuning.result_file import all_answered, as_json, keep, read
from hpcbench.tuning.search import search
from hpcbench.tuning.search_space import Context, contexts
from hpcbench.tuning.surrogate import ALL, Space, Surrogate
from hpcbench.tuning.thread_schedule_search import SectionSearch
from hpcbench.util.console import err, out
from hpcbench.util.locking.lease import Lease
from hpcbench.util.signals import ended_like_ctrl_c
from hpcbench.util.text import plural

PATIENCE_S = 60.0  # of the job that searches


def go_on(sweep: Sweep, workspace: Workspace, *, here: bool = False, wait: bool = False, in_json: bool = False) -> int:
    """Go on with the search of a sweep: run it, or submit the job that does, unless it waits or runs already, and
    `wait` for it; `here` is inside of that job. Print what was found, where that is known, for people or in JSON.

    Returns 1 where some context has no setting that could be measured, or an awaited job no answer. Raises UserError
    for a sweep that does not say enough.
    """
    again, how = Rerun.of(sweep.paths), sweep.tuning or {}
    document = again.document()
    experiment = load_experiment(document)
    objective = objective_of(str(how.get("metric")), experiment)
    plan = make_plan(experiment, document, again.site(local=True))
    searched = contexts(plan.cases, objective, document)
    exhaustive = bool(how.get("exhaustive"))
    found = read(sweep.paths)
    in_job = sweep.is_searched_by_job and not here
    if found is None:
        for name, python in sorted({sweep.environment(job) for job in sweep.job_names}):
            check_still_there(sweep.site, name, python, workspace)
    if found is None and in_job:
        shapes, repetitions = len(experiment.tune.held_out), experiment.measure.repetitions
        most = most_measurements(searched, repetitions, shapes, exhaustive=exhaustive)
        with locked(sweep.paths.jobs) as lease, resumable(sweep.paths.name):
            _submit(sweep, plan, most, workspace, lease)
        if not wait:
            err.print(f"see: hpcbench status {sweep.paths.name}", soft_wrap=True)
            return 0
        wait_for_search(sweep)
        found = read(sweep.paths)
        if found is None:
            err.print(f"no answer; see: hpcbench status {sweep.paths.name}", soft_wrap=True)
            return 1
    elif found is None:
        # Whoever has submitted the job may still hold the sweep.
        with locked(sweep.paths.jobs, PATIENCE_S if here else 0) as lease, resumable(sweep.paths.name):
            found = Tuner(sweep, experiment, objective, exhaustive, lease).tune(searched)
    if in_json:
        click.echo(as_json(found))
    else:
        for line in (line for finding in found for line in lines(finding, objective.quantity)):
            out.print(Text(line), soft_wrap=True)
    err.print(f"every measurement: hpcbench report {sweep.paths.name}", soft_wrap=True)
    return int(not all_answered(found))


def _submit(sweep: Sweep, plan: Plan, measurements: int, workspace: Workspace, lease: Lease) -> None:
    from hpcbench.submit.slurm_executor import adopt_orphans, check_available
    from hpcbench.submit.tuning_job import submit_search  # submitit

    check_available()
    journal = Journal.read(sweep.paths)
    adopt_orphans(journal)
    queued = searching(sweep.paths.name, journal)
    for job, entry in queued.items():
        err.print(f"job {job} searches it, and is {entry.in_words}", soft_wrap=True, markup=False)
    if not queued:
        job = submit_search(sweep, plan, measurements, workspace, journal, lease)
        err.print(f"job {job} searches it", soft_wrap=True)


@dataclass(frozen=True)
class Tuner:
    """Searches the contexts of an experiment, in the sweep that was made for it."""

    sweep: Sweep
    experiment: Experiment
    objective: Objective
    exhaustive: bool
    lease: Lease

    def tune(self, contexts: Sequence[Context]) -> list[Finding]:
        """What was found in each context. It is kept beside the records."""
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        progress = Progress(*columns, console=err, refresh_per_second=1, disable=not err.is_terminal)
        with ended_like_ctrl_c(), progress as bar:
            task, runs = bar.add_task(self.sweep.paths.name, total=None), Runs(self.sweep)
            if runs.kept:
                err.print(f"{plural(runs.kept, 'measurement')} kept from before", soft_wrap=True)
            found = [self._tuned(context, self._bench(context, runs, bar, task)) for context in contexts]
        keep(self.sweep.paths, found)
        return found

    def _tuned(self, context: Context, bench: Bench) -> Finding:
        measure, settings = self.experiment.measure, range(len(context.cases))
        scout = Surrogate(Space.of(context.points), measure.shuffle_seed) if len(settings) > ALL else None
        notebook = Notebook(measure.shuffle_seed)
        steps = search(notebook, settings, context.default, measure.repetitions, scout)
        found = self._conducted(steps, bench, context)
        finding = conclude(context, found, bench, self.objective, measure.repetitions)
        if found is None:
            return finding
        if context.dynamic:
            pairs = PAIRS * measure.repetitions
            err.print("threads by section: looking for a schedule, with the best setting", soft_wrap=True)
            sections = SectionSearch(bench.afresh(), notebook, context.cases, found.best, context.dynamic, pairs)
            finding = replace(finding, by_section=sections.run(self.experiment.tune.held_out))
        if not self.exhaustive:
            return finding
        err.print(f"the full grid: {plural(len(settings) * measure.repetitions, 'measurement')}", soft_wrap=True)
        bench, notebook = bench.afresh(), Notebook(measure.shuffle_seed)
        self._conducted(whole_grid(notebook, settings, measure.repetitions), bench, context)
        return with_grid(finding, context, found.best, notebook, bench, self.objective)

    def _conducted(self, steps: Search[Result], bench: Bench, context: Context) -> Result:
        return conduct(steps, lambda block: bench.block(context.cases, block))

    def _bench(self, context: Context, runs: Runs, bar: Progress, task: TaskID) -> Bench:
        def told(case: Case, stage: Stage, record: Record) -> None:
            line = f"{_words(context, case)}: {self._outcome(stage, record)}"
            bar.update(task, description=f"{self.sweep.paths.name} {line}")
            if not err.is_terminal or self.objective.cost_of(record) is None:
                err.print(Text(line), soft_wrap=True)

        return Bench(self.sweep, self.lease, self.experiment.measure, self.objective, told, runs)

    def _outcome(self, stage: Stage, record: Record) -> str:
        cost, causes = self.objective.cost_of(record), disturbed_by(record)
        if cost is None:
            return self.objective.why_unknown(record)
        value = value_in_words(self.objective.quantity, self.objective.value_of(cost))
        return f"{value}, measured {stage.word}{f', disturbed: {causes}' if causes else ''}"


def _words(context: Context, case: Case) -> str:
    """The setting of a case that is measured, also of one by section or at a held-out shape."""
    parameters, usual = case.parameters, context.cases[context.default].parameters
    told = {name: value for name, value in context.values(case).items() if name != "threads"}
    if parameters.batch_size != usual.batch_size:
        told["batch_size"] = parameters.batch_size
    told |= {name: value for name, value in parameters.model_options.items() if value != usual.model_options.get(name)}
    if parameters.threads != DYNAMIC:
        return in_words(told)
    way = "following the schedule" if parameters.schedule else "looking for a schedule"
    return f"{way}, {in_words(told)}"
