"""The profile of a network: its rows, from the listing to the power windows."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.profiling.operator_row import OperatorRow
from hpcbench.core.typed_json import from_json, to_json
from hpcbench.node.clocks import choose
from hpcbench.node.clocks.cpufreq import FrequencyLimits
from hpcbench.node.frameworks.profile_request import ProfileRequest
from hpcbench.node.measurement.stopping_rules import Settings
from hpcbench.node.worker import clock_states
from tests.node.clocks import cpufreq_tree

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of the operator profiler")

from hpcbench.node.frameworks import load  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch.profiler import power_windows, profile, rows, timers  # noqa: E402
from hpcbench.node.frameworks.pytorch.profiler.compiled_kernels import kernels_of, members_of  # noqa: E402
from hpcbench.node.frameworks.pytorch.profiler.in_network import Profiled  # noqa: E402

Build = Callable[..., Any]
SETTINGS = Settings(precision=0.01, min_measurements=7, min_time_s=0.01, max_time_s=0.1, max_warmup_s=0.01)
REQUEST = ProfileRequest(SETTINGS, [2e-3, 1e-3, 3e-3, 2e-3, 2e-3, 2e-3, 2e-3], (5.0, 9.0))


@pytest.fixture(autouse=True)
def without_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_windows, "SETTLE_S", 0.0)


def profiled(network: Any, request: ProfileRequest = REQUEST) -> list[OperatorRow]:
    found: list[OperatorRow] = []
    load("pytorch").profile(network, request, found.append)
    assert [from_json(OperatorRow, json.loads(json.dumps(to_json(row)))) for row in found]
    return found


def test_each_operator_has_times_or_a_reason(build: Build) -> None:
    whole, *operators = profiled(build("mlp", task="training"))
    assert (whole.kind, whole.hot_s, whole.measurements) == ("network", 2e-3, 7)
    assert (whole.measured_start_s, whole.measured_end_s) == (5.0, 9.0)
    assert whole.stream_s  # measured again, in turn with the operators
    assert whole.flops == 3 * 2 * 2 * (8 * 16 + 16 * 16 + 16 * 3)
    assert {row.phase for row in operators} == {"forward", "backward", "optimizer"}
    for row in operators:
        assert (row.hot_s is None) == (row.reason is not None)
        assert row.reason == rows.VIEW_REASON or row.hot_low_s is None or row.hot_low_s <= row.hot_s <= row.hot_high_s
        assert row.device == "cpu"
        assert row.stream_s is not None  # also of views
    gemms = [row for row in operators if row.kind == "gemm" and row.phase == "forward"]
    assert [(row.calls_per_step, row.flops, row.in_network_calls) for row in gemms] == [
        (1, 2 * 2 * 8 * 16, gemms[0].in_network_calls),
        (1, 2 * 2 * 16 * 16, gemms[0].in_network_calls),
        (1, 2 * 2 * 16 * 3, gemms[0].in_network_calls),
    ]


def test_operators_are_timed_in_steps_before_the_profiler_changes_the_heap(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After torch.profiler, a step of the shipped LSTM has a third of the page faults of the measured one, or none."""
    order: list[str] = []
    in_network = importlib.import_module("hpcbench.node.frameworks.pytorch.profiler.in_network")
    for module, name in ((profile, "streamed"), (in_network, "profiled")):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, real=real, name=name, **named: order.append(name) or real(*given, **named)
        )
    profiled(build("mlp"))
    assert order == ["streamed", "profiled"]


def test_without_real_steps_operators_are_replayed_for_the_stream(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timers.CpuTimer, "runs_at_once", False)
    whole, *operators = profiled(build("mlp"))
    assert whole.stream_s is None
    assert {row.kind == "view" for row in operators if row.stream_s is None} == {True}
    assert all(row.stream_s is not None for row in operators if row.kind != "view")


def test_an_operator_that_fails_alone_has_a_reason(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> dict[str, Any]:
        raise RuntimeError("no kernel\nand a trace")

    monkeypatch.setattr(profile, "times", failing)
    reasons = {row.reason for row in profiled(build("mlp")) if row.kind not in ("view", "network")}
    assert reasons == {"timing it alone failed: no kernel"}


def test_power_windows_of_the_idle_device_the_network_and_operators(build: Build) -> None:
    found = profiled(build("mlp"), REQUEST._replace(windows=2, window_s=0.02))
    windows = [row for row in found if row.window_start_s is not None]
    assert [row.kind for row in windows][:2] == ["idle", "network"]
    assert len(windows) == 4
    assert windows[0].window_calls == 0
    ends = [(row.window_start_s, row.window_end_s) for row in windows]
    assert all(end - start >= 0.02 for start, end in ends)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))  # one after another
    assert all(row.window_calls > 0 for row in windows[1:])
    before, after = found[: found.index(windows[0])], found[found.index(windows[0]) :]
    assert after == windows  # each row is kept at once, and those with a window again
    keys = [rows.key_of(row) for row in before]
    assert len(set(keys)) == len(keys)
    assert {rows.key_of(row) for row in windows[1:]} < set(keys)


def test_an_error_in_a_power_window_keeps_all_rows(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> None:
        raise ValueError("the sensor is gone")

    monkeypatch.setattr(power_windows, "run", failing)
    network, found = build("mlp"), list[OperatorRow]()
    with pytest.raises(ValueError, match="gone"):
        profile.profile(network, REQUEST._replace(windows=2, window_s=0.01), found.append)
    assert [row.kind for row in found if row.kind in ("idle", "network")] == ["network", "idle"]
    assert sum(row.kind == "gemm" for row in found) == 3


def test_a_process_that_dies_between_operators_has_kept_the_rows_before(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL runs no `finally`: a row counts only if it is kept before the next operator is timed."""
    found, kept_before = list[OperatorRow](), list[int]()

    def times(*_: Any) -> dict[str, Any]:
        kept_before.append(len(found))
        return {"hot_s": 1e-3}

    monkeypatch.setattr(profile, "times", times)
    profile.profile(build("mlp"), REQUEST._replace(windows=1, window_s=0.01), found.append)
    assert kept_before == list(range(kept_before[0], kept_before[0] + len(kept_before)))
    assert kept_before[0] > 0  # the whole step, and views


def test_each_state_has_all_rows_with_a_copy_of_cpufreq(
    build: Build, tmp_path: Path, zipapp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0]))
    monkeypatch.setattr(choose, "control_of", lambda system, gpu_index: control)
    monkeypatch.setattr(sys, "argv", [str(zipapp)])
    monkeypatch.chdir(tmp_path)
    network, found, warnings = build("mlp", task="training"), list[OperatorRow](), list[str]()
    request = REQUEST._replace(windows=1, window_s=0.01)
    load("pytorch").profile(network, request, found.append)
    clock_states.profile(load("pytorch"), network, request, 2, found.append, warnings)
    assert not [warning for warning in warnings if "state" in warning or "restored" in warning]
    states = {mhz: [row for row in found if row.requested_clock_mhz == mhz] for mhz in (None, 1080, 3000)}
    keys = [{(row.kind, *rows.key_of(row)) for row in its} for its in states.values()]
    assert keys[0] == keys[1] == keys[2]
    assert sum(len(its) for its in states.values()) == len(found)
    steps = [row.hot_s for row in found if row.kind == "network"]
    assert steps[0] == 2e-3, "as measured before"
    assert len({*steps}) == 3, "measured again in each state"
    assert sum(row.window_start_s is not None for row in found) == 3 * 3
    assert cpufreq_tree.limits(tmp_path, 0) == ("800000", "2500000")


def test_slow_steps_under_the_profiler_are_a_warning(build: Build) -> None:
    whole = rows.of_network(build("mlp"), [1e-3], Profiled([], [1.4e-3]))
    assert profile._warnings(Profiled([], [1.4e-3]), whole) == []
    (warning,) = profile._warnings(Profiled([], [1.6e-3]), whole)
    assert warning.startswith("profile: under torch.profiler, a step took over 1.5 times the measured step time")


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("add_relu", ["add", "relu"]),
        ("_softmax", ["_softmax"]),
        ("_native_batch_norm_legit_no_training_mean_relu", ["_native_batch_norm_legit_no_training", "mean", "relu"]),
        ("addmm_unknown", ["addmm", "unknown"]),
    ],
)
def test_members_of_a_fused_kernel(name: str, members: list[str]) -> None:
    assert members_of(name) == members


class Event:
    """An event of torch.profiler."""

    device_type = torch.autograd.DeviceType.CPU

    def __init__(self, name: str, us: float, parent: Event | None = None, shapes: Any = ()) -> None:
        self.name, self.cpu_time_total, self.cpu_parent, self.input_shapes = name, us, parent, shapes
        self.device_time_total = 0.0


def test_kernels_of_a_compiled_step() -> None:
    graph = Event("## Call CompiledFxGraph abc ##", 90.0)
    backward = Event("autograd::engine::evaluate_function: CompiledFunctionBackward", 80.0)
    product = Event("aten::addmm", 20.0, graph, [[3], [2, 8], [8, 3]])
    events = [
        graph,
        product,
        Event("aten::expand", 5.0, product, [[3]]),
        Event("graph_0_cpp_fused_add_relu_1", 10.0, graph),
        Event("graph_0_cpp_fused_add_relu_1", 20.0, graph),
        backward,
        Event("graph_1_cpp_fused_threshold_backward_0", 7.0, backward),
    ]
    found = kernels_of(Profiled(events, [1e-4]))
    assert [(each.name, each.phase, each.members, each.inside.calls) for each in found] == [
        ("aten::addmm", "forward", (), 1),
        ("graph_0_cpp_fused_add_relu_1", "forward", ["add", "relu"], 2),
        ("graph_1_cpp_fused_threshold_backward_0", "backward", ["threshold_backward"], 1),
    ]
    assert [each.inside.mean_s for each in found] == pytest.approx([20e-6, 15e-6, 7e-6])
    (product_row, fused, _) = rows.of_kernels(found)
    assert (product_row.kind, product_row.operator, fused.kind, fused.calls_per_step) == (
        "gemm",
        "aten.addmm",
        "fused",
        2,
    )
    assert fused.reason == rows.KERNEL_REASON


@pytest.mark.parametrize(
    "names", [("graph_4_cpp_fused_relu_0", "graph_6_cpp_fused_relu_0"), ("triton_poi_fused_relu_0",) * 2]
)
def test_kernels_of_two_graphs_with_one_name_are_two_rows(names: tuple[str, str]) -> None:
    graphs = [Event(f"## Call CompiledFxGraph {code} ##", 90.0) for code in ("abc", "def")]
    events = [Event(name, us, graph) for name, us, graph in zip(names, (10.0, 30.0), graphs, strict=True)]
    found = list(rows.of_kernels(kernels_of(Profiled(events, [1e-4]))))
    name = names[0].partition("_")[2].partition("_")[2] if names[0].startswith("graph") else names[0]
    assert [(row.operator, row.in_network_s) for row in found] == [
        (f"graph_0_{name}", pytest.approx(10e-6)),
        (f"graph_1_{name}", pytest.approx(30e-6)),
    ]
    assert len({rows.key_of(row) for row in found}) == 2


def test_a_product_of_forward_and_backward_is_two_rows() -> None:
    backward = Event("autograd::engine::evaluate_function: CompiledFunctionBackward", 80.0)
    events = [Event("aten::mm", 20.0, None, [[8, 8], [8, 8]]), Event("aten::mm", 30.0, backward, [[8, 8], [8, 8]])]
    found = kernels_of(Profiled(events, [1e-4]))
    assert [(each.phase, each.inside.calls) for each in found] == [("forward", 1), ("backward", 1)]


def test_a_triton_kernel_counts_once_by_fake_events_of_host_and_device() -> None:
    backward = Event("autograd::engine::evaluate_function: CompiledFunctionBackward", 80.0)
    host, device = Event("triton_poi_fused_relu_0", 5.0, backward), Event("triton_poi_fused_relu_0", 0.0)
    only = Event("triton_per_fused_sum_1", 0.0)  # as before PyTorch recorded the launch
    host.device_time_total = device.device_time_total = only.device_time_total = 30.0
    device.device_type = only.device_type = torch.autograd.DeviceType.CUDA
    found = kernels_of(Profiled([host, device, only], [1e-4]))
    assert [(each.phase, each.members, each.inside.calls) for each in found] == [
        ("backward", ["relu"], 1),
        ("forward", ["sum"], 1),
    ]


def test_compositions_and_views_of_a_compiled_step() -> None:
    linear = Event("aten::linear", 30.0)
    events = [linear, Event("aten::t", 5.0, linear), Event("aten::addmm", 20.0, linear), Event("aten::detach", 1.0)]
    found = list(rows.of_kernels(kernels_of(Profiled(events, [1e-4]))))
    assert [(row.operator, row.kind, row.reason) for row in found] == [
        ("aten.t", "view", rows.VIEW_REASON),
        ("aten.addmm", "gemm", rows.KERNEL_REASON),
        ("aten.detach", "view", rows.VIEW_REASON),
    ]


@pytest.mark.long  # half a minute: the compiler
def test_a_compiled_network_has_fused_kernels(build: Build) -> None:
    network = build("mlp", execution="compiled")
    network.infer()
    whole, *kernels = profiled(network)
    assert whole.kind == "network"
    assert any(row.kind == "fused" and "relu" in row.members and row.in_network_s for row in kernels)
    assert sum(row.kind == "gemm" for row in kernels) == 3


@pytest.mark.long  # half a minute: the compiler
def test_the_kernels_of_compiled_training_are_those_of_all_phases(build: Build) -> None:
    network = build("mlp", execution="compiled", task="training")
    network.train()
    whole, *kernels = profiled(network)
    fused = {row.phase: row.members for row in kernels if row.kind == "fused"}
    assert "relu" in fused["forward"]
    assert any("threshold_backward" in row.members for row in kernels if row.phase == "backward")
    assert {"forward", "backward", "optimizer"} == {row.phase for row in kernels}
    products = {
        phase: sum(row.calls_per_step for row in kernels if (row.kind, row.phase) == ("gemm", phase)) for phase in fused
    }
    assert products == {"forward": 3, "backward": 5}  # not of the inputs of the network
    assert all(row.in_network_s > 0 and row.in_network_calls > 0 and row.reason for row in kernels)
    assert "other" not in {row.kind for row in kernels}
    assert sum(row.in_network_s * row.calls_per_step for row in kernels) < whole.in_network_s


@pytest.mark.long  # half a minute: the compiler
def test_after_a_profile_the_network_has_compiled_kernels_without_instruments(build: Build) -> None:
    network = build("mlp", execution="compiled", task="training")
    network.train()
    profiled(network)
    compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    with torch.profiler.profile() as seen:
        network.train()
    names = {event.name for event in seen.events()}
    assert any("CompiledFxGraph" in name for name in names)
    assert not [name for name in names if "cpp_fused" in name]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == compiled, "compiled before what is timed"
