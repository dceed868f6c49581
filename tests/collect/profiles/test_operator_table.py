"""The table of operators. Power is from mock sensors: no machine of ours has any."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hpcbench.collect.profiles.columns import columns
from hpcbench.collect.profiles.table import merged, operator_table
from hpcbench.core.energy import Energy
from hpcbench.core.profiling.operator_row import OperatorRow
from hpcbench.core.record import MonitorSummary, Record
from hpcbench.store.workspace import SweepPaths
from tests import mock_timeline
from tests.mock_timeline import CPU, GPU, MEMORY
from tests.operator_lines import a_line, an_operator, file_of, write_lines

MakeRecord = Callable[..., Record]
Write = Callable[..., pd.DataFrame]
WINDOW = {"window_start_s": 10.0, "window_end_s": 20.0, "window_calls": 1000}
IDLE_WINDOW = {"window_start_s": 30.0, "window_end_s": 40.0}
ON_GPU = {"device": "gpu", "gpus_per_task": 1}


@pytest.fixture
def paths(paths: SweepPaths) -> SweepPaths:
    return replace(paths, name="sweep-1")


@pytest.fixture
def kept(paths: SweepPaths) -> Path:
    """The file with the timelines of local runs."""
    return paths.results / "timelines" / "job-1" / "local.jsonl.gz"


@pytest.fixture
def table(paths: SweepPaths) -> Write:
    """The table of a record with these operators."""

    def write(record: Record, *rows: OperatorRow) -> pd.DataFrame:
        write_lines(file_of(paths, record), [a_line(record, row) for row in rows])
        return operator_table(paths, [record]).frame

    return write


def test_a_row_has_the_operator_its_run_and_the_environment(profiled: MakeRecord, table: Write) -> None:
    parameters = {"model": "lstm", "batch_size": 8, "task": "inference", "dtype": "float32"}
    frame = table(profiled(2, parameters=parameters), an_operator(hot_s=0.5, flops=10, members=["aten.add"]))
    assert list(frame) == [column.name for column in columns()]
    row = frame.iloc[0]
    expected = {"sweep": "sweep-1", "run": 2, "attempt": 1, "host": "n1", "framework": "pytorch", "model": "lstm"}
    expected |= {"batch_size": 8, "case_dtype": "float32", "kind": "gemm", "hot_s": 0.5, "flops": 10, "threads": 4}
    expected |= {"framework_version": "2.13.0+cpu", "device_model": "a CPU", "members": '["aten.add"]'}
    assert {name: row[name] for name in expected} == expected
    assert json.loads(row["environment"])["packages"]["torch"] == "2.13.0+cpu"
    assert json.loads(row["environment"])["nodes"][0]["cpu_model"] == "a CPU"


def test_parameters_of_any_type_are_texts(profiled: MakeRecord, table: Write) -> None:
    record = profiled()
    odd = replace(record, parameters={**record.parameters, "model": ["a", {}], "execution": 3})
    (row,) = table(odd, an_operator()).to_dict("records")
    assert (row["model"], row["execution"]) == ("['a', {}]", "3")


def test_the_table_has_the_same_types_with_and_without_values(
    profiled: MakeRecord, table: Write, tmp_path: Path
) -> None:
    empty = operator_table(SweepPaths("none", tmp_path, tmp_path), []).frame
    frame = table(profiled(), an_operator())
    assert empty.dtypes.to_dict() == frame.dtypes.to_dict()
    frame.to_parquet(tmp_path / "operators.parquet")
    again = pd.read_parquet(tmp_path / "operators.parquet")
    assert again.dtypes.astype(str).to_dict() == frame.dtypes.astype(str).to_dict()
    assert all(column.meaning for column in columns())


def test_power_and_energy_with_a_mock_sensor_of_a_cpu(profiled: MakeRecord, table: Write, kept: Path) -> None:
    mock_timeline.write(kept, {CPU: lambda at: 100.0 if 9 < at < 21 else 40.0, MEMORY: lambda _: 5.0})
    frame = table(profiled(), an_operator(**WINDOW), an_operator("idle", **IDLE_WINDOW))
    busy, idle = frame.iloc[0], frame.iloc[1]
    assert busy["power_w"] == pytest.approx(105, rel=0.01)
    assert busy["energy_per_call_j"] == pytest.approx(1.05, rel=0.01)
    assert busy["power_scope"] == "cpu+memory"
    assert pd.isna(busy["power_reason"])
    assert 0 < busy["power_uncertainty_w"] < 5
    assert busy["energy_uncertainty_j"] == pytest.approx(busy["power_uncertainty_w"] * 10 / 1000)
    assert frame["idle_power_w"].to_list() == pytest.approx([45, 45], rel=0.01)
    assert idle["power_w"] == pytest.approx(45, rel=0.01)
    assert pd.isna(idle["energy_per_call_j"])


def test_three_states_are_three_sets_of_rows_with_a_mock_sensor(profiled: MakeRecord, table: Write, kept: Path) -> None:
    mock_timeline.write(kept, {CPU: lambda at: 40.0 if at % 20 > 10 else 60.0 + 40 * (at // 20)})
    rows = [
        each
        for place, mhz in enumerate((None, 1080, 3000))
        for state in [{"requested_clock_mhz": mhz, "clock_method": "frequency limits" if mhz else None}]
        for each in (
            an_operator(**state, window_start_s=20.0 * place, window_end_s=20.0 * place + 9, window_calls=100),
            an_operator("idle", **state, window_start_s=20.0 * place + 11, window_end_s=20.0 * place + 19),
        )
    ]
    frame = table(profiled(), *rows)
    assert frame["requested_clock_mhz"].fillna(0).to_list() == [0, 0, 1080, 1080, 3000, 3000]
    assert frame["clock_method"].fillna("").to_list() == ["", "", *["frequency limits"] * 4]
    assert frame["power_w"].to_list() == pytest.approx([60, 40, 100, 40, 140, 40], rel=0.02)
    assert frame["energy_per_call_j"].to_list()[::2] == pytest.approx([5.4, 9.0, 12.6], rel=0.02)
    assert frame["idle_power_w"].to_list() == pytest.approx([40] * 6, rel=0.02)


def test_clock_temperature_and_throttling_with_a_mock_sensor_of_a_gpu(
    profiled: MakeRecord, table: Write, kept: Path
) -> None:
    gauges = {
        "gpu0.clock_sm_mhz": lambda at: 1410.0 if at < 15 or at > 30 else 1200.0,
        "gpu0.clock_memory_mhz": lambda _: 1215.0,
        "gpu0.temperature_c": lambda at: at,
        "gpu0.throttle_reasons": lambda at: float(0x4 | 0x1 if 12 < at < 14 else 0x1),
    }
    facts = {"nvidia": {"gpus": [{"driver": "570.1", "power_limit_w": 700.0}]}}
    mock_timeline.write(kept, {GPU: lambda _: 300.0}, gauges, facts=facts)
    steady = {"window_start_s": 41.0, "window_end_s": 51.0, "window_calls": 10, "requested_power_limit_w": 350.0}
    rows = an_operator(device="gpu", **WINDOW), an_operator("conv2d", device="gpu", **steady)
    frame = table(profiled(parameters=ON_GPU), *rows)
    assert frame["power_w"].to_list() == pytest.approx([300, 300], rel=0.01)
    assert frame["power_scope"].to_list() == ["gpu", "gpu"]
    assert frame["clock_moved"].to_list() == [True, False]
    assert frame["sm_clock_mhz"].to_list() == pytest.approx([1305, 1410], rel=0.01)
    assert frame["memory_clock_mhz"].to_list() == [1215, 1215]
    assert frame["temperature_c"][0] == pytest.approx(20, abs=0.2)
    assert frame["throttle_reasons"].to_list() == ["power cap", ""]
    assert json.loads(frame["environment"][0])["driver"] == "570.1"
    assert frame["power_limit_w"].to_list() == [700, 350]


def test_a_gpu_that_waited_for_launches_has_no_power_with_a_mock_sensor(
    profiled: MakeRecord, table: Write, kept: Path
) -> None:
    """Windows of 10 s with 1,000 calls of hot times of 10 ms and 9 ms; a whole step waits in reality, too."""
    mock_timeline.write(kept, {GPU: lambda _: 300.0, CPU: lambda _: 100.0})
    times = [("gemm", "gpu", 0.01), ("relu", "gpu", 0.009), ("network", "gpu", 0.009)]
    rows = [an_operator(kind, device=device, hot_s=hot_s, **WINDOW) for kind, device, hot_s in times]
    frame = table(profiled(parameters=ON_GPU), *rows)
    assert frame["power_w"].fillna(0).to_list() == pytest.approx([300, 0, 300], rel=0.01)
    assert frame["energy_per_call_j"].isna().to_list() == [False, True, False]
    assert frame["power_reason"][1] == (
        "the GPU waited for launches: a call in the power window took 1.1 times as long as its hot time"
    )


def test_a_cpu_whose_clock_moved_by_more_than_2_percent_is_marked_with_a_mock_sensor(
    profiled: MakeRecord, table: Write, kept: Path
) -> None:
    gauges = {"cpu.clock_mean_khz": lambda at: 3e6 * (1.03 if at > 15 else 1.0)}
    mock_timeline.write(kept, {CPU: lambda _: 100.0}, gauges)
    (row,) = table(profiled(), an_operator(**WINDOW)).to_dict("records")
    assert row["clock_moved"]
    assert row["cpu_clock_mhz"] == pytest.approx(3045, rel=0.01)
    assert row["power_w"] == pytest.approx(100, rel=0.01), "it is marked, not dropped"
    assert pd.isna(row["sm_clock_mhz"])


@pytest.mark.parametrize(("device", "column"), [("cpu", "cpu_clock_mhz"), ("gpu", "sm_clock_mhz")])
def test_without_a_power_sensor_the_whole_step_has_its_clock_with_a_mock_timeline(
    profiled: MakeRecord, table: Write, kept: Path, device: str, column: str
) -> None:
    gauges = {
        "cpu.clock_mean_khz": lambda at: 3e6 * (1.0 if at < 15 else 0.5),
        "gpu0.clock_sm_mhz": lambda at: 3e3 * (1.0 if at < 15 else 0.5),
    }
    mock_timeline.write(kept, {}, gauges)
    stretches = [(5.0, 14.0), (20.0, 29.0), (10.0, 20.0), (10.01, 10.11), (100.0, 101.0)]
    steps = [
        an_operator("network", device=device, requested_clock_mhz=place, measured_start_s=start, measured_end_s=end)
        for place, (start, end) in enumerate(stretches)
    ]
    record = profiled(parameters=ON_GPU) if device == "gpu" else profiled()
    frame = table(record, *steps, an_operator(device=device))
    assert frame[column].fillna(0).to_list() == pytest.approx([3000, 1500, 2250, 3000, 0, 0], rel=0.02)
    moved = [None if pd.isna(value) else bool(value) for value in frame["clock_moved"]]
    assert moved == [False, False, True, None, None, None], "one reading does not show whether a clock moved"
    assert set(frame["power_reason"]) == {"the node was not monitored"}, "as before, for the record has no monitor"
    assert frame["power_w"].isna().all()


@pytest.mark.parametrize(
    ("window", "meters", "reason"),
    [
        (WINDOW, {}, "cpu: no access to RAPL: made up"),
        ({**WINDOW, "window_end_s": 10.001}, {CPU: lambda _: 100.0}, "is too short"),
        ({**WINDOW, "window_end_s": 300.0}, {CPU: lambda _: 100.0}, "its readings end"),
        (WINDOW, {GPU: lambda _: 300.0}, "cpu: no sensor of this node measures it"),
    ],
)
def test_without_power_there_is_the_reason_with_a_mock_timeline(
    profiled: MakeRecord, table: Write, kept: Path, window: dict[str, Any], meters: Any, reason: str
) -> None:
    mock_timeline.write(kept, meters)
    (row,) = table(profiled(), an_operator(**window)).to_dict("records")
    assert pd.isna(row["power_w"])
    assert pd.isna(row["energy_per_call_j"])
    assert reason in row["power_reason"]


def test_an_operator_that_was_not_chosen_has_no_power_with_a_mock_sensor(
    profiled: MakeRecord, table: Write, kept: Path
) -> None:
    mock_timeline.write(kept, {CPU: lambda _: 100.0})
    frame = table(profiled(), an_operator(**WINDOW), an_operator("add"))
    assert frame["power_reason"].fillna("").to_list() == ["", "no power window"]


def test_without_any_window_the_reason_is_that_of_the_node(profiled: MakeRecord, table: Write) -> None:
    energies = [Energy("cpu", None, "cpu", reason="no access to RAPL"), Energy("gpu", None, "gpu", reason="no GPU")]
    record = replace(profiled(), monitors=[MonitorSummary("n1", 1.0, energies, {}, {})])
    assert table(record, an_operator())["power_reason"].to_list() == ["no access to RAPL"]
    assert table(profiled(2), an_operator())["power_reason"].to_list() == ["the node was not monitored"]
    assert table(profiled(3, power="off"), an_operator())["power_reason"].to_list() == ["measure.profile.power is off"]


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", b'{"schema": 1, "run": "0-local-0-1", "host": "n1", "sources": 3}'], ids=str
)
def test_a_missing_or_damaged_timeline_is_the_reason(
    profiled: MakeRecord, table: Write, kept: Path, content: bytes
) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_bytes(content)
    (row,) = table(profiled(), an_operator(**WINDOW)).to_dict("records")
    assert "timeline" in row["power_reason"]


def test_a_hostile_timeline_is_the_reason_with_a_mock_sensor(profiled: MakeRecord, table: Write, kept: Path) -> None:
    bad = {"rapl": {"meters": [{"domain": "cpu0", "no such": 1}]}, "nvidia": {"gpus": 5}, "x": 3}
    bad["amd"] = {"gpus": [{"power_limit_w": "1 kW"}]}
    mock_timeline.write(kept, {CPU: lambda _: 1.0}, facts=bad)
    (row,) = table(profiled(), an_operator(**WINDOW)).to_dict("records")
    assert row["power_reason"] == "the timeline of the monitor is damaged"


def test_a_timeline_whose_times_are_texts_is_the_reason_with_a_mock_sensor(
    profiled: MakeRecord, table: Write, kept: Path
) -> None:
    mock_timeline.write(kept, {CPU: lambda _: 1.0})
    head, *readings = gzip.decompress(kept.read_bytes()).decode().splitlines()
    broken = [f'[0,"late",{line.split(",", 2)[2]}' if line.startswith("[") else line for line in readings]
    kept.write_bytes(gzip.compress("\n".join([head, *broken]).encode()))
    (row,) = table(profiled(), an_operator(**WINDOW)).to_dict("records")
    assert "timeline" in row["power_reason"]


def test_merged_tables_have_each_row_once(profiled: MakeRecord, table: Write) -> None:
    states = an_operator(), an_operator(requested_clock_mhz=900), an_operator("conv2d")
    frame = table(profiled(), *states)
    other = frame.assign(sweep="another")
    both = merged([frame, frame.iloc[:0], other, frame.head(1)])
    assert both["sweep"].to_list() == ["sweep-1"] * 3 + ["another"] * 3
    assert both.dtypes.to_dict() == frame.dtypes.to_dict()
    assert merged([]).empty
