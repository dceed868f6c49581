"""The time of operators inside the network: of which steps of a profile it is the mean."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of the operator profiler")

from hpcbench.node.frameworks.pytorch.profiler.compiled_kernels import kernels_of  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch.profiler.in_network import Profiled, in_network  # noqa: E402
from tests.node.frameworks.pytorch.profiler.test_profile import Event  # noqa: E402

INTERRUPTED = [1e-3, 1e-3, 50e-3, *[1e-3] * 7]  # times of steps


def test_an_interrupted_step_does_not_count() -> None:
    calls_s = [2e-6, 4e-6] * 2 + [40e-3, 9e-3] + [2e-6, 4e-6] * 7  # two calls per step
    found = in_network(calls_s, Profiled([], INTERRUPTED))
    assert found.mean_s == pytest.approx(3e-6)
    assert (found.calls, found.calls_per_step) == (12, 2)
    assert Profiled([], INTERRUPTED).step_s == pytest.approx(1e-3)


def test_an_interrupted_step_does_not_count_for_compiled_kernels() -> None:
    events = [Event("graph_0_cpp_fused_relu_0", 40e3 if step_s > 1e-3 else 7.0) for step_s in INTERRUPTED]
    (kernel,) = kernels_of(Profiled(events, INTERRUPTED))
    assert kernel.inside.mean_s == pytest.approx(7e-6)


@pytest.mark.parametrize(
    ("times_s", "kept"),
    [
        ([3.0], {0}),
        ([3.0, 9.0], {0, 1}),
        ([3.0, 9.0, 1.0], {0}),
        ([9.0, 2.0, 3.0, 1.0, 4.0, 5.0, 6.0, 7.0], {2, 4, 5, 6}),
    ],
)
def test_the_steps_in_the_middle_count(times_s: list[float], kept: set[int]) -> None:
    assert Profiled([], times_s).kept == kept


def test_times_of_operators_add_up_to_those_of_the_same_steps() -> None:
    first_s, second_s = [float(2 + step % 4) for step in range(10)], [float(1 + 3 * step % 7) for step in range(10)]
    profile = Profiled([], [sum(both) for both in zip(first_s, second_s, strict=True)])
    total_s = sum(in_network(each, profile).mean_s for each in (first_s, second_s))
    assert total_s == pytest.approx(profile.step_s)


def test_calls_in_a_few_steps_only_have_a_mean() -> None:
    assert in_network([1.0, 3.0], Profiled([], [1.0] * 10)).mean_s in (1.0, 2.0, 3.0)
    assert in_network([5.0], Profiled([], [1.0] * 10)).calls_per_step == 1
