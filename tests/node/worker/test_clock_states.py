"""Profiles at several clocks: a copy of cpufreq below another root, and a framework that only keeps rows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.core.profiling.device_state import DeviceState
from hpcbench.core.profiling.operator_row import OperatorRow
from hpcbench.node.clocks import choose
from hpcbench.node.clocks.control import NotPermitted
from hpcbench.node.clocks.cpufreq import FrequencyLimits
from hpcbench.node.frameworks.profile_request import ProfileRequest
from hpcbench.node.host.sysfs import System
from hpcbench.node.measurement.stopping_rules import Settings
from hpcbench.node.worker import clock_states
from tests.node.clocks import cpufreq_tree

pytestmark = pytest.mark.integration

BEFORE = ("800000", "2500000")
SEED = 3  # of the order 1080, 3000, 2040 MHz
DRIFT = "profile: at the default clock, a step took 9 s before the other clocks, and "
SETTINGS = Settings(precision=0.01, min_measurements=3, min_time_s=0.0, max_time_s=0.01, max_warmup_s=0.0)
REQUEST = ProfileRequest(SETTINGS, [9.0], windows=2, window_s=0.01)
ROW = OperatorRow("gemm", "aten.mm.default", "forward", "{}", hot_s=1e-3)


class Profiled:
    """A network, and the framework that profiles it: a row of the whole step, and one of an operator."""

    def __init__(self, root: Path) -> None:
        self.problem = SimpleNamespace(on_gpu=False, parameters={"task": "inference", "seed": SEED})
        self.root, self.clocks, self.requests = root, list[str](), list[ProfileRequest]()

    def infer(self) -> None: ...

    def synchronize(self) -> None: ...

    def profile(self, _: Any, request: ProfileRequest, keep: Callable[[OperatorRow], None]) -> list[str]:
        self.requests.append(request)
        self.clocks.append(cpufreq_tree.limits(self.root, 0)[1])
        keep(replace(ROW, kind="network", hot_s=request.step_times_s[0]))
        keep(ROW)
        return ["the same warning"]


@pytest.fixture
def profiled(tmp_path: Path, zipapp: Path, monkeypatch: pytest.MonkeyPatch) -> Profiled:
    """A network in a workspace, on a node whose files of cpufreq are copies."""
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0]))
    monkeypatch.setattr(choose, "control_of", lambda system, gpu_index: control)
    monkeypatch.setattr(sys, "argv", [str(zipapp)])
    monkeypatch.chdir(tmp_path)
    return Profiled(tmp_path)


def run(profiled: Any, number: int = 3) -> tuple[list[OperatorRow], list[str]]:
    """The rows and the warnings of a profile at so many clocks."""
    rows, warnings = list[OperatorRow](), list[str]()
    clock_states.profile(profiled, profiled, REQUEST, number, rows.append, warnings)
    return rows, warnings


def test_three_states_are_three_sets_of_rows_and_the_clock_is_restored(profiled: Profiled) -> None:
    rows, warnings = run(profiled)
    states = [(row.kind, row.requested_clock_mhz, row.clock_method) for row in rows]
    assert states == [(kind, mhz, "frequency limits") for mhz in (1080, 3000, 2040) for kind in ("network", "gemm")]
    assert profiled.clocks == ["1080000", "3000000", "2040000"], "the clock during each profile, in kHz"
    assert all(row.requested_power_limit_w is None for row in rows)
    assert warnings[0] == "the same warning"
    assert [warning.startswith(DRIFT) for warning in warnings[1:]] == [True], "a step of 9 s became one of nothing"
    assert cpufreq_tree.limits(profiled.root, 0) == BEFORE
    assert list(profiled.root.glob("results/.clocks/*/*")) == []


def test_the_whole_step_is_measured_again_in_each_state(profiled: Profiled) -> None:
    run(profiled)
    assert all(0 < max(request.step_times_s) < 9.0 for request in profiled.requests)
    measured_s = [request.measured_s for request in profiled.requests]
    assert all(start_s < end_s for start_s, end_s in measured_s)
    assert all(before[1] < after[0] for before, after in pairwise(measured_s))
    assert {(request.windows, request.window_s) for request in profiled.requests} == {(2, 0.01)}


def test_the_default_clock_is_measured_again_after_the_others_by_fake_measurements(
    profiled: Profiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By fake measurements, the step takes as long as before, or 6 % longer."""
    for factor, count in ((1.0, 0), (1.06, 1)):
        clocks = list[str]()

        def measured(_: Any, request: ProfileRequest, factor: float = factor, clocks: Any = clocks) -> ProfileRequest:
            clocks.append(cpufreq_tree.limits(profiled.root, 0)[1])
            return request._replace(step_times_s=[9.0 * factor])

        monkeypatch.setattr(clock_states, "_measured", measured)
        _, warnings = run(profiled)
        assert clocks == ["1080000", "3000000", "2040000", BEFORE[1]]
        assert sum(warning.startswith(DRIFT) for warning in warnings) == count


def test_a_state_that_the_device_refuses_is_a_warning_and_the_others_are_profiled(
    profiled: Profiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = FrequencyLimits.apply

    def refusing(self: FrequencyLimits, state: DeviceState) -> None:
        if state.requested_clock_mhz == 2040:
            raise NotPermitted("busy")
        apply(self, state)

    monkeypatch.setattr(FrequencyLimits, "apply", refusing)
    rows, warnings = run(profiled)
    assert {row.requested_clock_mhz for row in rows} == {1080, 3000}
    assert warnings[:2] == ["the same warning", "profile: 2040 MHz (frequency limits) was refused: busy"]


@pytest.mark.parametrize(("seen_khz", "count"), [("2550000", 2), ("3050000", 2), ("", 0)])
def test_a_clock_that_is_not_in_effect_is_a_warning(profiled: Profiled, seen_khz: str, count: int) -> None:
    (profiled.root / (cpufreq_tree.FOLDER % 0) / "scaling_cur_freq").write_text(seen_khz)
    _, warnings = run(profiled, 2 if seen_khz == "2550000" else 3)
    found = [each for each in warnings if "was requested, but the clock was" in each]
    assert len(found) == count
    if count:
        mhz = int(seen_khz) // 1000
        assert found[0] == f"profile: 1080 MHz (frequency limits) was requested, but the clock was {mhz} MHz"


def test_what_a_control_cannot_restore_is_a_warning(profiled: Profiled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FrequencyLimits, "remark", "an earlier lock is removed")
    assert "profile: an earlier lock is removed" in run(profiled)[1]


def test_a_clock_that_cannot_be_changed_is_a_warning_with_the_reason(
    profiled: Profiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "control_of", lambda system, gpu_index: FrequencyLimits(System([0], "/nowhere")))
    rows, (warning,) = run(profiled)
    assert rows == []
    assert warning.startswith(
        "profile: the clock cannot be changed; only the default state was profiled (cpufreq not found"
    )


def test_an_error_in_a_state_restores_the_clock(profiled: Profiled, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> list[str]:
        raise MemoryError

    monkeypatch.setattr(profiled, "profile", failing)
    with pytest.raises(MemoryError):
        run(profiled)
    assert cpufreq_tree.limits(profiled.root, 0) == BEFORE


# A worker that profiles, and stays in the first state for ever.
WORKER = """
import sys, time
from pathlib import Path
from hpcbench.node.clocks import choose
from hpcbench.node.clocks.cpufreq import FrequencyLimits
from hpcbench.node.host.sysfs import System
from tests.node.worker.test_clock_states import Profiled, run
root, zipapp = sys.argv[1:]
choose.control_of = lambda system, gpu_index: FrequencyLimits(System([0], root))
class Endless(Profiled):
    def profile(self, *_):
        print("in a state", flush=True)
        time.sleep(600)
sys.argv = [zipapp]
run(Endless(Path(root)))
"""


def test_sigkill_to_the_worker_restores_the_clock(tmp_path: Path, zipapp: Path) -> None:
    cpufreq_tree.make(tmp_path, [0])
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    words = [sys.executable, "-c", WORKER, str(tmp_path), str(zipapp)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as worker:
        try:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "in a state\n"
            assert cpufreq_tree.limits(tmp_path, 0) == ("1080000", "1080000")
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.wait(timeout=30)
    end = time.monotonic() + 30
    while cpufreq_tree.limits(tmp_path, 0) != BEFORE or list(tmp_path.glob("results/.clocks/*/*.json")):
        assert time.monotonic() < end, "the guard has not restored the clock"
        time.sleep(0.02)
