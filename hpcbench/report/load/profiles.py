"""The profiles of operators of the sweeps of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hpcbench.analysis.results import Results
from hpcbench.core.record import Record
from hpcbench.status.progress import Progress
from hpcbench.util.console import print_warning
from hpcbench.util.text import plural


def with_profiles(results: Results, progresses: Sequence[Progress], records: Sequence[Record]) -> Results:
    """Return the results with the operators of their runs; print a warning about lines that cannot be read."""
    profiled = [record for record in records if record.measure.get("profile")]
    if not profiled:
        return results
    from hpcbench.collect.profiles.table import merged, operator_table  # most reports have no profile

    frames = []
    for paths in (progress.sweep.paths for progress in progresses):
        table = operator_table(paths, [record for record in profiled if record.sweep == paths.name])
        frames.append(table.frame)
        if table.damaged:
            print_warning(lines_left_out(table.damaged))
    return replace(results, operators=merged(frames))


def lines_left_out(damaged: Sequence[str]) -> str:
    """Return a warning about damaged lines, given as FILE:LINE (ERROR)."""
    what = (
        f"{plural(len(damaged), 'line')} of operator profiles cannot be read and {'is' if len(damaged) == 1 else 'are'}"
    )
    return f"{what} left out, the first: {damaged[0]}"
