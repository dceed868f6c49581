"""Only networks of PyTorch in one process have a profile; other cases are refused, or left out if asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan
from hpcbench.plan.profiled_cases import Estimate, estimate

Planned = Callable[..., Plan]
PROFILE = "measure: {profile: {}}\n"
TASKS, SINGLE = "use task: inference or training", "use strategy: single with one task and one instance"
SKIP = "measure: {profile: {unsupported: skip}}\n"


def test_without_a_profile_all_cases_are_planned(plan: Planned) -> None:
    planned = plan("matrix:\n  framework: [pytorch, jax]\n")
    assert len(planned.cases) == 2
    assert planned.experiment.measure.profile is None
    assert estimate(planned.experiment.measure) is None


def test_the_setting_reaches_the_node_and_does_not_change_the_case(plan: Planned) -> None:
    (case,) = plan("measure: {profile: {power: 7}}\n").cases
    measure = plan(PROFILE).experiment.measure.model_dump()
    assert measure["profile"] == {"power": "auto", "clocks": None, "unsupported": "refuse"}
    assert case.planned_run(1, 0, measure).measure["profile"]["power"] == "auto"
    assert case.id == plan().cases[0].id


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("  framework: jax\n", "framework: jax is not supported, only pytorch", "use framework: pytorch"),
        (
            "  task: time_to_accuracy\n  target_accuracy: 0.9\n  data: {npz: d.npz}\n",
            "task: time_to_accuracy is not",
            TASKS,
        ),
        ("  strategy: ddp\n  tasks_per_node: 2\n", "it runs in several processes", SINGLE),
        ("  strategy: ddp\n", "it runs in several processes", SINGLE),
        ("  instances: 2\n  cpus_per_task: 2\n", "it runs in several processes", SINGLE),
        (
            "  threads: dynamic\n  cpus_per_task: 2\n",
            "threads: dynamic is not supported",
            "use threads: fixed",
        ),
    ],
)
def test_a_case_that_cannot_be_profiled_is_refused_by_name(plan: Planned, text: str, reason: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        plan(text.replace("  framework: jax\n", "matrix:\n  framework: [jax]\n") + PROFILE)
    assert "case c" in caught.value.what
    assert reason in caught.value.what
    assert caught.value.hint == hint
    assert "measure.profile" in caught.value.where


def test_among_several_cases_the_first_that_cannot_be_profiled_is_named_with_its_axes(plan: Planned) -> None:
    with pytest.raises(UserError, match=r"case c\w+ \(framework=jax\) cannot be profiled") as caught:
        plan("matrix:\n  framework: [pytorch, jax]\n" + PROFILE)
    assert "--set measure.profile.unsupported=skip" in caught.value.hint


def test_if_skipped_other_cases_are_left_out_with_the_reason(plan: Planned) -> None:
    planned = plan("matrix:\n  framework: [jax, pytorch, tensorflow]\n  batch_size: [1, 2, 3, 4, 5, 6]\n" + SKIP)
    assert {case.parameters.framework for case in planned.cases} == {"pytorch"}
    assert [case.index for case in planned.cases] == list(range(6))
    jax, tensorflow = (text for text in planned.warnings if "left out" in text)
    assert jax.startswith("6 cases cannot be profiled and are left out: c")
    assert "(framework=jax, batch_size=5) and 1 more: framework: jax is not supported, only pytorch" in jax
    assert "framework: tensorflow" in tensorflow


def test_if_no_case_is_left_the_experiment_is_refused(plan: Planned) -> None:
    with pytest.raises(UserError, match=r"^'study' has no case that can be profiled: case c\w+ \(framework=jax\): "):
        plan("matrix:\n  framework: [jax, tensorflow]\n" + SKIP)


@pytest.mark.parametrize(
    ("power", "kept"), [("auto", "auto"), ("off", "off"), ("'off'", "off"), ("false", "off"), ("5", 5)]
)
def test_power_is_a_word_or_a_number(plan: Planned, power: str, kept: Any) -> None:
    profile = plan(f"measure: {{profile: {{power: {power}}}}}\n").experiment.measure.profile
    assert profile is not None
    assert profile.power == kept


@pytest.mark.parametrize("power", ["0", "-1", "on", "1.5", "sometimes"])
def test_other_power_is_refused(plan: Planned, power: str) -> None:
    with pytest.raises(UserError, match="should be auto, off, or a number of operators, 1 or more"):
        plan(f"measure: {{profile: {{power: {power}}}}}\n")


def test_the_estimate_is_from_the_settings(plan: Planned) -> None:
    settings = "max_warmup_s: 2, max_time_s: 3, min_time_s: 1"
    measure = plan(f"measure: {{{settings}, profile: {{power: 10}}}}\n").experiment.measure
    assert estimate(measure) == Estimate(
        timing_s=2 + 3 * 11, power_s=24
    )  # of 10 operators, the network and the idle device
