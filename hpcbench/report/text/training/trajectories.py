"""A sentence on trainings whose trajectories were not recorded: the reasons, grouped."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbench.analysis.results import Results
from hpcbench.report.text.validation.not_validated import grouped_reasons
from hpcbench.util.text import plural

_REASON = "trajectory_reason"


def trajectory_notes(results: Results) -> Iterator[str]:
    """Yield why trajectories were not recorded, if the experiment sets `measure.trajectory`."""
    rows = results.repetitions
    if _REASON not in rows or not rows[_REASON].notna().any():
        return
    missing = rows[rows[_REASON].notna()]
    of = f"{missing['case'].nunique():,} of {plural(rows['case'].nunique(), 'case')}"
    yield f"Trajectory not recorded: {of}; {grouped_reasons(missing, _REASON)}."
