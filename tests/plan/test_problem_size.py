"""Which cases are compared by size where an experiment is skip_larger_on_oom in something, and which never are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan
from hpcbench.plan.problem_size import Size

MakePlan = Callable[..., Plan]
COMMAND = ("framework=command", "model=null")


@pytest.fixture
def sizes(plan: MakePlan) -> Callable[..., list[Size | None]]:
    return lambda *given: [case.size for case in plan(*given).cases]


def groups(sizes: list[Size | None]) -> list[str]:
    return [size.group for size in sizes if size is not None]


def test_an_experiment_that_says_nothing_compares_nothing(sizes: Callable[..., list[Size | None]]) -> None:
    assert sizes("matrix: {batch_size: [1, 2]}") == [None, None]


def test_cases_that_differ_in_the_named_values_alone_are_a_group(sizes: Callable[..., list[Size | None]]) -> None:
    found = sizes("matrix: {seed: [1, 2], batch_size: [8, 16]}\nskip_larger_on_oom: [batch_size]")
    assert [size and size.values for size in found] == 2 * [{"batch_size": 8}, {"batch_size": 16}]
    first, second, third, fourth = groups(found)
    assert (first == second, third == fourth, first == third) == (True, True, False)
    assert len(first) == 16


@pytest.mark.parametrize(
    "follows",
    [
        "  nodes: '{{ batch_size }}'\n  strategy: ddp",
        "  optimizer.learning_rate: '{{ batch_size / 1000 }}'",
        "  model_options: {hidden_size: '{{ batch_size }}'}",
        "  note: '{{ batch_size }}'\nuser_parameters: [note]",
        "slurm: {mem: '{{ batch_size }}G'}",
        "slurm: {options: {mem-bind: '{{ batch_size }}'}}",
    ],
)
def test_what_follows_from_a_value_keeps_cases_apart_and_the_plan_says_so(plan: MakePlan, follows: str) -> None:
    """Whether more of it needs more memory, or gives more, is not known."""
    made = plan(f"{follows}\nmatrix: {{batch_size: [1, 2]}}\nskip_larger_on_oom: [batch_size]")
    assert len({case.size.group for case in made.cases if case.size}) == 2
    (warning,) = made.warnings
    what = "no two cases differ only in batch_size, so no case can be skipped; also name what depends on it"
    assert warning == f"skip_larger_on_oom: {what}"


@pytest.mark.parametrize(
    "follows",
    [
        ("  optimizer.learning_rate: '{{ batch_size / 1000 }}'", "optimizer.learning_rate"),
        ("  model_options: {hidden_size: '{{ batch_size }}'}", "model_options.hidden_size"),
        ("  note: '{{ batch_size }}'\nuser_parameters: [note]", "note"),
        ("slurm: {time: '{{ batch_size }}', max_running: '{{ batch_size }}'}", "batch_size"),
    ],
)
def test_what_follows_and_is_named_as_well_or_is_no_memory_does_not(plan: MakePlan, follows: tuple[str, str]) -> None:
    text, name = follows
    names = ", ".join(dict.fromkeys(["batch_size", name]))
    made = plan(f"{text}\nmatrix: {{batch_size: [1, 2]}}\nskip_larger_on_oom: [{names}]")
    assert len({case.size.group for case in made.cases if case.size}) == 1
    assert made.warnings == ()


def test_options_of_a_model_are_known_by_their_defaults_too(sizes: Callable[..., list[Size | None]]) -> None:
    axis = "matrix: {model_options: [{}, {layers: 3}, {layers: 3, hidden_size: 64}]}"
    one, other, third = sizes(f"{axis}\nskip_larger_on_oom: [model_options.layers]")
    assert one is not None
    assert other is not None
    assert one.values["model_options.layers"] < other.values["model_options.layers"] == 3
    assert one.group == other.group != (third and third.group)


def test_a_command_is_compared_as_it_was_written(sizes: Callable[..., list[Size | None]]) -> None:
    text = (
        "  command: ./bench --size {{ batch_size }} --of {{ kind }}\nuser_parameters: [kind]\n"
        "matrix: {kind: [a, b], batch_size: [1, 2]}\nskip_larger_on_oom: [batch_size]"
    )
    first, second, third, fourth = groups(sizes(text, *COMMAND))
    assert (first == second, third == fourth, first == third) == (True, True, False)


def test_other_commands_are_other_groups(sizes: Callable[..., list[Size | None]]) -> None:
    commands = "['./a {{ batch_size }}', './b {{ batch_size }}']"
    text = f"matrix: {{command: {commands}, batch_size: [1, 2]}}\nskip_larger_on_oom: [batch_size]"
    first, second, third, fourth = groups(sizes(text, *COMMAND))
    assert (first == second, third == fourth, first == third) == (True, True, False)


@pytest.mark.parametrize(
    ("text", "names", "said"),
    [
        ("", "dtype", "'dtype' is 'float32'"),
        ("", "intra_op_threads", "'intra_op_threads' is None"),
        ("  note: true\nuser_parameters: [note]", "note", "'note' is True"),
        ("", "model_options.image_size", "'model_options.image_size' is None"),
    ],
)
def test_what_is_no_number_is_an_error_with_its_place(plan: MakePlan, text: str, names: str, said: str) -> None:
    given = f"{text}\nskip_larger_on_oom: [batch_size, {names}]"
    with pytest.raises(UserError) as refused:
        plan(given)
    line = 5 + given[: given.index("skip_larger_on_oom")].count("\n")
    assert refused.value.where == f"study.yaml:{line}: skip_larger_on_oom[1]"
    assert said in refused.value.what
