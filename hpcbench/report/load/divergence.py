"""The divergence of the trainings of a report whose trajectories were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hpcbench.analysis.results import Results
from hpcbench.analysis.training.divergence import Divergence, Key, Recorded, divergence, pairs_of
from hpcbench.collect.table import identifying_columns
from hpcbench.collect.trajectories import weights_of
from hpcbench.core.record import Record
from hpcbench.core.training.trajectory import RUNS
from hpcbench.status.progress import Progress
from hpcbench.util.console import print_warning

_CACHED = 8  # files with weights, of at most 32 MiB


def with_divergences(results: Results, progresses: Sequence[Progress], records: Sequence[Record]) -> Results:
    """Return the results with the divergences of trajectories. Print a warning if there are too many pairs."""
    paths = {progress.sweep.paths.name: progress.sweep.paths for progress in progresses}
    recorded: dict[Key, dict[int, Recorded]] = {}
    for record in sorted(records, key=lambda record: record.run):
        trajectory = record.trajectory
        if trajectory and trajectory.reason is None and record.sweep in paths:  # records are untrusted
            found = recorded.setdefault((record.sweep, record.case_id), {})
            found[record.run] = Recorded(record.sweep, record.case_id, record.run, trajectory)
    if not recorded:
        return results
    first = {key: [*runs.values()][:RUNS] for key, runs in recorded.items()}
    pairs = pairs_of(results.cases, first, identifying_columns(results.cases))
    if pairs.total > len(pairs.compared):
        print_warning(f"{len(pairs.compared)} of {pairs.total:,} pairs of trainings are compared")

    @lru_cache(maxsize=_CACHED)
    def weights(sweep: str, case: str, run: int) -> NDArray[np.float32]:
        return weights_of(paths[sweep], recorded[sweep, case][run].trajectory)

    def compared(first: Recorded, second: Recorded) -> Divergence:
        try:
            one, other = (weights(each.sweep, each.case, each.run) for each in (first, second))
        except ValueError as error:
            return Divergence(first, second, str(error))
        return divergence(first, second, one, other)

    return replace(results, divergences=tuple(compared(*pair) for pair in pairs.compared))
