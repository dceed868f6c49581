"""Records as the node writes them, for the tests of reading them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.core.run_spec import PlannedRun
from hpcbench.node.results import record_writer as node_record
from hpcbench.node.results.outcome import Outcome
from hpcbench.submit import packs
from hpcbench.submit.sweep import Sweep
from hpcbench.workspace import SweepPaths, Workspace
from tests.collect.queued_sweep import DESCRIPTION, ELEMENTS, PACKS, Cluster

SWEEP = {
    "name": "sweep-1",
    "experiment": {"name": "experiment-1"},
    "site": {"name": "laptop"},
    "hpcbench_version": "0.1.0",
    "git": None,
}
ERROR = {"type": "ValueError", "message": "it broke", "last_lines": ["ValueError: it broke"]}
Record = dict[str, Any]


@pytest.fixture
def make_planned() -> Callable[..., PlannedRun]:
    def make(case: int = 0, repetition: int = 0, tags: dict[str, Any] | None = None, **changes: Any) -> PlannedRun:
        given = {"framework": "pytorch", "model": "mlp", **changes}
        parameters = Parameters.model_validate(given).planned()
        return PlannedRun(f"{case:012x}", case, repetition, repetition, parameters, tags or {}, {"repetitions": 1})

    return make


@pytest.fixture
def make_record(make_planned: Callable[..., PlannedRun]) -> Callable[..., Record]:
    """A record through the node's own code; of a completed repetition, unless told otherwise."""

    def make(
        case: int = 0,
        repetition: int = 0,
        *,
        status: str = "completed",
        times_s: Sequence[float] = (0.1, 0.2, 0.3),
        parameters: dict[str, Any] | None = None,
        tags: dict[str, Any] | None = None,
        facts: dict[str, Any] | None = None,
        host: str = "n1",
        slurm: dict[str, str] | None = None,
        **changes: Any,
    ) -> Record:
        planned = make_planned(case, repetition, tags, **(parameters or {}))
        found = {
            "warnings": [],
            "status": status,
            "samples": {
                "times_s": list(times_s),
                "windows": [[0.0, 1.0, len(times_s)]],
                "steps_per_sample": 2,
                "warmup_steps": 5,
                "first_step_s": 0.9,
            },
            "threads": {"intra_op": 4, "inter_op": 2},
            "packages": {"torch": "2.13.0+cpu", "numpy": "2.4.6"},
            "framework_version": "2.13.0+cpu",
            "work": {
                "parameter_count": 100,
                "flops_per_item": 200,
                "items_per_step": 32,
                "input_shape": [32, 784],
                "dtype": "float32",
                "math_mode": "matmul highest",
            },
            "import_s": 1.5,
            "build_s": 0.5,
            "peak_memory_bytes": 2**33,
            **(facts or {}),
        }
        rank = {
            "rank": 0,
            "host": host,
            "exit_code": 0,
            "signal": None,
            "stopped_by": None,
            "facts": found,
            "started_at": 1000.0,
            "ended_at": 1010.0,
            "node": {"hostname": host, "cpu_model": "a CPU"},
        }
        outcome = Outcome(status, None if status == "completed" else dict(ERROR))
        ranks = [rank] if status == "completed" else []
        place = node_record.Place("job-1", case, "job-1", 1)
        record = node_record.assemble(planned, SWEEP, place, ranks, outcome, 5.0, slurm or {})
        return {**record, **changes}

    return make


@pytest.fixture
def paths(tmp_path: Path) -> SweepPaths:
    return Workspace(tmp_path).paths("sweep-1")


@pytest.fixture
def cluster(
    paths: SweepPaths,
    fake_commands: Callable[..., Path],
    make_planned: Callable[..., PlannedRun],
    make_record: Callable[..., dict[str, Any]],
) -> Cluster:
    paths.jobs.mkdir(parents=True)
    lines = [make_planned(case)._replace(measure={"retries": 1}).as_line() + "\n" for case in range(ELEMENTS)]
    paths.runs("job-1").write_text("".join(lines))
    packs.write(paths.packs("job-1"), PACKS)
    found = Cluster(Sweep(paths, DESCRIPTION), fake_commands, make_record)
    found.submit()
    return found
