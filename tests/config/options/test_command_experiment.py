"""The experiment of a program on the command line."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hpcbench.config.experiment import load_experiment
from hpcbench.config.expressions import Resolver
from hpcbench.config.options.command_experiment import Invocation, command_of, document_of, name_of
from hpcbench.config.options.parameter_values import axis_of
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.errors import UserError


def invocation(*program: str, axes: dict[str, Any] | None = None, **more: Any) -> Invocation:
    return Invocation(program, axes or {}, more.pop("constants", {}), more.pop("metrics", {}), **more)


def resolved(command: str, **values: Any) -> str:
    return str(Resolver({**values, "command": command}).parameter("command"))


@pytest.mark.parametrize(
    ("program", "values", "words"),
    [
        (["train", "--bs", "{bs}"], {"bs": 32}, ["train", "--bs", "32"]),
        (["train", "--bs={bs}x{n}"], {"bs": 32, "n": "a b"}, ["train", "--bs=32xa b"]),
        (["train", "a b", "", "it's"], {}, ["train", "a b", "", "it's"]),
        (["awk", "{print}", "{{x}}", "{%x%}", "{#x#}"], {}, ["awk", "{print}", "{{x}}", "{%x%}", "{#x#}"]),
        (["awk", "{max}{in}"], {}, ["awk", "{max}{in}"]),
        (["train", '{"a": {"b": {bs}}}'], {"bs": 1}, ["train", '{"a": {"b": 1}}']),
        (["train", "{{bs}}"], {"bs": 1}, ["train", "{1}"]),
        (["train", "${bs} {bs}"], {"bs": 1}, ["train", "${bs} 1"]),
        (["bash", "-c", "echo ${threads}"], {}, ["bash", "-c", "echo ${threads}"]),
        (["train", "$HOME", "`ls`", "a;b"], {}, ["train", "$HOME", "`ls`", "a;b"]),
    ],
)
def test_each_argument_remains_one_word(program: list[str], values: dict[str, Any], words: list[str]) -> None:
    command, used = command_of(program, values)
    assert used == set(values)
    assert shlex.split(resolved(command, **values)) == words


def test_a_single_argument_with_spaces_is_a_line_of_bash() -> None:
    command, _ = command_of(["echo {n} $((1 + 1)) | cat"], ["n"])
    done = subprocess.run(["bash", "-c", resolved(command, n="a  b")], capture_output=True, text=True, check=True)
    assert done.stdout == "a  b 2\n"


@pytest.mark.parametrize("line", ['echo "{p}"', "echo '--a={p}'", """echo \\" 'x' "it's" "{p}\"""", 'echo "a\\"{p}"'])
def test_a_value_that_needs_quotes_is_refused_within_quotes(line: str) -> None:
    with pytest.raises(UserError) as caught:
        document_of(invocation(line, axes={"p": [1, "a b"]}))
    assert caught.value.what == "'{p}' is inside quotes, but its value 'a b' must be quoted itself"
    assert document_of(invocation(line, axes={"p": [1, "plain"]}))


@pytest.mark.parametrize(
    "line",
    ['x="$(echo {p})"; echo "$x"', 'echo "$(echo "$((1+1))" >&2; echo {p})"', """bash -c 'echo "$1"' _ {p}"""],
)
@pytest.mark.parametrize("value", ["a  b", '"$HOME"', "it's"])
def test_a_value_may_need_quotes_in_a_command_substitution(line: str, value: str) -> None:
    command = document_of(invocation(line, axes={"p": [value]})).data["parameters"]["command"]
    run = ["bash", "-c", resolved(command, p=value)]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == f"{value}\n"


@pytest.mark.parametrize(
    "line",
    [
        'echo "$(date) {p}"',
        'echo "$(basename $(pwd)) {p}"',
        'echo "$((2*3)) {p}"',
        'x=$(echo "{p}"); echo "$x"',
        'bash -c "echo {p}"',
        "bash -c 'echo {p}'",
        'grep -c "{p}" file',
        'echo "`echo {p}`"',
    ],
)
def test_a_value_inside_quotes_of_an_inner_shell_is_refused(line: str) -> None:
    with pytest.raises(UserError, match="inside quotes"):
        document_of(invocation(line, axes={"p": ["a b"]}))


def test_an_expression_within_quotes_is_not_its_value() -> None:
    assert document_of(invocation('echo {a} "{n}"', axes={"a": [1, 2], "n": ["{{ a * 2 }}"]}))


@pytest.mark.parametrize("line", ["echo {p}", "echo 'x'{p}\"y\"", "echo it\\'s {p}", "echo \"it's\" {p} 'x'"])
def test_a_value_outside_quotes_may_need_quotes(line: str) -> None:
    command = document_of(invocation(line, axes={"p": ["a b"]})).data["parameters"]["command"]
    assert "a b" in " ".join(shlex.split(resolved(command, p="a b")))


@example(["{%\r", "\r\n", "{\r", "{\r}}"])
@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters="\0")), min_size=1, max_size=4))
def test_any_argument_reaches_the_program_unchanged(texts: list[str]) -> None:
    command, _ = command_of(["printf", "%s\\n", *texts], [])
    assert shlex.split(resolved(command)) == ["printf", "%s\\n", *texts]


def test_an_experiment_has_what_was_asked_for_and_can_be_written_and_read() -> None:
    asked = invocation(
        *("python", "src/train-net.py", "--bs", "{batch_size}", "-w{workers}", "{mode}"),
        axes={"batch_size": [32, 64], "workers": {"range": [1, 3]}, "mode": ["fast"]},
        constants={"nodes": 2, "environment": "pytorch"},
        metrics={"rate": {"regex": "r=([0-9]+)", "reduce": "last", "better": "higher"}},
        repetitions=3,
    )
    document = document_of(asked)
    assert parse_yaml(document.text, "saved.yaml").data == document.data
    experiment = load_experiment(document)
    assert (experiment.name, experiment.measure.repetitions) == ("train-net", 3)
    assert experiment.all_user_parameters == ("workers", "mode")
    assert experiment.same_workload == ["workers"]  # values of a parameter are ranked together
    assert experiment.axis_names == ["batch_size", "workers"]
    assert {"nodes": 2, "environment": "pytorch", "mode": "fast"}.items() <= experiment.parameters.items()
    assert experiment.metrics["rate"].better == "higher"


def test_a_dotted_name_in_braces_is_the_parameter_of_this_name() -> None:
    hydra = invocation("train", "optimizer.lr={optimizer.lr}", "{x.y}", axes=dict([axis_of("optimizer.lr=0.1,0.2")]))
    document = document_of(hydra)
    assert document.data["parameters"]["command"] == "train optimizer.lr={{ optimizer_lr | quote }} '{x.y}'"
    assert document.data["matrix"] == {"optimizer_lr": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("program", "axes", "message"),
    [
        (["train"], {"bs": [1]}, "the command does not use 'bs'"),
        (["train"], {"batch_size": [1]}, "the command does not use 'batch_size'"),
        (["train", "{batch_size}"], {}, "the command uses {batch_size}, which has no value"),
        (["train", "{lengths} {length}"], {"length": [1]}, "the command uses {lengths}, which is not a parameter"),
        (["train", "{model}"], {"model": ["a"]}, "hpcbench reserves the name 'model'"),
        (["train", "{threads}"], {}, "hpcbench reserves the name 'threads'"),
        (["train"], {"command": ["ls"]}, "hpcbench reserves the name 'command'"),
        (["train", "{max}"], {"max": [1, 2]}, "'max' has a meaning in expressions, so it cannot be a parameter"),
        (["train", "{in}"], {"in": ["a"]}, "'in' has a meaning in expressions, so it cannot be a parameter"),
    ],
)
def test_parameters_that_do_not_reach_the_program_are_refused(
    program: list[str], axes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        document_of(invocation(*program, axes=axes))
    assert caught.value.what == message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "values", "what", "first"),
    [
        ("device", ["cpu", "tpu"], "'tpu' is not valid: should be 'cpu' or 'gpu'", "did you mean 'gpu'?\n"),
        ("batch_size", [8, "abc"], "'abc' is not valid: should be a valid integer", ""),
        ("seed", ["x"], "'x' is not valid: should be a valid integer", ""),
        ("batch_size", {"range": [0, 4]}, "0 is not valid: should be greater than or equal to 1", ""),
    ],
)
def test_a_value_that_hpcbench_refuses_may_be_of_a_parameter_of_the_program(
    name: str, values: Any, what: str, first: str
) -> None:
    with pytest.raises(UserError) as caught:
        document_of(invocation("train", f"{{{name}}}", axes={name: values}))
    other = f"use another name, e.g. -P my_{name}=... and {{my_{name}}} in the command"
    hint = f"{first}'{name}' is a parameter of hpcbench; for one of your program, {other}"
    assert (caught.value.what, caught.value.hint) == (what, hint)
    assert caught.value.where.startswith(f"-P {name}: ")


def test_a_value_that_other_parameters_allow_is_not_refused() -> None:
    assert document_of(invocation("train", axes={"device": ["gpu", "cpu"]})).data["matrix"] == {
        "device": ["gpu", "cpu"]
    }


def test_resources_take_effect_without_being_in_the_command() -> None:
    axes = {"nodes": [1, 2], "cpus_per_task": [1], "environment": ["a", "b"], "intra_op_threads": [1, 2]}
    assert load_experiment(document_of(invocation("train", "{gpus_per_task}", axes=axes))).matrix.keys() == {
        *("nodes", "environment", "intra_op_threads")
    }


def test_an_error_in_a_value_names_the_option() -> None:
    document = document_of(invocation("train", "{n}", axes={"n": {"range": [3, 1]}}))
    with pytest.raises(UserError) as caught:
        load_experiment(document)
    assert "-P n" in caught.value.where


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (["python", "train.py"], "train"),
        (["torchrun", "--nproc", "2", "a/b.c.py", "x.py"], "b-c"),
        (["/usr/bin/true"], "true"),
        (["python train.py | tee x"], "train"),
        (["./_"], "command"),
        (["ls -l"], "ls"),
        (["julia", "../x/solve.jl"], "solve"),
    ],
)
def test_the_experiment_is_named_after_the_program(program: list[str], name: str) -> None:
    assert name_of(program) == name
