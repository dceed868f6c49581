"""Planned runs, rank files, sweep folders, and synthesized machines, for the tests of what runs inside a job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.core.frameworks import OPERATOR
from hpcbench.core.record import RecordKey
from hpcbench.core.run_spec import PlannedRun, read
from hpcbench.core.variables.performance import effect
from hpcbench.models.source import ONNX_FRAMEWORKS
from hpcbench.node.host.open_files import Files
from hpcbench.node.host.sysfs import System
from hpcbench.node.monitor.processes import OwnProcesses
from hpcbench.node.monitor.sources.base import HostView, Source
from hpcbench.node.monitor.timeline import Writer, file_name
from hpcbench.node.results import record_writer
from hpcbench.node.results.outcome import Ending, conclude

MEASURE = {
    "precision": 0.01,
    "min_measurements": 2,
    "min_time_s": 0.01,
    "max_time_s": 0.02,
    "max_warmup_s": 0.0,
    "repetitions": 1,
    "idle_node": "ignore",
    "retries": 0,
    "shuffle_seed": 0,
}
BATCH = "job-1.abcd"
SWEEP = {
    "name": "sweep-1",
    "experiment": {"name": "experiment-1", "retry": {"max": 2, "on": ["node_failure", "preempted"]}},
    "site": {"name": "laptop", "environments": {"pytorch": {"env": {"OMP_PLACES": "cores"}}}},
    "jobs": {"job-1": {"environment": "pytorch", "width": 1}},
    "hpcbench_version": "0.1.0",
    "git": None,
}


# What the driver of a job does to start tasks here, and after they have ended: each as a program for any Python.
SPAWN = """
import sys
sys.path.insert(0, sys.argv[1])
from hpcbench_carried.node.launch.local_launcher import EndOnSignal, executing, run_tasks
sys.exit(run_tasks(int(sys.argv[2]), int(sys.argv[3]), executing(sys.argv[4:]), EndOnSignal))
"""
RECORD = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from hpcbench_carried.core.record import RecordKey
from hpcbench_carried.core.run_spec import read
from hpcbench_carried.node.results import outcome, record_writer
job_file, scratch, records, batch, ending = sys.argv[2:]
with open(os.path.join(os.path.dirname(job_file), "sweep.json")) as file:
    sweep = json.load(file)
key = RecordKey(os.path.splitext(os.path.basename(job_file))[0], 0, batch, 1)
planned, ranks, ended = read(job_file, 0), record_writer.read_ranks(scratch), outcome.Ending(**json.loads(ending))
concluded = outcome.conclude(planned, sweep, ranks, ended, scratch)
record_writer.write(planned, sweep, key, concluded, ranks, scratch, records, ended.elapsed_s)
"""
WORK = {
    "parameter_count": 10,
    "flops_per_item": 20,
    "items_per_step": 4,
    "input_shapes": {"input": [4, 784]},
    "dtype": "float32",
    "math_mode": "matmul highest",
}


@pytest.fixture
def make_parameters() -> Callable[..., dict[str, Any]]:
    """The full parameters of a case, as the planner writes them."""

    def make(**changes: Any) -> dict[str, Any]:
        model = "onnx:net.onnx" if changes.get("framework") in ONNX_FRAMEWORKS else "mlp"
        of_network = {} if changes.get("task") == OPERATOR else {"model": model, "batch_size": 4}
        given = {"framework": "pytorch", "task": "inference", **of_network, **changes}
        return Parameters.model_validate(given).planned()

    return make


@pytest.fixture
def make_planned(make_parameters: Callable[..., dict[str, Any]]) -> Callable[..., PlannedRun]:
    def make(**changes: Any) -> PlannedRun:
        return PlannedRun("0123456789ab", 0, 0, 0, make_parameters(**changes), {}, MEASURE)

    return make


@pytest.fixture
def sweep_description() -> dict[str, Any]:
    return dict(SWEEP)


@pytest.fixture
def make_facts() -> Callable[..., dict[str, Any]]:
    """What a worker that completed found out."""

    def make(**changes: Any) -> dict[str, Any]:
        samples = {
            "times_s": [0.010, 0.011, 0.012],
            "windows": [[5.0, 5.033, 3]],
            "steps_per_measurement": 1,
            "warmup_steps": 2,
            "warmup_s": 0.1,
            "first_step_s": 0.02,
        }
        return {
            "python": "3.11.7",
            "warnings": [],
            "status": "completed",
            "measurements": samples,
            "threads": {"intra_op": 1, "inter_op": 1},
            "affinity": [0],
            "physical_cores": 1,
            "packages": {"torch": "2.13.0+cpu"},
            "work": WORK,
            "peak_memory_bytes": 1000,
            "peak_device_bytes": None,
            **changes,
        }

    return make


@pytest.fixture
def make_rank(make_facts: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """What a supervisor leaves of one rank; of one that completed, unless told otherwise."""

    def make(rank: int = 0, **changes: Any) -> dict[str, Any]:
        return {
            "exit_code": 0,
            "signal": None,
            "stopped_by": None,
            "last_lines": [],
            "facts": make_facts(),
            "rank": rank,
            "host": "n1",
            "started_at": 1000.0,
            "ended_at": 1010.0,
            "node": {"hostname": "n1", "cpu_model": "a CPU"},
            "oom_kills": 0,
            **changes,
        }

    return make


@pytest.fixture
def put_timeline() -> Callable[..., Path]:
    """Leave in a folder what a monitor writes: ten readings a second of two busy CPUs, a part of the time throttled."""

    def put(
        folder: Path,
        host: str = "n1",
        *,
        start: float = 4.0,
        end: float = 7.0,
        throttled: float = 0.0,
        ended: bool = True,
    ) -> Path:
        columns = ["own.processes", "own.cpu_ms", "cpu.own_busy_ms", "quota.throttled_us"]
        header = {
            "host": host,
            "interval_s": 0.1,
            "sources": {"all": columns},
            "gauges": columns[:1],
            "facts": {},
            "absent": {"rapl": "no RAPL"},
        }
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file_name(host)
        writer = Writer(str(path), header)
        for tick in range(round((end - start) * 10) + 1):
            writer.reading(0, start + tick / 10, [1, 200 * tick, 200 * tick, 1e5 * tick * throttled])
        writer.flush()
        if ended:
            writer.end({"ended_s": end, "cpu_s": 0.01, "failed": {}})
        return path

    return put


class SweepFolder:
    """A sweep's folder with one job of one element, and the zipapp beside it, as a job script finds them."""

    def __init__(self, folder: Path, zipapp: Path, planned: PlannedRun) -> None:
        self.folder = folder
        self.zipapp = zipapp
        self.running = folder / "results" / "running" / BATCH
        self.scratch = self.running / "0-42-0-1"
        self.records = folder / "results" / "records" / BATCH / "42_0.jsonl"
        self.job_file = folder / "job-1.jsonl"
        self.job_file.write_text(planned.as_line() + "\n")
        (folder / "sweep.json").write_text(json.dumps(SWEEP))

    def measure(self, **settings: Any) -> None:
        """Change how the run is measured."""
        planned = json.loads(self.job_file.read_text())
        self.job_file.write_text(json.dumps({**planned, "measure": {**planned["measure"], **settings}}) + "\n")

    def words(self, command: str, *options: str, python: str = sys.executable) -> list[str]:
        run = [python, str(self.zipapp), command, str(self.job_file), "0", "--scratch", str(self.scratch)]
        return [*run, *options]

    def rank(self, environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
        return run(self.words("rank", *options), environment)

    def spawn_words(
        self, tasks: int, cpus_per_task: int, command: list[str], python: str = sys.executable
    ) -> list[str]:
        return [python, "-c", SPAWN, str(self.zipapp), str(tasks), str(cpus_per_task), *command]

    def rank_file(self, rank: int = 0) -> dict[str, Any]:
        return json.loads((self.scratch / f"rank-{rank}.json").read_text())

    def record_words(
        self,
        exit_status: int,
        *,
        stopped: str = "",
        elapsed: float = 1.0,
        log: str = "",
        python: str = sys.executable,
    ) -> list[str]:
        ending = _ending(exit_status, stopped, elapsed, log)
        files = [str(path) for path in (self.zipapp, self.job_file, self.scratch, self.records)]
        return [python, "-c", RECORD, *files, BATCH, json.dumps(ending._asdict())]

    def record(
        self, exit_status: int, environment: dict[str, str], stopped: str = "", elapsed: float = 1.0, log: str = ""
    ) -> dict[str, Any]:
        """The record that is written after a launcher that ended so, by this process with that environment."""
        planned, key = read(str(self.job_file), 0), RecordKey("job-1", 0, BATCH, 1)
        with patch.dict(os.environ, environment, clear=True):
            ending = _ending(exit_status, stopped, elapsed, log)
            ranks, scratch = record_writer.read_ranks(str(self.scratch)), str(self.scratch)
            concluded = conclude(planned, SWEEP, ranks, ending, scratch)
            record_writer.write(planned, SWEEP, key, concluded, ranks, scratch, str(self.records), elapsed)
        return json.loads(self.records.read_text().splitlines()[-1])


def _ending(exit_status: int, stopped: str, elapsed: float, log: str) -> Ending:
    return Ending(exit_status, bool(stopped), elapsed, limit_s=60.0, log=log)


def run(words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def make_folder(tmp_path: Path, zipapp: Path, make_planned: Callable[..., PlannedRun]) -> Callable[..., SweepFolder]:
    def make(**changes: Any) -> SweepFolder:
        return SweepFolder(tmp_path, zipapp, make_planned(**changes))

    return make


@pytest.fixture
def clean_environment() -> dict[str, str]:
    """This process's environment, without what a launcher or a Slurm job around it has set, or changes measurements."""
    launched = ("SLURM_", "HPCBENCH_")
    return {name: os.environ[name] for name in os.environ if not (name.startswith(launched) or effect(name))}


@pytest.fixture
def fake_torch(tmp_path: Path, clean_environment: dict[str, str]) -> Callable[[str], dict[str, str]]:
    """An environment in which `import torch` runs the given code instead."""

    def make(code: str) -> dict[str, str]:
        package = tmp_path / "fake" / "torch"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(code)
        return {**clean_environment, "PYTHONPATH": str(package.parent)}

    return make


@pytest.fixture
def lay(tmp_path: Path) -> Callable[..., System]:
    """Write these files below a root of their own, in place of /proc and /sys; the machine with them, of which `cpus`
    are usable."""

    def make(files: Mapping[str, str], cpus: list[int] | None = None) -> System:
        root = tmp_path / "machine"
        root.mkdir(exist_ok=True)
        for name, text in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return System([0, 1] if cpus is None else cpus, str(root))

    return make


@pytest.fixture
def log(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        (tmp_path / "log.out").write_text(text)
        return str(tmp_path / "log.out")

    return write


class Machine:
    """Files below a folder that stands for `/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = OwnProcesses("mark", str(root))
        self.host = HostView(self.own, Files(), str(root))

    def write(self, path: str, content: object) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n")  # in place: what holds it open sees it

    def remove(self, path: str) -> None:
        """As a device that is unplugged: what holds the file open sees nothing any more."""
        (self.root / path).write_text("")
        (self.root / path).unlink()

    @staticmethod
    def values(source: Source) -> dict[str, float | None]:
        return dict(zip(source.columns, source.read(), strict=True))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
