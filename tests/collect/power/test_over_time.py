"""Power over time, from timelines that a monitor's writer has written and put away; no machine of ours has a meter, so
these are made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.collect.power.over_time import COLUMNS, MOST_POINTS, power_over_time
from hpcbench.core.energy import Energy
from hpcbench.core.record import Record
from hpcbench.core.samples import Window
from hpcbench.core.typed_json import to_json
from hpcbench.node.monitor import timeline
from hpcbench.node.monitor.power_sensors import Meter
from hpcbench.node.monitor.timeline import Writer
from hpcbench.store.workspace import SweepPaths

MakeRecord = Callable[..., Record]
Watts = Callable[[float], float]
CPU = Meter("cpu0", counter="rapl.cpu0_uj", joules=1e-6, resets="rapl.cpu0_resets", counter_sensor="rapl")
BLADE = Meter("node", counter="cray.node_j", counter_sensor="cray")
GPU = Meter("gpu0", power="gpu0.power_w", counter="gpu0.energy_mj", joules=1e-3)
OF = {"cpu0": ("cpu", "rapl"), "node": ("node", "cray"), "gpu0": ("gpu", "nvidia_energy")}
ARRAY = {"array_job_id": "40", "array_task_id": "0"}
START, END = 100.0, 110.0  # of the samples


def seen(
    folder: Path,
    readings: list[tuple[float, list[float | None]]],
    *meters: Meter,
    run: str = "0-41-0-1",
    host: str = "n1",
    ended_s: float | None = 120.0,
) -> str:
    """The file of a monitor that has read these columns of its meters: the counter and the resets, or the power."""
    columns = [name for meter in meters for name in (meter.power or meter.counter, meter.resets) if name]
    header = {
        "run": run,
        "host": host,
        "sources": {"all": columns},
        "gauges": [],
        "facts": {OF[meter.domain][1]: {"meters": [meter._asdict()]} for meter in meters},
        "absent": {},
    }
    path = folder / timeline.file_name(host)
    writer = Writer(str(path), header)
    for time_s, values in readings:
        writer.reading(0, time_s, values)
    if ended_s:
        writer.end({"ended_s": ended_s})
    else:
        writer.flush()
    return str(path)


def node(*domains: str, host: str = "n1") -> dict[str, Any]:
    energies = [to_json(Energy(*OF[domain], domain, 1000.0, 1.0)) for domain in domains]
    return {"host": host, "duration_s": END - START, "energy": energies, "usage": {}, "absent": {}}


@pytest.fixture
def measured(make_record: MakeRecord) -> MakeRecord:
    """A record of the first element of array 40, which was job 41, on nodes with these meters."""

    def make(*nodes: dict[str, Any], **changes: Any) -> Record:
        slurm = {**ARRAY, "job_id": "41"}
        record = make_record(times_s=[0.1] * 100, **{"monitors": list(nodes), "run": 3, **changes})
        if record.measurements:
            windows = [Window(START, 105.0, 50), Window(105.0, END, 50)]
            record = replace(record, measurements=replace(record.measurements, windows=windows))
        return replace(record, slurm=changes.get("slurm", slurm))

    return make


@pytest.fixture
def kept(paths: SweepPaths) -> Path:
    """Where the timelines of that record lie."""
    return paths.results / "timelines" / "job-1" / "40_0.jsonl.gz"


def ticks(
    watts: Watts, *, start: float = 95.0, end: float = 115.0, every: float = 0.1
) -> list[tuple[float, list[Any]]]:
    """Readings of a sensor of power."""
    times = np.arange(start, end + every / 2, every)
    return [(float(time), [watts(float(time))]) for time in times]


def counted(watts: float, *falls: float) -> list[tuple[float, list[Any]]]:
    """Readings of a counter of microjoules, and how often it fell."""
    return [
        (time, [1e6 * watts * (time - 95), sum(fall <= time for fall in falls)])
        for time in np.arange(95.0, 115.05, 0.1).tolist()
    ]


def test_power_of_a_made_up_meter_is_what_its_sensor_shows(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord
) -> None:
    timeline.keep(seen(tmp_path, ticks(lambda time: 700.0 if time >= START else 80.0), GPU), str(kept))
    record = measured(node("gpu0"), parameters={"device": "gpu", "gpus_per_task": 1})
    frame = power_over_time(paths, [record])
    assert list(frame) == COLUMNS
    assert frame[["run", "host", "part"]].drop_duplicates().to_numpy().tolist() == [[3, "n1", "gpu0"]]
    # From a second before the first sample to a second after the last.
    assert (frame["at_s"].min(), frame["at_s"].max()) == (pytest.approx(-1, abs=0.11), pytest.approx(11, abs=0.11))
    assert set(frame.loc[frame["at_s"] < -0.01, "watts"]) == {80.0}
    assert set(frame.loc[frame["at_s"] > 0.01, "watts"]) == {700.0}


def test_power_of_a_made_up_meter_that_only_counts_is_what_it_gained_over_the_time(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord
) -> None:
    timeline.keep(seen(tmp_path, counted(150.0), CPU), str(kept))
    frame = power_over_time(paths, [measured(node("cpu0"))])
    assert frame["watts"].to_numpy() == pytest.approx(150.0)
    assert np.diff(frame["at_s"]) == pytest.approx(0.1, rel=0.05)


def test_where_a_made_up_counter_fell_its_power_is_not_known(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord
) -> None:
    timeline.keep(seen(tmp_path, counted(150.0, 104.95), CPU), str(kept))
    at = power_over_time(paths, [measured(node("cpu0"))])["at_s"]
    assert not at.between(4.91, 4.99).any()
    assert len(at) > 100


def test_a_made_up_counter_that_is_told_in_steps_shows_no_steps_of_power(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord
) -> None:
    """Cray's are new each 0.1 s: between two readings 0.08 s apart there are one of these or none."""
    readings = [(time, [50.0 * int(time * 10)]) for time in np.arange(95.0, 115.0, 0.08).tolist()]
    timeline.keep(seen(tmp_path, readings, BLADE), str(kept))
    watts = power_over_time(paths, [measured(node("node"))])["watts"]
    assert len(watts) >= 10
    assert watts.between(450, 550).all()


def test_many_readings_of_a_made_up_meter_become_the_means_of_equal_intervals(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord
) -> None:
    def saw_tooth(time: float) -> float:
        return 600.0 + 100 * (round(time * 250) % 2)

    timeline.keep(seen(tmp_path, ticks(saw_tooth, every=0.004), GPU), str(kept))
    frame = power_over_time(paths, [measured(node("gpu0"), parameters={"device": "gpu", "gpus_per_task": 1})])
    assert len(frame) == MOST_POINTS
    assert frame["watts"].between(625, 675).all()
    assert frame["watts"].mean() == pytest.approx(650, rel=1e-3)
    assert np.diff(frame["at_s"]) == pytest.approx(12 / MOST_POINTS, rel=0.2)


def test_of_made_up_meters_of_several_nodes_the_clocks_are_set_by_the_end_of_the_monitors(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord
) -> None:
    timeline.keep(seen(tmp_path, ticks(lambda time: 100.0 if time < START else 200.0), GPU), str(kept))
    late = ticks(lambda time: 100.0 if time < START + 5000 else 300.0, start=5095.0, end=5115.0)
    timeline.keep(seen(tmp_path, late, GPU, host="n2", ended_s=5120.0), str(kept))
    timeline.keep(seen(tmp_path, late, GPU, host="n3", ended_s=None), str(kept))  # its monitor was killed
    ranks = [{"rank": number, "host": f"n{number + 1}", "ended_at": "", "gpus": None} for number in range(3)]
    nodes = [node("gpu0", host=f"n{number + 1}") for number in range(3)]
    record = measured(*nodes, ranks=ranks, parameters={"device": "gpu", "gpus_per_task": 1})
    frame = power_over_time(paths, [record])
    after = frame[frame["at_s"] > 0.01].groupby("host")["watts"].unique().to_dict()
    assert {host: list(watts) for host, watts in after.items()} == {"n1": [200.0], "n2": [300.0]}
    assert set(frame.loc[frame["at_s"] < -0.01, "watts"]) == {100.0}


def test_only_the_made_up_meter_of_the_very_attempt_counts(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord
) -> None:
    """The others are of another element, job or attempt, or of a clock that is another since the node began anew."""
    for number, run in enumerate(("1-41-0-2", "0-42-0-2", "0-41-0-1", "0-41-0-2", "0-41-1-2")):
        start = 9000.0 if run == "0-41-1-2" else 95.0
        readings = ticks(lambda _, number=number: 100.0 + number, start=start, end=start + 20)  # type: ignore[misc]
        timeline.keep(seen(tmp_path, readings, GPU, run=run), str(kept))
    record = measured(node("gpu0"), attempt=2, parameters={"device": "gpu", "gpus_per_task": 1})
    assert set(power_over_time(paths, [record])["watts"]) == {103.0}


@pytest.mark.parametrize(
    ("place", "run", "changes"),
    [
        ("job-1/40_0.jsonl.gz", "0-41-0-1", {}),
        (
            "job-1.2/40_0.jsonl.gz",
            "0-41-1-1",
            {"slurm": {**ARRAY, "job_id": "41", "restart_count": "2"}},
        ),
        ("job-1/41_0.jsonl.gz", "0-41-0-1", {"slurm": {"job_id": "41"}}),
        ("job-1/local.jsonl.gz", "0-9123-0-1", {"slurm": {}}),
        ("job-1/local.jsonl.gz", "0-41-0-1", {"slurm": {"job_id": "41"}}),
        (
            "job-1/reconciled.jsonl.gz",
            "0-77-0-4",
            {"attempt": None, "slurm": ARRAY},
        ),
    ],
)
def test_a_made_up_meter_is_found_wherever_its_job_has_put_its_timeline(
    tmp_path: Path, paths: SweepPaths, measured: MakeRecord, place: str, run: str, changes: dict[str, Any]
) -> None:
    timeline.keep(seen(tmp_path, counted(150.0), CPU, run=run), str(paths.results / "timelines" / place))
    assert not power_over_time(paths, [measured(node("cpu0"), **changes)]).empty


def test_no_made_up_meter_is_looked_for_outside_the_sweep(
    tmp_path: Path, paths: SweepPaths, measured: MakeRecord
) -> None:
    """A record of an archive may come from anybody."""
    job = "../../../other/records/job/41"
    timeline.keep(
        seen(tmp_path, counted(150.0), CPU, run=f"0-{job}-0-1"),
        str(paths.results.parent / "other" / "timelines" / "job" / "41_0.jsonl.gz"),
    )
    assert power_over_time(paths, [measured(node("cpu0"), slurm={"job_id": job})]).empty


def test_repetitions_with_made_up_meters_share_a_file_and_it_is_read_once(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = []
    for element in range(3):
        timeline.keep(seen(tmp_path, counted(100.0 + element), CPU, run=f"{element}-41-0-1"), str(kept))
        records.append(measured(node("cpu0"), element=element, run=element))
    files = []
    read_kept = timeline.read_kept
    monkeypatch.setattr(timeline, "read_kept", lambda path, wanted: files.append(path) or read_kept(path, wanted))
    frame = power_over_time(paths, records)
    assert files == [str(kept)]
    assert frame.groupby("run")["watts"].median().round(6).to_dict() == {0: 100.0, 1: 101.0, 2: 102.0}


def test_without_a_meter_nothing_is_opened(
    paths: SweepPaths, measured: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "read_kept", lambda *_: pytest.fail("it was opened"))
    nothing = to_json(Energy("cpu", None, "cpu", reason="no RAPL"))
    unmetered = {"host": "n1", "duration_s": 1.0, "energy": [nothing], "usage": {}, "absent": {}}
    for records in ([], [measured()], [measured(unmetered)], [replace(measured(node("cpu0")), measurements=None)]):
        frame = power_over_time(paths, records)
        assert list(frame) == COLUMNS
        assert frame.empty


def damaged(content: bytes) -> list[bytes]:
    return [b"", b"nothing", content[: len(content) // 2], content[:10] + b"\0" * 20 + content[30:], content[:-9]]


def test_a_damaged_file_with_a_made_up_meter_is_no_error(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord
) -> None:
    records = [measured(node("cpu0"))]
    assert power_over_time(paths, records).empty, "there is no file yet"
    timeline.keep(seen(tmp_path, counted(150.0), CPU), str(kept))
    whole = power_over_time(paths, records)
    for content in damaged(kept.read_bytes()):
        kept.write_bytes(content)
        assert len(power_over_time(paths, records)) <= len(whole)


@pytest.mark.parametrize(
    "change",
    [
        ('"host":"n1"', '"host":["n1"]'),
        ('"joules":1e-06', '"joules":"many"'),
        ('"meters"', '"metres"'),
        ('"counter_sensor":"rapl"', '"counter_sensor":"new"'),
        ('"resets":', '"renamed":'),
        ("[0,99", '[0,"99'),
        ("]\n", "," + "9" * 400 + "]\n"),
        ("[0,", "[" * 100_000 + "0,"),
    ],
    ids=lambda change: change[0].strip(),
)
def test_what_no_monitor_writes_of_a_made_up_meter_is_no_error(
    tmp_path: Path, paths: SweepPaths, kept: Path, measured: MakeRecord, change: tuple[str, str]
) -> None:
    path = Path(seen(tmp_path, counted(150.0), CPU))
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change, 30))
    timeline.keep(str(path), str(kept))
    found = power_over_time(paths, [measured(node("cpu0"))])
    assert isinstance(found, pd.DataFrame)
    assert list(found) == COLUMNS
