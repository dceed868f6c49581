"""The results and the page of one or more sweeps, for `report` and `open`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hpcbench.analysis.cases.bootstrap_replicates import Key
from hpcbench.analysis.results import Results
from hpcbench.collect.curves import epoch_table
from hpcbench.core import status
from hpcbench.core.record import Record
from hpcbench.errors import UserError, nearest
from hpcbench.report.load.acceptance import with_acceptance, with_required_metrics
from hpcbench.report.load.divergence import with_divergences
from hpcbench.report.load.predictions import with_predictions
from hpcbench.report.load.profiles import with_profiles
from hpcbench.report.load.rank_by import ranked_by
from hpcbench.report.load.records import records_of
from hpcbench.report.load.results import results_of
from hpcbench.report.load.tuning_results import default_of_search, searches, tuning_summaries
from hpcbench.status.fails_again import failing_again, waiting_in_vain
from hpcbench.status.progress import Progress
from hpcbench.store.workspace import Workspace

if TYPE_CHECKING:
    from hpcbench.report.charts.components import Figure


def has_results(records: Sequence[Record]) -> bool:
    """Return whether a run has ended."""
    return any(record.status in status.STATUSES for record in records)


def results_of_sweeps(
    progresses: list[Progress],
    records: list[Record],
    metric: str | None,
    base: str | None,
    same_workload: Sequence[str],
) -> Results:
    """Return the results of all records, ranked by `metric`, with speedups over the case `base`, and verdicts.

    Raise UserError if one of these names, or a user parameter in `same_workload`, is unknown.
    """
    sweeps = [progress.sweep for progress in progresses]
    same = _same_workload(same_workload, records, progresses)
    measured = with_required_metrics(sweeps, records)
    found = results_of(measured, metric, base or default_of_search(progresses), searches(progresses), same)
    found = with_profiles(
        replace(found, fails_again=_failing_again(progresses), epochs=epoch_table(records)), progresses, records
    )
    found = with_divergences(found, progresses, records)
    return with_acceptance(with_predictions(found, sweeps), sweeps)


def _same_workload(asked: Sequence[str], records: list[Record], progresses: list[Progress]) -> set[str]:
    """Return the user parameters that do not change the workload of commands, by option and by the experiments.

    Raise UserError if no record has a parameter given as option.
    """
    known = {name for record in records for name in record.user_parameters}
    for name in asked:
        if name not in known:
            raise UserError(f"unknown user parameter '{name}'", where="--same-workload", hint=nearest(name, known))
    experiments = [progress.sweep.description["experiment"] for progress in progresses]
    return {*asked, *(name for experiment in experiments for name in experiment.get("same_workload", ()))}


def _failing_again(progresses: list[Progress]) -> frozenset[Key]:
    """Return the cases with a run that would fail again, or that Slurm will not start."""
    return frozenset(
        (progress.sweep.paths.name, run.planned.case_id)
        for progress in progresses
        for run in [*failing_again(progress), *waiting_in_vain(progress)]
    )


def figures_of(results: Results, plot: str | None, progresses: list[Progress], workspace: Workspace) -> list[Figure]:
    """Return the figures of a report, or the one that `plot` describes."""
    from hpcbench.report.charts.curves import figures_of_divergence
    from hpcbench.report.charts.figures import chosen
    from hpcbench.report.charts.operators import figures_of_operators
    from hpcbench.report.charts.resources import figures_of_resources
    from hpcbench.report.load.case_details import observe

    found = chosen(results, plot)
    if plot:
        return found
    observed = observe(workspace, progresses, results)
    return [
        *found,
        *figures_of_divergence(results),
        *figures_of_operators(results, observed.peaks),
        *figures_of_resources(results, observed),
    ]


def write_page_of(progress: Progress, workspace: Workspace, file: str) -> bool:
    """Write the page of one sweep with default options, and return True; return False if no run has ended."""
    from hpcbench.report.html.write_page import write_page

    records = records_of(progress)
    if not has_results(records):
        return False
    metric, records = ranked_by(None, [progress.sweep], records)
    results = results_of_sweeps([progress], records, metric, None, ())
    figures = figures_of(results, None, [progress], workspace)
    write_page(results, figures, [progress], list(tuning_summaries([progress])), file)
    return True
