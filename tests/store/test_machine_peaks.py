"""Peaks of machines, as the workspace keeps them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcbench.config.names import check_name
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.store.machine_peaks import keep_peaks, node_type, read_peaks
from hpcbench.store.workspace import Workspace


def peak(cpus: int | None, flops_per_s: float, dtype: str = "float32", bytes_per_s: float | None = 1e10) -> Peak:
    device = "gpu" if cpus is None else "cpu"
    return Peak(device, cpus, dtype, flops_per_s, bytes_per_s, "numpy 2.4.6", "n1", "2026-11-01T00:00:00+00:00")


def machine(*measurements: Peak, cpu: str = "AMD EPYC 7763 64-Core Processor", gpu: str | None = None) -> MachinePeaks:
    return MachinePeaks(cpu, 128, gpu, measurements)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def read(workspace: Workspace) -> list[MachinePeaks]:
    told: list[str] = []
    found = read_peaks(workspace, told.append)
    assert told == []
    return found


def test_what_is_kept_is_read(workspace: Workspace) -> None:
    with_gpu = machine(peak(None, 5e13, "bfloat16"), peak(2, 1e11), gpu="NVIDIA A100-SXM4-40GB")
    without = machine(peak(128, 5e12, bytes_per_s=None))
    paths = [keep_peaks(workspace, each) for each in (with_gpu, without)]
    assert sorted(path.name for path in paths) == [
        "amd-epyc-7763-64-core-processor-128-cpus-nvidia-a100-sxm4-40gb.json",
        "amd-epyc-7763-64-core-processor-128-cpus.json",
    ]
    assert {path.parent for path in paths} == {workspace.root / "results" / ".machines"}
    found = read(workspace)
    assert found[0]._replace(measurements=with_gpu.measurements) == with_gpu
    assert set(found[0].measurements) == set(with_gpu.measurements)
    assert found[1] == without


def test_other_cpus_are_kept_beside_and_a_higher_one_replaces(workspace: Workspace) -> None:
    keep_peaks(workspace, machine(peak(1, 1e11), peak(4, 4e11)))
    keep_peaks(workspace, machine(peak(1, 2e11), peak(128, 9e12), peak(1, 3e11, "bfloat16")))
    (found,) = read(workspace)
    assert [(each.cpus, each.dtype, each.flops_per_s) for each in found.measurements] == [
        (1, "bfloat16", 3e11),
        (1, "float32", 2e11),
        (4, "float32", 4e11),
        (128, "float32", 9e12),
    ]


def test_of_the_same_again_the_higher_rates_stay(workspace: Workspace) -> None:
    """Four CPUs of a node alone; then two cores with hyperthreads of a shared one; then one without memory left."""
    keep_peaks(workspace, machine(peak(4, 4e11, bytes_per_s=1e10), peak(8, 8e11, bytes_per_s=None)))
    keep_peaks(workspace, machine(peak(4, 2e11, bytes_per_s=3e10), peak(8, 1e11, bytes_per_s=5e10)))
    keep_peaks(workspace, machine(peak(4, 1e11, bytes_per_s=None)))
    (found,) = read(workspace)
    assert [(each.cpus, each.flops_per_s, each.bytes_per_s) for each in found.measurements] == [
        (4, 4e11, 3e10),
        (8, 8e11, 5e10),
    ]


@pytest.mark.parametrize(
    ("first", "second", "expected"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_peaks_are_under_load_if_all_measurements_were(
    workspace: Workspace, first: bool, second: bool, expected: bool
) -> None:
    """The first measurement is higher: one without load that is lower shows that the load had no effect."""
    keep_peaks(workspace, machine(peak(4, 4e11)._replace(under_load=first)))
    keep_peaks(workspace, machine(peak(4, 3e11)._replace(under_load=second)))
    (found,) = read(workspace)
    assert [(each.flops_per_s, each.under_load) for each in found.measurements] == [(4e11, expected)]


def test_files_of_versions_without_the_mark_are_read(workspace: Workspace) -> None:
    path = keep_peaks(workspace, machine(peak(4, 4e11)))
    data = json.loads(path.read_text())
    assert data["measurements"][0].pop("under_load") is False
    path.write_text(json.dumps(data))
    (found,) = read(workspace)
    assert found.measurements == (peak(4, 4e11),)


def test_all_measured_nodes_of_a_type_are_known(workspace: Workspace) -> None:
    """The higher peaks may all be of one node."""
    for host, flops_per_s in (("n1", 2e11), ("n2", 4e11), ("n3", 1e11)):
        keep_peaks(workspace, machine(peak(4, flops_per_s)._replace(host=host)))
    (found,) = read(workspace)
    assert [each.host for each in found.measurements] == ["n2"]
    assert found.hosts == {"n1", "n2", "n3"}


def test_nothing_half_written_is_left_or_read(workspace: Workspace) -> None:
    path = keep_peaks(workspace, machine(peak(1, 1e11)))
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    (path.parent / f"{path.name}.n1-7.part").write_text("{")
    assert len(read(workspace)) == 1


def test_no_machine_no_peaks(workspace: Workspace) -> None:
    assert read(workspace) == []


def changed(**changes: object) -> str:
    return json.dumps({"schema": 1, **machine(peak(1, 1e11)).as_data(), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "\xff",
        changed(schema=2),
        changed(cpu_count="many"),
        changed(more=1),
        changed(measurements=[{"device": "cpu"}]),
        changed(measurements=[peak(1, -1.0)._asdict()]),
        changed(measurements=[peak(1, float("nan"))._asdict()]),
        changed(measurements=[peak(1, 1.0, bytes_per_s=float("inf"))._asdict()]),
    ],
)
def test_a_damaged_file_is_told_and_leaves_the_others(workspace: Workspace, text: str) -> None:
    good = keep_peaks(workspace, machine(peak(1, 1e11)))
    bad = good.with_name("another.json")
    bad.write_text(text, encoding="latin-1")
    told: list[str] = []
    assert len(read_peaks(workspace, told.append)) == 1
    assert len(told) == 1
    assert told[0].startswith(f"{bad}: the peak performance of a machine cannot be read, and is left out: ")


def test_a_damaged_file_is_replaced_by_a_new_measurement(workspace: Workspace) -> None:
    path = keep_peaks(workspace, machine(peak(1, 1e11)))
    path.write_text("{")
    keep_peaks(workspace, machine(peak(2, 2e11)))
    assert [each.cpus for each in read(workspace)[0].measurements] == [2]


def test_another_type_with_the_same_name_has_a_file_of_its_own(workspace: Workspace) -> None:
    one, other = machine(peak(1, 1e11), cpu="a CPU"), machine(peak(2, 2e11), cpu="a-cpu")
    assert node_type(one) == node_type(other)
    for _ in range(2):
        keep_peaks(workspace, one)
        keep_peaks(workspace, other)
    assert sorted(read(workspace)) == [one, other]


def test_a_link_in_its_place_is_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "elsewhere").mkdir()
    workspace.machines.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        keep_peaks(workspace, machine(peak(1, 1e11)))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_no_sweep_can_have_the_name_of_the_folder(workspace: Workspace) -> None:
    with pytest.raises(ValueError, match="begins with a letter or digit"):
        check_name(workspace.machines.name)
    keep_peaks(workspace, machine(peak(1, 1e11)))
    assert workspace.sweeps() == []


@pytest.mark.parametrize("cpu", ["../../etc/passwd", "", "\x1b[31m ;rm", "Z" * 500, "日本"])
def test_the_name_of_a_file_stays_one(workspace: Workspace, cpu: str) -> None:
    path = keep_peaks(workspace, machine(peak(1, 1e11), cpu=cpu))
    assert path.parent == workspace.machines
    assert len(read(workspace)) == 1
