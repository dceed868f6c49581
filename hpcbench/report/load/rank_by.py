"""The metric by which a report ranks: the option `--metric`, otherwise `rank_by` of the experiments."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from hpcbench.analysis.cases.quantities import QUANTITIES
from hpcbench.collect.table import metric_columns
from hpcbench.core.record import Record
from hpcbench.errors import UserError
from hpcbench.report.load.found_metrics import with_found_metric
from hpcbench.report.load.metrics import HIGHER, LOWER, named, quantities_of
from hpcbench.store.sweep import Sweep
from hpcbench.util.console import print_warnings


def ranked_by(asked: str | None, sweeps: Sequence[Sweep], records: Sequence[Record]) -> tuple[str | None, list[Record]]:
    """Return the metric to rank by, None for the default, and the records, with this metric if it was only found.

    Sweeps with different `rank_by` are ranked by the default. If no run has the metric of `rank_by`, or its better
    direction is unknown, warn, and return the default. Raise UserError if no run has the metric `asked`.
    """
    paths = [sweep.paths for sweep in sweeps]
    if asked is not None:
        return asked, with_found_metric(asked, paths, records)
    wanted = {sweep.description["experiment"].get("rank_by") for sweep in sweeps}
    metric = wanted.pop() if len(wanted) == 1 else None
    try:
        found = with_found_metric(metric, paths, records)
        known = quantities_of(metric_columns(found))
        quantity = None if metric is None else named(metric, QUANTITIES, known, has_direction=False)
    except UserError as error:
        _warn(sweeps, error.what)
        return None, list(records)
    if quantity is not None and quantity.more_is_better is None:
        command = shlex.join(["hpcbench", "report", *(each.name for each in paths), "--metric", f"{metric}:{HIGHER}"])
        hint = f"; to rank by '{metric}': {command} (or {metric}:{LOWER})"
        _warn(sweeps, f"the better direction of '{metric}' is unknown", hint)
        return None, list(records)
    return metric, found


def _warn(sweeps: Sequence[Sweep], what: str, more: str = "") -> None:
    print_warnings([f"{place_of(sweeps[0])}: {what}, so the cases are ranked by the default metric{more}"])


def place_of(sweep: Sweep) -> str:
    """Return where the user has written the metric of a sweep: in an experiment file, or on the command line."""
    return "rank_by" if sweep.description.get("source") else "--metric of hpcbench run"
