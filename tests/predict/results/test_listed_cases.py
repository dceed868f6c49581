"""Cases of a plan with their operators, as the predictor's tables."""

from __future__ import annotations

import json
from dataclasses import replace

from hpcbench.config.experiment import load_experiment
from hpcbench.config.site import Site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.core.profiling.operator_list import ListedOperator, OperatorList
from hpcbench.plan.case import Case
from hpcbench.plan.plan import make_plan
from hpcbench.predict.results.listed_cases import listed_cases
from tests.predict.aten.calls import tensor

PRODUCT = ListedOperator(
    "gemm",
    "aten.mm.default",
    "forward",
    json.dumps({"self": tensor(8, 4), "mat2": tensor(4, 2)}),
    3,
    200,
    32,
    64,
    False,
    "float32",
    128,
)


def planned(model: str = "gpt, model_options: {sequence_length: 16}") -> tuple[Case, ...]:
    text = f"""
name: trial
parameters: {{framework: pytorch, model: {model}, batch_size: 2, cpus_per_task: 2}}
matrix: {{intra_op_threads: [1, 2]}}
"""
    document = parse_yaml(text, "trial.yaml")
    return make_plan(load_experiment(document), document, Site(name="here", scheduler="local")).cases


def test_without_a_number_of_threads_a_case_has_one_for_each_cpu() -> None:
    cases = [
        replace(each, parameters=each.parameters.model_copy(update={"intra_op_threads": None})) for each in planned()
    ]
    assert listed_cases(cases, {}).cases["threads"].tolist() == [2, 2]


def test_more_threads_than_cpus_compute_on_the_cpus_of_the_task() -> None:
    cases = [replace(each, parameters=each.parameters.model_copy(update={"intra_op_threads": 8})) for each in planned()]
    found = listed_cases(cases, {}).cases
    assert (found["threads"].tolist(), found["cores"].tolist()) == ([2, 2], [2, 2])


def test_cases_have_labels_items_threads_and_their_lists() -> None:
    cases = planned()
    listed = {cases[0].id: OperatorList(cases[0].id, operators=(PRODUCT,), parameter_count=100)}
    found = listed_cases(cases, listed)
    assert found.cases["label"].tolist() == ["intra_op_threads=1", "intra_op_threads=2"]
    assert found.cases["items_per_step"].tolist() == [32, 32]  # tokens
    assert found.cases["threads"].tolist() == [1, 2]
    assert found.cases["refused"].tolist() == ["", "its operators were not listed"]
    assert found.lists[["list_id", "kind", "m", "n", "k", "calls"]].to_numpy().tolist() == [
        [cases[0].id, "gemm", 8, 2, 4, 3]
    ]
    assert set(found.memory) == {cases[0].id}


def test_an_image_network_that_cannot_be_listed_is_not_refused() -> None:
    cases = planned("torchvision/resnet50")
    found = listed_cases(cases[:1], {cases[0].id: OperatorList(cases[0].id, reason="no torchvision")}).cases.iloc[0]
    assert (found["refused"], found["unlisted"], found["list_id"]) == ("", "no torchvision", "")
    assert found["image_network"] == "torchvision/resnet50"


def test_the_dtype_of_a_file_and_a_device_that_is_set_are_those_of_the_case() -> None:
    cases = planned()
    lists = {each.id: OperatorList(each.id, operators=(PRODUCT,), dtype="float16") for each in cases[:1]}
    found = listed_cases(cases, lists).cases
    assert found["dtype"].tolist() == ["float16", "float32"]
    assert found["set_device_kind"].tolist() == ["", ""]
    set_device = [replace(each, parameters=each.parameters.model_copy(update={"device": "cpu"})) for each in cases]
    assert listed_cases(set_device, lists).cases["set_device_kind"].tolist() == ["cpu", "cpu"]
