"""The time of each operator in real steps."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of the operator profiler")

from hpcbench.node.frameworks.pytorch.profiler import in_stream, step  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch.profiler.in_stream import StreamTime, StreamTimer, stream_times  # noqa: E402
from hpcbench.node.frameworks.pytorch.profiler.listing import Key, Step  # noqa: E402
from hpcbench.node.measurement.stopping_rules import Settings  # noqa: E402

Build = Callable[..., Any]
GEMM, RELU = (Key(name, "forward", "{}") for name in ("gemm", "relu"))
SETTINGS = Settings(precision=1e-9, min_measurements=7, min_time_s=0.0, max_time_s=0.05, max_warmup_s=0.0)


def test_the_time_is_the_mean_of_the_middle_half_of_the_steps() -> None:
    steps = [(1.0, 3.0, 0.5), (90.0, 1.0, 0.5), (2.0, 2.0, 0.5), (0.1, 0.1, 0.1)]  # sums 4.5, 91.5, 4.5, 0.3
    found = stream_times([GEMM, GEMM, RELU], steps)
    assert found == {GEMM: StreamTime(2.0), RELU: StreamTime(0.5)}


def test_times_add_up_although_their_medians_do_not() -> None:
    """One of three operators is interrupted in each step: the median of each is 1, but a step takes 3 + 6."""
    steps = [[7.0 if number % 3 == place else 1.0 for place in range(3)] for number in range(24)]
    keys = [Key(str(place), "forward", "{}") for place in range(3)]
    assert sum(each.stream_s for each in stream_times(keys, steps).values()) == pytest.approx(9.0)


@pytest.mark.parametrize("correlation", [1.0, 0.7])
def test_the_ci_contains_the_mean_of_normal_noise_in_95_percent_of_profiles(correlation: float) -> None:
    """One operator is the whole sum, or has a part of it; 400 profiles of 70 steps, seeded."""
    noise = random.Random(1)
    hits = 0
    for _ in range(400):
        steps = []
        for _ in range(70):
            shared = noise.gauss(10.0, 1.0)
            own = correlation * (shared - 10.0) + math.sqrt(1 - correlation**2) * noise.gauss(0.0, 1.0)
            steps.append((10.0 + own, shared - own))
        found = stream_times([GEMM, RELU], steps)[GEMM]
        hits += found.stream_low_s <= 10.0 <= found.stream_high_s
    assert 368 <= hits <= 392


def test_steps_that_take_equally_long_have_a_ci_without_width() -> None:
    assert stream_times([GEMM], [[2.0]] * 28)[GEMM] == StreamTime(2.0, 2.0, 2.0)
    assert stream_times([GEMM], [[2.0]] * 8)[GEMM] == StreamTime(2.0)  # too few for a CI


def test_whole_steps_do_not_choose_the_steps_of_operators_by_a_fake_of_their_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shortest whole step comes with the longest operator: both have the mean of their own middle half."""
    steps_s, whole_s = itertools.cycle([1.0, 2.0, 3.0, 40.0]), itertools.cycle([100.0, 50.0, 40.0, 1.0])
    timer = SimpleNamespace(keys=[GEMM], once=lambda: [next(steps_s)])
    monkeypatch.setattr(in_stream, "_WARMUP_STEPS", 0)
    monkeypatch.setattr(in_stream, "StreamTimer", lambda step: timer)
    monkeypatch.setattr(in_stream, "_seconds", lambda run: next(whole_s))
    rule = SimpleNamespace(reason=lambda times_s, elapsed_s: len(times_s) == 8)
    monkeypatch.setattr(in_stream, "Stopping", lambda settings: rule)
    nothing = Step(lambda: None, frozenset)
    found = in_stream.streamed(nothing, nothing, SETTINGS)
    assert found == {GEMM: StreamTime(2.5), in_stream.WHOLE: StreamTime(45.0)}


@pytest.mark.parametrize("model", ["mlp", "lstm", "transformer", "gpt"])
@pytest.mark.parametrize("task", ["inference", "training"])
def test_operators_in_the_stream_are_those_of_the_list(build: Build, model: str, task: str) -> None:
    network = build(model, task=task)
    timer = StreamTimer(step.step_of(step.observable(network)))
    assert Counter(timer.keys) == {each.key: each.calls for each in step.operators(network, [])}
    times_s = timer.once()
    assert times_s is not None
    assert len(times_s) == len(timer.keys)
    assert min(times_s) > 0


def test_only_the_call_itself_is_between_two_readings_of_the_timer() -> None:
    """With a timer that counts its readings, each call takes one unit, whatever happens between calls."""
    readings = itertools.count()
    ones = torch.ones(4)
    timer = StreamTimer(
        Step(lambda: (ones + 1).relu().reshape(2, 2).t() @ torch.eye(2), frozenset), lambda: next(readings)
    )
    assert timer.once() == [1.0] * len(timer.keys)


def test_steps_with_other_operators_have_no_times() -> None:
    numbers = itertools.count()

    def varying() -> Any:
        ones = torch.ones(2)
        return ones.relu() if next(numbers) % 2 else ones.exp()

    timer = StreamTimer(Step(varying, frozenset))
    assert timer.once() is None  # exp instead of relu
    assert timer.once() is not None
    never = Step(lambda: [torch.ones(2).relu() for _ in range(next(numbers))], frozenset)
    assert in_stream.streamed(never, never, SETTINGS) == {}


def test_all_operators_of_a_step_are_streamed(build: Build) -> None:
    network = build("mlp", task="training")
    found = in_stream.streamed(step.step_of(step.observable(network)), step.step_of(network), SETTINGS)
    whole = found.pop(in_stream.WHOLE)
    assert whole.stream_s > 0
    assert set(found) == {each.key for each in step.operators(network, [])}
    assert min(each.stream_s for each in found.values()) > 0
