"""The devices of a workspace: its own files, and the peaks that doctor saved in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.errors import UserError
from hpcbench.report.load.devices import known_devices
from hpcbench.store.machine_peaks import keep_peaks
from hpcbench.store.workspace import Workspace


def test_devices_are_those_of_the_workspace_and_its_measured_machines(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    peak = Peak("cpu", 4, "float32", 4e11, 2e10, "numpy", "n7", "2026-11-01")
    keep_peaks(workspace, MachinePeaks("Some CPU", 4, None, (peak,), int(16e9), 2**25, 3000.0))
    (tmp_path / "configs" / "devices").mkdir(parents=True)
    (tmp_path / "configs" / "devices" / "mine.yaml").write_text("devices:\n  l4: {board_power_w: 60}\n")
    known = known_devices(workspace)
    assert known.find("l4").board_power_w == 60
    assert known.find("some-cpu-4-cpus").source == known.find("n7").source
    assert (known.find("n7").units, known.find("n7").l2_bytes, known.find("n7").memory_bytes) == (4, 2**25, 16e9)


def test_a_wrong_file_of_the_workspace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "configs" / "devices").mkdir(parents=True)
    (tmp_path / "configs" / "devices" / "mine.yaml").write_text("devices:\n  l4: {board_power_w: 0}\n")
    with pytest.raises(UserError, match=r"mine\.yaml:2: devices\.l4\.board_power_w"):
        known_devices(Workspace(tmp_path))
