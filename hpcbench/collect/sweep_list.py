"""The sweeps of a workspace with their runs and disk usage, for `hpcbench list sweeps`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hpcbench.errors import UserError
from hpcbench.store.run_states import run_states
from hpcbench.store.sweep import load
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.util.disk_usage import size_bytes

Report = Callable[[int, int], None]  # called with the number of sweeps read, and of all sweeps


@dataclass(frozen=True)
class ListedSweep:
    """One sweep of the list."""

    name: str
    experiment: str | None
    site: str | None
    created_at: str | None  # ISO 8601
    runs: dict[str, int] = field(default_factory=dict)  # by status, and without a result
    size_bytes: int = 0  # of jobs/SWEEP and results/SWEEP on disk
    problem: str | None = None  # why it cannot be read


def listed_sweeps(workspace: Workspace, report: Report) -> list[ListedSweep]:
    """Return all sweeps, the latest first. Slurm is not queried."""
    names = workspace.sweeps()
    found = []
    for number, name in enumerate(reversed(names)):
        report(number, len(names))
        found.append(_listed(workspace.paths(name)))
    return found


def _listed(paths: SweepPaths) -> ListedSweep:
    size = size_bytes(paths.jobs) + size_bytes(paths.results)
    try:
        sweep = load(paths)
        described = sweep.description
        experiment, site = str(described["experiment"]["name"]), str(described["site"]["name"])
        return ListedSweep(paths.name, experiment, site, str(described["created_at"]), run_states(sweep), size)
    except (UserError, OSError, LookupError, TypeError) as error:
        problem = error.what if isinstance(error, UserError) else str(error)
        return ListedSweep(paths.name, None, None, None, size_bytes=size, problem=problem)
