from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hpcbench.core.run_spec import PlannedRun
from hpcbench.status.durations import longest_s
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths


def test_the_longest_repetition_that_has_run_tells_how_long_its_case_takes(
    paths: SweepPaths, make_planned: Callable[..., PlannedRun], make_record: Callable[..., dict[str, Any]]
) -> None:
    def took(case: int, seconds: int, **changes: Any) -> dict[str, Any]:
        times = {"started_at": "2026-11-01T00:00:00.500+00:00", "ended_at": f"2026-11-01T00:00:{seconds:02d}.500+00:00"}
        return make_record(case, **{**times, **changes})

    attempts = {
        0: [took(0, 7), took(0, 12), took(0, 9)],
        1: [took(1, 20, status="failed"), took(1, 4)],  # that one left no rank
        2: [took(2, 50, attempt=None), took(2, 3)],  # made up days later
        3: [took(3, 5, started_at="2026-11-01T00:00:30.000+00:00")],  # by a clock that is ahead
        4: [],
    }
    runs = [RunProgress("job-1", n, make_planned(n), "completed", attempts=tuple(each)) for n, each in attempts.items()]
    again = RunProgress("job-1", 9, make_planned(0, 2), "completed", attempts=(took(0, 13),))
    found = longest_s(Progress(Sweep(paths, {}), (*runs, again), ()))
    assert found == {f"{0:012x}": 13.0, f"{1:012x}": 4.0, f"{2:012x}": 3.0, f"{3:012x}": 0.0}
