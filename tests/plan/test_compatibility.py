"""Settings that do not fit the framework of a case, or threads that have no CPUs, are refused when it is planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.frameworks import FRAMEWORKS, SETTINGS, runtime_settings
from hpcbench.errors import UserError
from hpcbench.models.source import ONNX_FRAMEWORKS

MODELS = """\
  cpus_per_task: 2
  task: time_to_accuracy
  target_accuracy: 0.9
  data: {npz: digits.npz}
"""
COMPILED = "  execution: compiled\n"


@pytest.fixture
def refused(plan: Callable[..., Any]) -> Callable[[str], UserError]:
    def error(text: str) -> UserError:
        with pytest.raises(UserError) as caught:
            plan(text)
        return caught.value

    return error


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        (
            "  intra_op_threads: 2\n",
            5,
            "parameters.intra_op_threads",
            "intra_op_threads is 2: this exceeds cpus_per_task, 1",
        ),
        ("  cpus_per_task: 4\n  inter_op_threads: 5\n", 6, "parameters.inter_op_threads", "inter_op_threads is 5"),
        ("matrix:\n  intra_op_threads: [1, 2]\n", 6, "matrix.intra_op_threads", "intra_op_threads is 2"),
        ("  instances: 2\n", 5, "parameters.instances", "2 instances: this exceeds cpus_per_task, 1"),
        (
            "  cpus_per_task: 4\n  instances: 2\n  intra_op_threads: 3\n",
            7,
            "parameters.intra_op_threads",
            "2 instances, and intra_op_threads is 3: this exceeds cpus_per_task, 4",
        ),
        (
            "  compile_mode: max-autotune\n",
            5,
            "parameters.compile_mode",
            "'compile_mode' requires execution: compiled, not eager",
        ),
        (
            "  cpus_per_task: 2\n  tasks_per_node: 2\n  strategy: ddp\n  instances: 2\n",
            8,
            "parameters.instances",
            "'instances' cannot be used with strategy: ddp",
        ),
        (
            "  cpus_per_task: 2\n  instances: 2\n  device: gpu\n",
            6,
            "parameters.instances",
            "'instances' cannot be used with device: gpu",
        ),
        (
            MODELS + "  instances: 2\n  nodes: 2\n",
            9,
            "parameters.instances",
            "'instances' requires one task, not 2",
        ),
    ],
)
def test_what_does_not_fit_is_refused_at_its_file_line_and_key(
    refused: Callable[[str], UserError], text: str, line: int, key: str, words: str
) -> None:
    error = refused(text)
    assert words in str(error)
    assert error.where == f"study.yaml:{line}: {key}"


def test_too_many_threads_come_with_what_to_do(refused: Callable[[str], UserError]) -> None:
    hint = refused("  cpus_per_task: 4\n  instances: 3\n  intra_op_threads: 2\n").hint
    assert "cpus_per_task: 6 (--set cpus_per_task=6)" in hint
    assert "oversubscribe: true" in hint


@pytest.mark.parametrize(
    "text",
    [
        "  cpus_per_task: 2\n  intra_op_threads: 2\n  inter_op_threads: 2\n",  # they are not multiplied
        "  cpus_per_task: 4\n  instances: 2\n  intra_op_threads: 2\n",
        "  intra_op_threads: 64\n  inter_op_threads: 8\n  oversubscribe: true\n",
        "  instances: 3\n  oversubscribe: true\n",
        MODELS + "  instances: 2\n",
        COMPILED + "  compile_mode: reduce-overhead\n",
    ],
)
def test_what_fits_is_planned(plan: Callable[..., Any], text: str) -> None:
    (case,) = plan(text).cases
    assert case.parameters.framework == "pytorch"


VALUES = {
    "openmp": "llvm",
    "wait_policy": "active",
    "allocator": "jemalloc",
    "flush_denormals": "false",
    "onednn": "true",
    "compile_mode": "default",
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_setting_is_planned_where_the_framework_has_it_and_refused_where_not(
    plan: Callable[..., Any], refused: Callable[[str], UserError], framework: str
) -> None:
    assert set(VALUES) == {each.name for each in SETTINGS if each.frameworks is not None}
    kind, model = FRAMEWORKS[framework], "onnx:net.onnx" if framework in ONNX_FRAMEWORKS else "mlp"
    for name, value in VALUES.items():
        text = f"matrix:\n  framework: [{framework}]\n  model: [{model}]\n"
        text += f"  execution: [{kind.executions[-1]}]\n  {name}: [{value}]\n"
        if name in runtime_settings(framework):
            (case,) = plan(text).cases
            assert getattr(case.parameters, name) is not None
        else:
            words = f"{framework} has no '{name}'; it has: {', '.join(runtime_settings(framework))}"
            assert words in str(refused(text))


@pytest.mark.parametrize("name", [*VALUES, "affinity", "instances"])
def test_a_command_has_none_of_them(refused: Callable[[str], UserError], name: str) -> None:
    value = {**VALUES, "affinity": "compact", "instances": 2}[name]
    text = f"  cpus_per_task: 2\ninclude:\n- {{framework: command, model: null, command: ./bench, {name}: {value}}}\n"
    assert "command" in str(refused(text))


def test_settings_that_are_left_at_their_defaults_change_no_id(plan: Callable[..., Any]) -> None:
    plain = "  instances: 1\n  affinity: null\n  openmp: null\n  onednn: null\n  oversubscribe: false\n"
    assert [case.id for case in plan(plain).cases] == [case.id for case in plan().cases]
    assert [case.id for case in plan("  onednn: false\n").cases] != [case.id for case in plan().cases]
