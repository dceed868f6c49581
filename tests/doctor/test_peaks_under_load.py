"""Peaks that are measured next to other load are saved with a mark and a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.core.check_result import INTERFERENCE, OK, WARNING, CheckResult
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.doctor.checked_host import CheckedHost
from hpcbench.doctor.peaks import save_peaks
from hpcbench.store.machine_peaks import read_peaks
from hpcbench.store.workspace import Workspace

PEAK = Peak("cpu", 2, "float32", 1e11, 1e10, "numpy", "n1", "2026-11-01")
OF_GPU = Peak("gpu", None, "float32", 1e13, 1e12, "torch", "n1", "2026-11-01")


@pytest.mark.parametrize(("level", "found"), [(OK, []), (WARNING, ["measured under load"])])
def test_peaks_under_load_are_saved_with_a_warning(tmp_path: Path, level: str, found: list[str]) -> None:
    host = CheckedHost("n1", "n1", peaks=MachinePeaks("Some CPU", 2, None, (PEAK, OF_GPU)))
    host.add(INTERFERENCE, [CheckResult("background load", level, "1.99 of 2 usable CPUs busy")])
    save_peaks(Workspace(tmp_path), host)
    (saved,) = read_peaks(Workspace(tmp_path), pytest.fail)
    assert [(peak.device, peak.under_load) for peak in saved.measurements] == [("cpu", bool(found)), ("gpu", False)]
    results = [result for result in host.results if result.subject == "peaks"]
    assert [result.found for result in results if result.level == WARNING] == found
    assert results[-1].found.startswith("saved in results/.machines/")
