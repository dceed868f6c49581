"""The speed of this very machine, with small arrays, and of GPUs that a fake driver has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hpcbench.core.check_result import WARNING
from hpcbench.core.node_speed import node_speed
from hpcbench.node.checks import load, peaks, speed
from hpcbench.node.host import gpus, memory
from hpcbench.node.host.sysfs import this_system


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "SIZES", (64,))
    monkeypatch.setattr(memory, "last_level_cache_bytes", lambda system, cpus: 2**16)


@pytest.mark.integration
def test_all_cores_run_the_kernels_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    system = this_system()
    measured = speed.measure_speed(system, [sys.executable])
    assert (measured.host, measured.missing) == ("n7", ())
    assert [rate.kernel for rate in measured.rates] == ["float32 products", "memory"]
    for rate in measured.rates:
        assert (rate.cpus, rate.gpu) == (len(peaks.usable_cores(system)), None)
        assert rate.value > 1e6
        assert rate.measured_by.startswith("numpy ")


@pytest.mark.integration
def test_other_work_on_the_cpus_is_part_of_the_result() -> None:
    system = this_system()
    words = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{system.cpus[0]}])\nwhile True: pass"]
    with subprocess.Popen(words) as other:
        try:
            (seen,) = speed.measure_speed(system, [sys.executable]).load
        finally:
            other.kill()
    assert seen.level == WARNING
    assert "usable CPUs busy with background load" in seen.found


def test_each_gpu_is_measured_or_missing_with_a_fake_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(python: str, request: dict[str, object]) -> dict[str, object]:
        if request["device"] == "cuda:1":
            return {"missing": "out of memory"}
        on_gpu = request["device"] != "cpu"
        flops = {"float32": 5e13, "bfloat16": 7e14} if on_gpu else {"float32": 1e11}
        return {"flops_per_s": flops, "bytes_per_s": 1e12, "by": "torch 2", "gpu_model": "H100" if on_gpu else None}

    monkeypatch.setattr(gpus, "count", lambda: 3)
    monkeypatch.setattr(peaks, "_ask", ask)
    monkeypatch.setattr(load, "snapshot", lambda system: load.Snapshot({}, {}))
    measured = speed.measure_speed(this_system(), ["python"])
    assert measured.missing == ("GPU 1: python: out of memory",)
    of_gpus = [rate for rate in measured.rates if rate.model == "H100"]
    kernels = ["float32 products", "bfloat16 products", "memory"]
    assert [(rate.gpu, rate.kernel) for rate in of_gpus] == [(gpu, kernel) for gpu in (0, 2) for kernel in kernels]
    assert node_speed(json.loads(json.dumps(measured.as_data()))) == measured


def test_a_node_without_a_library_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gpus, "count", lambda: 0)
    measured = speed.measure_speed(this_system(), [str(tmp_path / "python3")])
    assert measured.rates == ()
    assert measured.missing[0].startswith("CPUs: ")
    assert "No such file" in measured.missing[0]
