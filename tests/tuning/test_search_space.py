"""The cases of an experiment as settings of equal work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME
from hpcbench.config.experiment import load_experiment
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.config.yaml_document import load_yaml
from hpcbench.errors import UserError
from hpcbench.plan.case import expand
from hpcbench.tuning.objective import Objective
from hpcbench.tuning.search_space import Context, contexts

LSTM = {"framework": "pytorch", "model": "lstm", "task": "inference", "cpus_per_task": 4}


@pytest.fixture
def space(tmp_path: Path):
    def space(quantity: Any = THROUGHPUT, **sections: Any) -> list[Context]:
        file = tmp_path / "experiment.yaml"
        file.write_text(json.dumps({"name": "space", "parameters": LSTM, **sections}))
        document = load_yaml(file)
        cases = expand(load_experiment(document), document, SlurmOptions()).cases
        return contexts(cases, Objective(quantity), document)

    return space


def points(context: Context) -> list[tuple[Any, ...]]:
    return [tuple(point.values()) for point in context.points]


def test_the_default_of_a_plain_user_is_one_of_the_settings(space) -> None:
    (context,) = space(matrix={"intra_op_threads": [1, 2]})
    assert context.names == ("intra_op_threads",)
    assert points(context) == [(None,), (1,), (2,)]
    assert context.default == 0


def test_a_default_that_is_a_case_already_is_there_once(space) -> None:
    (context,) = space(matrix={"intra_op_threads": [None, 2]})
    assert points(context) == [(None,), (2,)]


def test_what_is_set_in_every_case_is_not_set_in_the_default(space) -> None:
    (context,) = space(parameters={**LSTM, "inter_op_threads": 2}, matrix={"execution": ["eager", "compiled"]})
    assert points(context) == [("eager", None), ("eager", 2), ("compiled", 2)]


def test_a_batch_size_is_a_choice_for_throughput_with_a_default_each(space) -> None:
    (context,) = space(matrix={"batch_size": [8, 64], "intra_op_threads": [2]})
    assert points(context) == [(8, None), (64, None), (8, 2), (64, 2)]
    assert context.default == 0


def test_the_default_has_the_usual_number_format_where_that_is_one_of_several(space) -> None:
    (context,) = space(matrix={"dtype": ["bfloat16", "float32"]})
    assert points(context)[context.default] == ("float32",)
    (context,) = space(parameters={**LSTM, "dtype": "bfloat16"}, matrix={"intra_op_threads": [1]})
    assert context.cases[context.default].parameters.dtype == "bfloat16"


def test_what_may_oversubscribe_is_searched_with_the_others(space) -> None:
    many = {"intra_op_threads": 8, "oversubscribe": True}
    (context,) = space(matrix={"intra_op_threads": [None, 2]}, include=[many])
    assert points(context) == [(None,), (2,), (8,)]


def test_titles_tell_kinds_of_work_apart(space) -> None:
    matrix = {"network": ["wide", "narrow"], "intra_op_threads": [1, 2]}
    options = {"model_options": {"hidden_size": "{{ {'wide': 64, 'narrow': 8}[network] }}"}}
    found = space(parameters={**LSTM, **options}, user_parameters=["network"], matrix=matrix)
    assert [each.title.partition(", ")[2] for each in found] == [
        "batch size 32, network=wide",
        "batch size 32, network=narrow",
    ]
    found = space(matrix={"model_options": [{"hidden_size": 8}, {"hidden_size": 9}], "intra_op_threads": [1, 2]})
    assert ["hidden_size" in each.title for each in found] == [True, True]
    found = space(
        parameters={**LSTM, "task": "training"}, matrix={"optimizer": ["sgd", "adam"], "intra_op_threads": [1, 2]}
    )
    assert [each.title.rpartition(", ")[2] for each in found] == ["optimizer=sgd", "optimizer=adam"]


def test_steps_of_other_batch_sizes_are_other_work(space) -> None:
    assert [points(each) for each in space(TIME, matrix={"batch_size": [8, 64], "intra_op_threads": [2]})] == [
        [(None,), (2,)],
        [(None,), (2,)],
    ]


def test_each_model_is_tuned_by_itself(space) -> None:
    found = space(matrix={"model": ["lstm", "mlp"], "intra_op_threads": [1, 2]})
    assert [each.title for each in found] == [
        "pytorch lstm inference cpu float32, batch size 32",
        "pytorch mlp inference cpu float32, batch size 32",
    ]


def test_environments_and_commands_are_settings_where_nothing_else_tells_them_apart(space) -> None:
    environments = {"environment": ["pytorch", "pytorch-nightly"]}
    (context,) = space(matrix={**environments, "intra_op_threads": [None, 2]})
    assert context.names == ("intra_op_threads", "environment")
    assert len(set(points(context))) == len(context.cases) == 4
    command = {"parameters": {"framework": "command"}, "metrics": {"rate": {"regex": "(.)"}}}
    (context,) = space(TIME, **command, matrix={"command": ["./a", "./b"], "cpus_per_task": [2]})
    assert points(context) == [("./a",), ("./b",)]
    user_parameters = {"user_parameters": ["size"], "matrix": {"size": [1, 2], "command": ["./a {{ size }}"]}}
    (context,) = space(TIME, **command, **user_parameters)
    assert points(context) == [(1,), (2,)]


def test_a_schedule_of_a_file_is_nothing_to_search(space) -> None:
    with pytest.raises(UserError, match="finds its own thread plan") as error:
        space(
            matrix={"threads": ["none", "dynamic"]},
            parameters={**LSTM, "schedule": "{{ 's' if threads == 'dynamic' else none }}"},
        )
    assert "to measure it, use hpcbench sweep" in str(error.value)


def test_cases_that_ask_for_other_resources_are_refused_with_what_to_do(space) -> None:
    with pytest.raises(UserError, match="cpus_per_task is 1 and 2") as error:
        space(matrix={"intra_op_threads": [1, 2]}, parameters={**LSTM, "cpus_per_task": "{{ intra_op_threads }}"})
    assert "--set cpus_per_task=2" in str(error.value)


def test_a_tag_that_follows_from_a_setting_makes_no_other_default(space) -> None:
    (context,) = space(
        parameters={**LSTM, "intra_op_threads": "{{ workers }}", "purpose": "a test"},
        user_parameters=["workers", "purpose"],
        matrix={"workers": [1, 2, 4]},
    )
    assert [case.parameters.intra_op_threads for case in context.cases] == [None, 1, 2, 4]
    assert dict(context.cases[context.default].user_parameters) == {"workers": None, "purpose": "a test"}
    assert context.values(context.cases[context.default])["workers"] is None


def test_a_tag_that_changes_nothing_is_not_told_as_if_it_were_chosen(space) -> None:
    (context,) = space(parameters=LSTM, user_parameters=["n"], matrix={"n": [1, 2], "intra_op_threads": [1, 2]})
    assert context.names == ("intra_op_threads",)
    assert [case.parameters.intra_op_threads for case in context.cases] == [None, 1, 2]


def test_a_tag_that_changes_nothing_leaves_what_it_stood_for(space) -> None:
    command = {"framework": "command", "command": "./a {{ [w, 2] | min }}", "cpus_per_task": 1}
    (context,) = space(TIME, parameters=command, user_parameters=["w"], matrix={"w": [1, 2, 3]})
    assert context.points == [{"command": "./a 1"}, {"command": "./a 2"}]


def test_execution_that_follows_from_the_framework_is_no_choice_of_its_own(space) -> None:
    (context,) = space(matrix={"framework": ["tensorflow", "pytorch"], "intra_op_threads": [1, 2]})
    assert context.names == ("framework", "intra_op_threads")


def test_a_default_that_the_matrix_has_keeps_its_tag(space) -> None:
    (context,) = space(
        parameters={**LSTM, "threads_in_words": "{{ intra_op_threads or 'its own' }}"},
        user_parameters=["threads_in_words"],
        matrix={"intra_op_threads": [2, None]},
    )
    assert [case.user_parameters["threads_in_words"] for case in context.cases] == ["its own", 2]


def test_a_default_is_no_smaller_or_larger_than_another_case(space) -> None:
    (context,) = space(matrix={"batch_size": [8, 64], "intra_op_threads": [1]}, skip_larger_on_oom=["batch_size"])
    sizes = {case.parameters.intra_op_threads: case.size for case in context.cases}
    assert sizes[1] is not None
    assert sizes[None] is None


def test_of_commands_the_first_case_is_the_default(space) -> None:
    command = {"framework": "command", "command": "./bench {{ size }}"}
    (context,) = space(TIME, parameters=command, user_parameters=["size"], matrix={"size": [4, 8]})
    assert context.default == 0
    assert [point["size"] for point in context.points] == [4, 8]


def test_threads_by_section_are_searched_at_the_depth_that_the_experiment_asks_for(space) -> None:
    depth = "{{ 2 if threads == 'dynamic' else none }}"
    (context,) = space(parameters={**LSTM, "section_depth": depth}, matrix={"threads": ["none", "dynamic"]})
    assert context.dynamic.parameters.section_depth == 2
    assert [case.parameters.threads for case in context.cases] == ["none"]
    (without,) = space(matrix={"intra_op_threads": [1, 2]})
    assert without.dynamic is None


def test_of_several_limits_of_threads_by_section_the_widest_is_searched(space) -> None:
    (context,) = space(parameters={**LSTM, "threads": "dynamic"}, matrix={"intra_op_threads": [2, 4, 3]})
    assert context.dynamic.parameters.intra_op_threads == 4
    (context,) = space(parameters={**LSTM, "threads": "dynamic"}, matrix={"intra_op_threads": [2, None, 3]})
    assert context.dynamic.parameters.intra_op_threads is None


def test_several_depths_are_refused(space) -> None:
    with pytest.raises(UserError, match="requires one section_depth, but the cases have 1 and 2"):
        space(parameters={**LSTM, "threads": "dynamic"}, matrix={"section_depth": [1, 2]})
