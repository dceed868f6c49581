"""Cases that run any program: the template over parameters and user parameters, and what means nothing to a command."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hpcbench.config.experiment import load_experiment
from hpcbench.config.expressions import Resolver
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.yaml_document import Document, parse_yaml
from hpcbench.errors import UserError
from hpcbench.plan.case import Case, expand

START = "name: study\nparameters:\n  framework: command\n"


def document(text: str) -> Document:
    return parse_yaml(START + text, "study.yaml")


def cases(text: str) -> list[Case]:
    """The cases of an experiment with a good start of three lines, the text added from line 4 on."""
    read = document(text)
    return list(expand(load_experiment(read), read, SlurmOptions()).cases)


def test_the_template_sees_parameters_and_tags_of_each_point() -> None:
    made = cases(
        '  command: "./bench --size {{ batch_size }} {{ flags }} on {{ device }}"\n'
        '  flags: "--seed {{ seed }}"\nuser_parameters: [flags]\nmatrix: {batch_size: [1, 2]}'
    )
    assert [case.parameters.command for case in made] == [f"./bench --size {size} --seed 0 on cpu" for size in (1, 2)]
    assert len({case.id for case in made}) == 2


def test_several_lines_are_one_command() -> None:
    (case,) = cases("  command: |\n    cd build\n    ./bench {{ seed }}\n")
    assert case.parameters.command == "cd build\n./bench 0"


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=50)


@given(WORDS.filter(lambda text: "{{" not in text and "{%" not in text))  # that would be an expression
@example("{ }} {# c #}")
def test_quote_makes_one_word_for_a_shell_of_whatever_there_is(value: str) -> None:
    line = Resolver({"value": {"of": value}, "it": "./bench {{ value.of | quote }} end"}).parameter("it")
    assert shlex.split(line) == ["./bench", value, "end"]


def test_quote_takes_numbers() -> None:
    assert Resolver({"nodes": 4, "it": "{{ nodes | quote }}"}).parameter("it") == "4"


def test_parameters_that_nobody_gave_to_a_command_are_null_in_the_plan() -> None:
    (case,) = cases(
        '  command: "./bench {{ flags }}"\n  dtype: bfloat16\n  flags: "-b {{ batch_size }}"\nuser_parameters: [flags]'
    )
    planned = case.parameters.planned()
    assert (planned["dtype"], planned["batch_size"]) == ("bfloat16", 32), "given, and seen through another expression"
    assert {planned[name] for name in ("task", "model", "strategy", "seed", "execution")} == {None}
    assert (planned["nodes"], planned["cpus_per_task"], planned["device"]) == (1, 1, "cpu")


def test_a_command_runs_in_the_environment_that_is_called_so_unless_another_is_named() -> None:
    assert cases("  command: ./bench")[0].environment == "command"
    assert cases("  command: ./bench\n  environment: mpi")[0].environment == "mpi"


def test_the_environment_that_it_has_anyway_does_not_change_the_id() -> None:
    assert cases("  command: a")[0].id == cases("  command: a\n  environment: command")[0].id


def test_a_command_may_have_several_tasks() -> None:
    (case,) = cases("  command: ./bench\n  nodes: 2\n  tasks_per_node: 4")
    assert case.parameters.tasks == 8


def test_a_point_of_a_network_and_one_of_a_command_stand_in_one_experiment() -> None:
    text = (
        "  command: ./bench\ninclude:\n- {}\n- {framework: pytorch, command: null, model: mlp}\nmetrics: {m: {csv: a}}"
    )
    assert [case.parameters.framework for case in cases(text)] == ["command", "pytorch"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  nodes: 2", "study.yaml:2: parameters: 'command' is missing\n  add one, e.g. `command: ./bench"),
        ("  command: ''", "study.yaml:2: parameters: 'command' is missing\n  add one, e.g. `command: ./bench"),
        ("  command: [a]", "study.yaml:4: parameters.command: ['a'] is not valid"),
        ("  command: a\n  model: mlp", "'model' cannot be used with framework: command"),
        ("  command: a\n  model_options: {layers: 2}", "'model_options' cannot be used with framework: command"),
        ("  command: a\n  execution: graph", "'execution' cannot be used with framework: command"),
        ("  command: a\n  strategy: ddp", "strategy: ddp cannot be used with framework: command"),
        ("  command: '{{ sise }}'", "study.yaml:4: parameters.command: 'sise' is not defined"),
        ("  command: '{{ x | qoute }}'", "study.yaml:4: parameters.command: "),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        cases(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  model: mlp\n  command: a", "'command' requires framework: command, not pytorch"),
        ("  task: inference", "'model' is missing: pytorch requires one of mlp, "),
        (
            "  model: mlp\nmetrics:\n  m: {csv: a}",
            "study.yaml:5: metrics: 'metrics' requires framework: command",
        ),
        ("  model: mlp\nexpect: [a]", "study.yaml:5: expect: 'expect' requires framework: command"),
    ],
)
def test_what_is_for_commands_is_refused_elsewhere(text: str, message: str) -> None:
    read = parse_yaml(START.replace("command", "pytorch") + text, "study.yaml")
    with pytest.raises(UserError) as caught:
        expand(load_experiment(read), read, SlurmOptions())
    assert message in str(caught.value)
