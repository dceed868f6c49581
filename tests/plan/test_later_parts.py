"""The warning at planning that what follows the measurement may not end within the time limit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.plan.plan import Plan

Planned = Callable[..., Plan]
LIMIT = "slurm: {time: '00:01:00'}\n"
SHORT = "max_time_s: 2, max_warmup_s: 1, min_time_s: 1"
TRAINING = "  task: training\n"


def test_a_profile_that_may_exceed_the_time_limit_has_a_warning(plan: Planned) -> None:
    (warning,) = plan("measure: {max_time_s: 10, profile: {power: off}}\n" + LIMIT).warnings
    expected = "a run may take 120 s (measurement 20 s, profile 100 s), but the time limit per run is 60 s"
    assert warning == f"{expected}; to raise it: --set slurm.time=00:05:00"
    assert not plan("measure: {max_time_s: 3, max_warmup_s: 2, profile: {power: off}}\n" + LIMIT).warnings
    (warning,) = plan("measure: {max_time_s: 5, max_warmup_s: 2, profile: {power: 20}}\n" + LIMIT).warnings
    assert "44 s more on nodes with a power sensor" in warning


def test_a_validation_alone_can_exceed_the_time_limit(plan: Planned) -> None:
    (warning,) = plan(f"  validate: true\nmeasure: {{{SHORT}}}\n{LIMIT}").warnings
    assert "a run may take 63 s (measurement 3 s, validation 60 s), but the time limit per run is 60 s" in warning
    assert not plan(f"  validate: true\nmeasure: {{{SHORT}}}\nslurm: {{time: '00:02:00'}}\n").warnings
    assert not plan(f"measure: {{{SHORT}}}\n{LIMIT}").warnings
    parallel = "  validate: true\n  strategy: ddp\n  tasks_per_node: 2\n"
    assert not plan(f"{parallel}measure: {{{SHORT}}}\n{LIMIT}").warnings, "it is not validated"


def test_a_second_training_has_the_slowest_steps_that_fit_into_the_measurement(plan: Planned) -> None:
    measure = f"measure: {{{SHORT}, min_measurements: 4, trajectory: {{steps: 200}}}}\n"
    (warning,) = plan(f"{TRAINING}{measure}{LIMIT}").warnings
    assert "a run may take 103 s (measurement 3 s, second training 100 s)" in warning
    assert not plan(f"{TRAINING}{measure.replace('200', '100')}{LIMIT}").warnings


@pytest.mark.parametrize(("steps", "limit"), [(593, "00:05:00"), (595, "00:10:00"), (10_000, "01:25:00")])
def test_the_hint_has_the_next_time_limit_of_whole_five_minutes(plan: Planned, steps: int, limit: str) -> None:
    measure = f"measure: {{{SHORT}, min_measurements: 4, trajectory: {{steps: {steps}}}}}\n"
    (warning,) = plan(f"{TRAINING}{measure}{LIMIT}").warnings
    assert warning.endswith(f"; to raise it: --set slurm.time={limit}")


def test_all_parts_are_counted_together(plan: Planned) -> None:
    measure = f"measure: {{{SHORT}, trajectory: {{steps: 100}}, profile: {{power: off}}}}\n"
    text = f"{TRAINING}  validate: true\n{measure}"
    (warning,) = plan(text + "slurm: {time: '00:01:42'}\n").warnings
    assert "103 s (measurement 3 s, validation 60 s, second training 20 s, profile 20 s)" in warning
    assert not plan(text + "slurm: {time: '00:01:43'}\n").warnings


@pytest.mark.parametrize("order", [("inference", "training"), ("training", "inference")])
def test_of_several_cases_the_one_with_most_excess_is_named(plan: Planned, order: tuple[str, str]) -> None:
    measure = f"measure: {{{SHORT}, trajectory: {{steps: 500}}}}\n"
    (warning,) = plan(f"  validate: true\nmatrix:\n  task: [{', '.join(order)}]\n{measure}{LIMIT}").warnings
    assert "a run may take 163 s (measurement 3 s, validation 60 s, second training 100 s)" in warning


def test_a_model_of_a_library_takes_longer_to_validate(plan: Planned) -> None:
    text = f"  validate: true\nmeasure: {{{SHORT}}}\n{LIMIT}"
    (warning,) = plan(text, "model=torchvision/resnet18", "input={shape: [3, 64, 64]}").warnings
    assert "validation 240 s" in warning
