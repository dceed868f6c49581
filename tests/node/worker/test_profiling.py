"""The operator profile in the worker: its file, its warnings, and power windows by the sensors of a mock timeline."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.profiling.operator_row import SPAN, OperatorRow
from hpcbench.core.run_spec import PlannedRun
from hpcbench.node.frameworks.adapter import Adapter
from hpcbench.node.frameworks.profile_request import ProfileRequest
from hpcbench.node.host import hostname
from hpcbench.node.monitor import timeline
from hpcbench.node.worker import profiling

ROW = OperatorRow("gemm", "aten.mm.default", "forward", "{}", hot_s=1e-3)
OPERATOR = {"operator": "linear", "sizes": {"rows": 4, "inputs": 9, "outputs": 6}, "phase": "both"}
MakePlanned = Callable[..., PlannedRun]


class Profiling(Adapter):
    """A framework whose profile has a row and then, perhaps, an error."""

    name = "stand-in"
    memory_words = "memory"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.requests: list[ProfileRequest] = []

    def set_threads(self, intra_op: int | None, inter_op: int | None) -> None: ...

    def threads(self) -> dict[str, Any]:
        return {}

    def build(self, problem: Any) -> Any: ...

    def profile(self, computation: Any, request: ProfileRequest, keep: Callable[[OperatorRow], None]) -> list[str]:
        self.requests.append(request)
        keep(ROW)
        if self.error:
            raise self.error
        return ["a warning"]


@pytest.fixture
def profile(tmp_path: Path, make_planned: MakePlanned) -> Callable[..., list[str]]:
    """The warnings of a profile that goes to `operators.jsonl`."""

    def run(adapter: Adapter, power: Any = "auto", **parameters: Any) -> list[str]:
        planned = make_planned(**parameters)
        planned = planned._replace(measure={**planned.measure, "profile": {"power": power}})
        facts: dict[str, Any] = {
            "warnings": [],
            "measurements": {"times_s": [1.0, 2.0], "windows": [[5.0, 6.0, 1], [7.0, 9.0, 1]]},
        }
        before_s = time.monotonic()
        profiling.profile(adapter, None, planned, facts, str(tmp_path / "operators.jsonl"))
        found: list[str] = facts["warnings"]
        rows = (tmp_path / "operators.jsonl").read_text() if (tmp_path / "operators.jsonl").exists() else ""
        assert (SPAN in facts) == bool(rows), "a span only if operators were timed"
        if rows:
            start_s, end_s = facts[SPAN]
            assert before_s <= start_s <= end_s <= time.monotonic()
        return found

    return run


def put_timeline(folder: Path, facts: dict[str, Any]) -> None:
    header = {"host": "n", "run": "r", "gauges": [], "facts": facts, "absent": {}, "sources": {}}
    timeline.Writer(str(folder / timeline.file_name(hostname.name({}))), header).close()


def test_rows_are_lines(profile: Callable[..., list[str]], tmp_path: Path) -> None:
    adapter = Profiling()
    assert profile(adapter) == ["a warning"]
    (line,) = (tmp_path / "operators.jsonl").read_text().splitlines()
    assert (json.loads(line)["hot_s"], json.loads(line)["kind"]) == (1e-3, "gemm")
    assert adapter.requests[0].step_times_s == [1.0, 2.0]
    assert adapter.requests[0].measured_s == (5.0, 9.0)


def test_an_error_is_a_warning_and_keeps_the_rows(profile: Callable[..., list[str]], tmp_path: Path) -> None:
    warning = "profile: stopped early (ValueError: bad strides); earlier rows are kept"
    assert profile(Profiling(ValueError("bad strides\nat line 3"))) == [warning]
    assert len((tmp_path / "operators.jsonl").read_text().splitlines()) == 1


def test_exhausted_memory_is_named(profile: Callable[..., list[str]]) -> None:
    assert "(memory ran out: " in profile(Profiling(MemoryError()))[0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task": "operator", **OPERATOR}, "task: operator is not supported, only inference and training"),
        ({"task": "training", "strategy": "ddp", "tasks_per_node": 2}, "it runs in several processes"),
        ({"instances": 2}, "it runs in several processes"),
        ({"threads": "dynamic", "cpus_per_task": 2}, "threads: dynamic is not supported"),
    ],
)
def test_other_cases_are_refused(profile: Callable[..., list[str]], changes: dict[str, Any], reason: str) -> None:
    adapter = Profiling()
    (warning,) = profile(adapter, **changes)
    assert warning.startswith("profile: " + reason)
    assert adapter.requests == []


def test_a_framework_without_profiler_is_a_warning(profile: Callable[..., list[str]]) -> None:
    class Without(Profiling):
        profile = Adapter.profile

    assert profile(Without()) == ["profile: framework stand-in cannot be profiled; pytorch can"]


@pytest.mark.parametrize(
    ("power", "meters", "windows", "window_s"),
    [
        ("auto", None, 0, 0.0),
        ("auto", {}, 0, 0.0),
        ("auto", {"rapl": {"meters": [{"domain": "cpu0", "counter": "c", "counter_sensor": "rapl"}]}}, 80, 2.01),
        ("off", {"rapl": {"meters": [{"domain": "cpu0", "counter": "c", "counter_sensor": "rapl"}]}}, 0, 0.0),
        (5, None, 5, 2.0),
    ],
)
def test_power_windows_by_the_sensors_of_a_mock_timeline(
    profile: Callable[..., list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    power: Any,
    meters: dict[str, Any] | None,
    windows: int,
    window_s: float,
) -> None:
    monkeypatch.setattr(hostname, "name", lambda environment: "n1")
    if meters is not None:
        put_timeline(tmp_path, meters)
    adapter = Profiling()
    profile(adapter, power)
    assert (adapter.requests[0].windows, adapter.requests[0].window_s) == (windows, pytest.approx(window_s))
