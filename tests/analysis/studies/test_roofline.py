"""Rooflines: Williams' own example, and cases under roofs reckoned by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.cases.case_table import case_table
from hpcbench.analysis.studies.roofline import CEILING, POINT, Roof, Roofline, roofline
from hpcbench.core.machine_peaks import MachinePeaks, Peak

SMALL = '{"classes": 2, "hidden_size": 4, "input_size": 3, "layers": 1}'
INTENSITY = 200 / 524  # of five items in inference: see test_intensity.py
BY = ("numpy", "n1", "2026-11-01T00:00:00+00:00")


def machine(*measurements: Peak, gpu: str | None = None) -> MachinePeaks:
    return MachinePeaks("a CPU", 64, gpu, measurements)


def cpu_peak(cpus: int, flops_per_s: float, bytes_per_s: float | None, dtype: str = "float32") -> Peak:
    return Peak("cpu", cpus, dtype, flops_per_s, bytes_per_s, *BY)


@pytest.fixture
def held(repetition, table):
    """A case of a small mlp, 40 FLOPs per item, 5 items in 0.1 s, with what is changed, held against peaks."""

    def hold(*machines: MachinePeaks, times_s: Any = (0.1, 0.1, 0.1), **changes: Any) -> Roofline:
        usual = {"model_options": SMALL, "batch_size": 5, "task": "inference", "flops_per_item": 40}
        usual |= {"physical_cores_per_task": None}
        row = repetition(times_s=times_s, **{**usual, "items_per_step": 5, **changes})
        return roofline(case_table(table(row)), machines)

    return hold


@pytest.mark.parametrize(
    ("intensity", "gflops"), [(0.25, 3.75), (1.0, 15.0), (17.6 / 15, 17.6), (2.0, 17.6), (16.0, 17.6)]
)
def test_the_opteron_x2_of_williams(intensity: float, gflops: float) -> None:
    """Williams, Waterman and Patterson (2009), figure 1a: 17.6 GFLOP/s, and 15 GB/s by their benchmark."""
    opteron = Roof(17.6e9, 15e9)
    assert opteron.attainable(intensity) == pytest.approx(gflops * 1e9)
    assert opteron.ridge == pytest.approx(17.6 / 15)


def test_a_case_that_is_bound_by_memory(held) -> None:
    points, ceilings = held(machine(cpu_peak(1, 10_000.0, 10_480.0)))
    (point,) = points.to_dict("records")
    assert list(points) == list(POINT)
    assert point["intensity_flops_per_byte"] == pytest.approx(INTENSITY)
    assert point["flops_per_s"] == pytest.approx(2000.0)  # 5 x 40 in 0.1 s
    assert point["attainable_flops_per_s"] == pytest.approx(4000.0)  # 10480 x 200 / 524, below 10000
    assert point["share_of_attainable"] == pytest.approx(0.5)
    assert (point["bound"], point["remark"], point["reason"]) == ("memory", None, None)
    assert list(ceilings) == list(CEILING)
    assert ceilings.iloc[0].tolist() == ["cpu", "a CPU", 1, "float32", 10_000.0, 10_480.0, 10_000 / 10_480]


def test_a_case_that_is_bound_by_computing(held) -> None:
    point = held(machine(cpu_peak(1, 2500.0, 10_480.0))).points.iloc[0]
    assert (point["attainable_flops_per_s"], point["bound"]) == (2500.0, "compute")
    assert point["share_of_attainable"] == pytest.approx(0.8)


def test_the_interval_is_that_of_the_time_turned_round(held) -> None:
    point = held(times_s=tuple(0.1 + 0.001 * k for k in range(-20, 21))).points.iloc[0]
    assert point["flops_per_s_ci_low"] < point["flops_per_s"] < point["flops_per_s_ci_high"]
    assert pd.isna(held(times_s=(0.1,)).points.iloc[0]["flops_per_s_ci_low"])


def test_as_many_cpus_of_a_node_as_the_case_used_there(held) -> None:
    """Two nodes with three tasks of two CPUs: each node does half, on six CPUs."""
    peaks = [machine(cpu_peak(cpus, 1000.0 * cpus, 1e9)) for cpus in (1, 2, 3, 6, 12)]
    spread = {"nodes": 2, "tasks_per_node": 3, "cpus_per_task": 2, "items_per_step": 6 * 5}
    point = held(*peaks, **spread).points.iloc[0]
    assert (point["cpus"], point["peak_flops_per_s"]) == (6, 6000.0)
    assert point["flops_per_s"] == pytest.approx(6 * 5 * 40 / 0.1 / 2)


@pytest.mark.parametrize(("cores", "expected"), [(2, 4), (4, 8), (None, 8), (64, 8)])
def test_two_hyperthreads_of_a_core_are_held_against_one(held, cores: int | None, expected: int) -> None:
    """Two tasks of four CPUs; where the cores are not known, or a task was not bound, it is the CPUs that count."""
    peaks = [machine(cpu_peak(cpus, 1000.0 * cpus, 1e9)) for cpus in (2, 4, 8)]
    point = held(*peaks, tasks_per_node=2, cpus_per_task=4, physical_cores_per_task=cores).points.iloc[0]
    assert (point["cpus"], point["peak_flops_per_s"]) == (expected, 1000.0 * expected)


def test_each_instance_tells_its_own_cores(held) -> None:
    peaks = [machine(cpu_peak(cpus, 1000.0 * cpus, 1e9)) for cpus in (2, 4)]
    assert held(*peaks, instances=4, cpus_per_task=4, physical_cores_per_task=1).points.iloc[0]["cpus"] == 4


def test_a_gpu_for_each_task(held) -> None:
    peaks = machine(Peak("gpu", None, "bfloat16", 1e4, 1e9, *BY), cpu_peak(2, 1.0, 1.0), gpu="a GPU")
    spread = {"device": "gpu", "gpu_model": "a GPU", "dtype": "bfloat16", "nodes": 2, "tasks_per_node": 2}
    points, ceilings = held(peaks, **spread, items_per_step=4 * 5)
    assert points.iloc[0]["flops_per_s"] == pytest.approx(2000.0)
    assert points.iloc[0]["peak_flops_per_s"] == 1e4
    assert pd.isna(points.iloc[0]["cpus"])
    assert ceilings["device"].tolist() == ["gpu"]


def test_of_several_types_of_nodes_with_one_cpu_the_highest_is_the_roof(held) -> None:
    peaks = [machine(cpu_peak(1, 3000.0, 9e9)), machine(cpu_peak(1, 4000.0, None)), machine(cpu_peak(1, 1.0, 8e9))]
    assert held(*peaks).ceilings[["peak_flops_per_s", "peak_bytes_per_s"]].iloc[0].tolist() == [4000.0, 9e9]


@pytest.mark.parametrize(
    ("peaks", "changes", "reason"),
    [
        ([], {}, "the peaks of a CPU are unknown: to measure them: hpcbench doctor"),
        ([cpu_peak(1, 1e4, 1e4)], {"cpu_model": "another"}, "the peaks of another"),
        ([cpu_peak(1, 1e4, 1e4)], {"cpu_model": None}, "the peaks of its CPU (model unknown) are unknown"),
        ([cpu_peak(1, 1e4, 1e4)], {"dtype": "bfloat16"}, "the peak in bfloat16 is unknown for a CPU"),
        (
            [cpu_peak(4, 1e4, 1e4), cpu_peak(2, 1e4, 1e4)],
            {"cpus_per_task": 3},
            "peaks of a CPU are known for 2, 4 cores of a node, but the case used 3",
        ),
        ([cpu_peak(1, 1e4, None)], {}, "the memory bandwidth was not measured on this machine"),
        ([cpu_peak(1, 1e4, 1e4)], {"model_options": '{"size": 1}'}, "the model mlp has no option 'size'"),
    ],
)
def test_where_there_is_no_roof_the_reason_is_told(held, peaks: list[Peak], changes: dict[str, Any], reason: str):
    point = held(machine(*peaks), **changes).points.iloc[0]
    assert point["reason"].startswith(reason)
    assert pd.isna(point["share_of_attainable"])
    assert pd.isna(point["attainable_flops_per_s"])
    assert point["flops_per_s"] == pytest.approx(2000.0)


@pytest.mark.parametrize(
    ("peak", "share", "words"),
    [
        (cpu_peak(1, 1600.0, 1e9), 1.25, "1.25 times the measured peak: measure the peak again"),
        (cpu_peak(1, 1e9, 2620.0), 2.0, "2.00 times the attainable performance: caches or fused layers"),
    ],
)
def test_a_case_above_its_roof_is_told_and_not_cut(held, peak: Peak, share: float, words: str) -> None:
    point = held(machine(peak)).points.iloc[0]
    assert point["share_of_attainable"] == pytest.approx(share)
    assert point["remark"].startswith(words)


@pytest.mark.parametrize(
    "changes",
    [
        {"framework": "command", "model": None, "task": None},
        {"status": "failed"},
        {"task": "time_to_accuracy"},
        {"model": "one of another version"},
    ],
)
def test_what_is_no_timed_step_of_a_model_has_no_row(held, changes: dict[str, Any]) -> None:
    points, ceilings = held(machine(cpu_peak(1, 1e4, 1e4)), **changes)
    assert (len(points), len(ceilings)) == (0, 0)
    assert (list(points), list(ceilings)) == (list(POINT), list(CEILING))


def test_points_keep_the_index_of_their_cases(repetition, table) -> None:
    usual = {"model_options": SMALL, "batch_size": 5, "task": "inference", "flops_per_item": 40}
    usual |= {"physical_cores_per_task": None}
    rows = [repetition(case, **usual, **change) for case, change in enumerate(({"status": "failed"}, {}))]
    assert roofline(case_table(table(*rows)), []).points.index.tolist() == [1]


def test_an_operator_is_a_point_by_the_bytes_of_its_call(held) -> None:
    operator = {"model": None, "model_options": None, "task": "operator", "flops_per_item": 40, "bytes_per_item": 80}
    (point,) = held(machine(cpu_peak(1, 10_000.0, 10_000.0)), **operator).points.to_dict("records")
    assert (point["intensity_flops_per_byte"], point["bound"]) == (0.5, "memory")
    assert point["attainable_flops_per_s"] == pytest.approx(5000.0)
    assert held(machine(), **{**operator, "flops_per_item": None}).points.empty  # such as relu
