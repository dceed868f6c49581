"""Peaks of this very machine, with small arrays; and what is told where there are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.check_result import NOTE, OK, WARNING
from hpcbench.core.machine_peaks import Peak
from hpcbench.node.checks import peak_kernel, peaks
from hpcbench.node.host import gpus, memory, topology
from hpcbench.node.host.sysfs import System, this_system

ONE = {"size": 64, "length": 1000}
MEASURED = (OK, WARNING)  # a machine that runs tests is busy


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "SIZES", (64,))
    monkeypatch.setattr(memory, "last_level_cache_bytes", lambda system, cpus: 2**16)


def script(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.integration
def test_numpy_measures_one_cpu_two_and_so_on_to_all() -> None:
    system = this_system()
    machine, (finding,) = peaks.measure_peaks(system, [sys.executable])
    cores = topology.physical_cores(system) or len(system.cpus)
    assert [peak.cpus for peak in machine.measurements] == peaks.counts(cores)
    for peak in machine.measurements:
        assert (peak.device, peak.dtype) == ("cpu", "float32")
        assert peak.measured_by.startswith("numpy ")
        assert peak.flops_per_s > 1e6
        assert peak.bytes_per_s is not None
        assert peak.bytes_per_s > 1e6
    assert (machine.memory_bytes or 0) > 2**20
    assert machine.cache_bytes == 2**16
    assert machine.clock_mhz is None or machine.clock_mhz > 100
    assert finding.subject == "CPU peaks"
    assert finding.level in MEASURED
    assert finding.found.startswith("1 CPU ")
    assert finding.numbers is not None
    assert finding.numbers["cpu_1_float32_flops_per_s"] == machine.measurements[0].flops_per_s


@pytest.mark.parametrize(
    ("rates", "level"), [([1e11, 2e11, 4e11], OK), ([1e11, 2e11, 1.9e11], OK), ([1e11, 0.8e11, 4e11], WARNING)]
)
def test_more_cpus_that_do_less_were_disturbed(rates: list[float], level: str) -> None:
    found = [Peak("cpu", 2**k, "float32", rate, 1e9, "numpy", "n1", "now") for k, rate in enumerate(rates)]
    assert peaks.finding_of("CPU peaks", found).level == level


@pytest.mark.parametrize(
    ("most", "expected"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (8, [1, 2, 4, 8]), (12, [1, 2, 4, 8, 12])]
)
def test_powers_of_two_and_all(most: int, expected: list[int]) -> None:
    assert peaks.counts(most) == expected


def test_no_more_cpus_than_there_is_time_for(lay: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "_ask", lambda python, request: {"flops_per_s": {"float32": 1.0}, "bytes_per_s": 1.0})
    monkeypatch.setattr(peaks, "_peaks", lambda device, count, answer: [count])
    files = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "250000 100000"}
    assert peaks.of_cpus(lay(files, list(range(8))), ["python"]).peaks == [1, 2]


def test_hyperthreads_of_made_up_cores_are_not_measured(lay: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []

    def answer(python: str, request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request["cpus"])
        return {"flops_per_s": {"float32": 1.0}, "bytes_per_s": 1.0, "by": "numpy"}

    monkeypatch.setattr(peaks, "_ask", answer)
    siblings = "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list"
    cores = {siblings % cpu: f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}" for cpu in range(8)}
    measured = peaks.of_cpus(lay(cores, list(range(8))), ["python"])
    assert asked == [[0], [0, 2], [0, 2, 4, 6]]
    assert [peak.cpus for peak in measured.peaks] == [1, 2, 4]


def test_arrays_are_four_times_the_caches_and_no_more_than_half_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "SIZES", (1024, 512, 256))
    monkeypatch.setattr(memory, "last_level_cache_bytes", lambda system, cpus: 2**20)
    room = {"MemAvailable": 10 * 2**30}
    monkeypatch.setattr(memory, "available_bytes", lambda system: room["MemAvailable"])
    system = System([0, 1])
    assert peaks.sizes(system, [0]) == {"size": 1024, "length": 2**20}  # of float32: four times 2**20 bytes
    assert peaks.sizes(system, [0, 1]) == {"size": 1024, "length": 2**19}  # together as much
    room["MemAvailable"] = 2 * 12 * 2**20 * 2  # both CPUs have matrices of 1024: 12 MB each
    assert peaks.sizes(system, [0, 1])["size"] == 1024
    room["MemAvailable"] -= 2
    assert peaks.sizes(system, [0, 1])["size"] == 512
    room["MemAvailable"] = 2 * 12 * 2**20 - 2
    assert peaks.sizes(system, [0]) == {"size": 512, "length": 0}


def test_without_room_for_its_arrays_the_bandwidth_is_not_measured() -> None:
    answer = peak_kernel.measure(
        {"library": "numpy", "device": "cpu", "cpus": [0], "dtypes": ["float32"], "size": 64, "length": 0}
    )
    assert answer["bytes_per_s"] is None
    finding = peaks.finding_of("CPU peaks", [Peak("cpu", 4, "float32", 2.5e12, None, "numpy", "n1", "now")])
    assert finding.found == "4 CPUs 2.5 TFLOP/s, too little free memory to measure bandwidth (numpy)"
    assert finding.numbers == {"cpu_4_float32_flops_per_s": 2.5e12}


def test_the_library_has_one_thread_and_the_process_its_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("OMP_PROC_BIND", "true")
    monkeypatch.setenv("OTHER", "not JSON: \\x")
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    shown = " ".join(f"{name}=${{{name}-unset}}" for name in (*threads, "OMP_PROC_BIND"))
    answers = f'{{"flops_per_s": {{"float32": 1.0}}, "bytes_per_s": null, "by": "\'"{shown}"\'"}}'
    python = script(tmp_path, f"echo a greeting; pwd >&2; echo '{answers}'")
    (peak, *_) = peaks.of_cpus(this_system(), [python]).peaks
    for name in threads:
        assert f"{name}=1 " in peak.measured_by
    assert "OMP_PROC_BIND=unset" in peak.measured_by


def test_each_thread_is_bound_to_a_cpu_of_its_own() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    bound: list[set[int]] = []

    def make() -> Any:
        bound.append(os.sched_getaffinity(0))
        return lambda: None

    assert peak_kernel.best_rate(make, cpus) > 0
    assert sorted(map(min, bound)) == cpus
    assert {len(each) for each in bound} == {1}
    assert sorted(os.sched_getaffinity(0)) == cpus


def test_a_thread_that_fails_ends_all_of_them_with_its_own_error() -> None:
    makers = iter([lambda: None, None])

    def make() -> Any:
        step = next(makers)
        if step is None:
            raise MemoryError("no room")
        return step

    with pytest.raises(MemoryError, match="no room"):
        peak_kernel.best_rate(make, [None, None])


def test_the_best_run_counts_and_threads_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {0: iter([1.0, 5.0, 2.0]), 1: iter([10.0, 20.0, 40.0])}
    monkeypatch.setattr(peak_kernel, "RUNS", 3)
    monkeypatch.setattr(peak_kernel, "_rate", lambda step, together: next(rates[step()]))
    monkeypatch.setattr(peak_kernel.os, "sched_setaffinity", lambda who, cpus: None)
    numbers = iter([0, 1])

    def make() -> Any:
        number = next(numbers)
        return lambda: number

    assert peak_kernel.best_rate(make, [0, 1]) == 42.0  # of 11, 25 and 42


def test_a_python_without_the_libraries_is_told(tmp_path: Path) -> None:
    bare = script(tmp_path, f'shift; exec {sys.executable} -I -S "$@"')
    machine, (finding,) = peaks.measure_peaks(this_system(), [bare])
    assert machine.measurements == ()
    assert finding.level == NOTE
    assert f"not measured: {bare}: No module named 'numpy'; {bare}: No module named 'torch'" in finding.found


@pytest.mark.integration
def test_the_next_python_measures_where_one_cannot(tmp_path: Path) -> None:
    broken = script(tmp_path, "echo 'Illegal instruction' >&2; exit 132")
    machine, (finding,) = peaks.measure_peaks(this_system(), [broken, "/nowhere/python", sys.executable])
    assert finding.level in MEASURED
    assert machine.measurements
    with pytest.raises(peaks.NotMeasured) as caught:
        peaks.of_cpus(this_system(), [broken, "/nowhere/python"])
    assert f"{broken}: exit status 132: Illegal instruction" in str(caught.value)
    assert "/nowhere/python: No such file or directory" in str(caught.value)


def test_one_that_does_not_answer_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "TIMEOUT_S", 0.2)
    with pytest.raises(peaks.NotMeasured, match="no result within") as caught:
        peaks.of_cpus(this_system(), [script(tmp_path, "exec sleep 60")])
    assert caught.value.remedy.startswith("Measure again when the machine is idle")


def test_the_code_that_nodes_get_measures_in_its_turn(zipapp: Path, tmp_path: Path) -> None:
    """Of one CPU, with arrays of usual size."""
    cpu = str(max(os.sched_getaffinity(0)))
    words = ["taskset", "-c", cpu, sys.executable, "-I", str(zipapp), "peaks", "--turns", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert [(peak["cpus"], peak["dtype"]) for peak in told["machine"]["measurements"]] == [(1, "float32")]
    assert [finding["level"] for finding in told["findings"]] == [OK], "one CPU is no fewer than one"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.torch
def test_what_measures_a_gpu_runs_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "SIZE_ON_GPU", 64)
    monkeypatch.setattr(peaks, "LENGTH_ON_GPU", 2**16)
    measured = peaks.of_gpu(this_system(), [sys.executable], device="cpu")
    assert [(peak.device, peak.cpus, peak.dtype) for peak in measured.peaks] == [
        ("gpu", None, dtype) for dtype in ("float32", "bfloat16", "float16")
    ]
    assert all(peak.flops_per_s > 1e4 and peak.measured_by.startswith("torch ") for peak in measured.peaks)
    assert len({peak.bytes_per_s for peak in measured.peaks}) == 1
    assert peaks.finding_of("GPU peaks", measured.peaks).found.startswith("float32 ")


@pytest.mark.torch
def test_torch_measures_where_there_is_no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"device": "cpu", "cpus": sorted(os.sched_getaffinity(0)), "dtypes": ["float32"], **ONE}
    answer, chosen = peaks._first_answer([("torch", sys.executable)], request)
    assert chosen == ("torch", sys.executable)
    assert answer["flops_per_s"]["float32"] > 1e6


@pytest.mark.torch
@pytest.mark.skipif(gpus.count() > 0, reason="there is a GPU")
def test_a_torch_that_sees_no_gpu_is_told() -> None:
    with pytest.raises(peaks.NotMeasured, match="sees no GPU"):
        peaks.of_gpu(this_system(), [sys.executable])
