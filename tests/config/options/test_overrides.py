from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.config.experiment import Experiment
from hpcbench.config.options.overrides import apply_overrides, check_order
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.errors import UserError

Load = Callable[..., Experiment]
AXES = (
    "matrix: {batch_size: [1, 2], seed: [1, 2]}\nzip: [{nodes: [1, 2], tasks_per_node: [2, 1]}, {dtype: [float16]}]\n"
)


def test_a_value_that_begins_with_a_character_of_yaml_is_to_be_quoted(load: Load) -> None:
    with pytest.raises(UserError, match="not valid YAML") as caught:
        load("", "accept.accuracy=>= 0.9")
    assert caught.value.where == "--set accept.accuracy"
    assert caught.value.hint == "quote the value: --set 'accept.accuracy=\">= 0.9\"'"
    assert load("", 'accept.accuracy=">= 0.9"').accept["accuracy"]


@pytest.mark.parametrize(
    ("setting", "part", "value"),
    [
        ("batch_size=64", lambda e: e.parameters["batch_size"], 64),
        ("model=mlp", lambda e: e.parameters["model"], "mlp"),
        ("parameters.model=mlp", lambda e: e.parameters["model"], "mlp"),
        ("parameters.model_options.layers=3", lambda e: e.parameters["model_options.layers"], 3),
        ("optimizer.learning_rate=0.5", lambda e: e.parameters["optimizer.learning_rate"], 0.5),
        ("model_options={layers: 3}", lambda e: e.parameters["model_options"], {"layers": 3}),
        ("cpus_per_task='{{ nodes }}'", lambda e: e.parameters["cpus_per_task"], "{{ nodes }}"),
        ("matrix.nodes=[1,2,4]", lambda e: e.matrix["nodes"], [1, 2, 4]),
        ("parameters={model: mlp}", lambda e: e.parameters, {"model": "mlp"}),
        ("name=other", lambda e: e.name, "other"),
        ("measure.repetitions=7", lambda e: e.measure.repetitions, 7),
        ("slurm.time=00:05:00", lambda e: e.slurm["time"], "00:05:00"),
        ("slurm.options.comment=a=b", lambda e: e.slurm["options"], {"comment": "a=b"}),
    ],
)
def test_a_setting_changes_a_parameter_or_a_key_of_the_file(
    setting: str, part: Callable[[Experiment], Any], value: Any, load: Load
) -> None:
    assert part(load("", setting)) == value


@pytest.mark.parametrize(
    ("text", "setting", "expected"),
    [
        ("matrix: {optimizer.name: [adam, sgd]}\n", "optimizer=lamb", {"optimizer": "lamb"}),
        ("matrix: {optimizer: [adam, sgd], optimizer.eps: [0.1]}\n", "optimizer=lamb", {"optimizer": ["lamb"]}),
        (
            "zip: [{optimizer.learning_rate.peak: [1], optimizer.name: [adam]}]\n",
            "optimizer.learning_rate=0.5",
            {"optimizer.learning_rate": 0.5, "optimizer.name": ["adam"]},
        ),
    ],
)
def test_a_mapping_replaces_the_dotted_names_of_its_keys(
    text: str, setting: str, expected: dict[str, Any], load: Load
) -> None:
    found = load(text, setting)
    axes = {**found.matrix, **(found.zip[0] if found.zip else {})}
    given = {name: value for name, value in found.parameters.items() if name.startswith("optimizer")}
    assert {**axes, **given} == expected


def test_a_parameter_that_is_an_axis_is_fixed_and_leaves_the_other_axes(load: Load) -> None:
    fixed = load(AXES, "batch_size=64", "nodes=1", "dtype=float32")
    assert fixed.matrix == {"seed": [1, 2], "batch_size": [64], "nodes": [1], "dtype": ["float32"]}
    assert fixed.zip == [{"tasks_per_node": [2, 1]}]


def test_fixing_the_last_axis_leaves_an_axis_of_one_value(load: Load) -> None:
    assert load("matrix: {seed: [1, 2]}", "seed=3").matrix == {"seed": [3]}


def test_fixing_a_parameter_fixes_it_in_included_points_too(load: Load) -> None:
    assert load("include: [{seed: [1, 2], nodes: 2}]", "seed=3").include == [{"seed": 3, "nodes": 2}]


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("timeout=3", "use --set slurm.time=..."),
        ("repetitions=3", "use --set measure.repetitions=..."),
        ("hidden_size=3", "use --set model_options.hidden_size=..."),
        ("batchsize=3", "did you mean 'batch_size'?"),
    ],
)
def test_a_key_of_a_section_is_hinted_at_as_an_option(setting: str, hint: str, load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load("", setting)
    assert caught.value.findings[0].hint.splitlines()[0] == hint


def test_the_last_of_two_settings_wins(load: Load) -> None:
    assert load("", "seed=1", "seed=2").parameters["seed"] == 2


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("batch_size", "--set: 'batch_size' is not KEY=VALUE"),
        ("=4", "--set: '=4' is not KEY=VALUE"),
        ("batch_siz=4", "did you mean 'batch_size'"),
        ("measure.repetition=4", "did you mean 'repetitions'"),
        ("name.first=4", "--set name.first: 'name' is not a mapping"),
        ("zip.0.nodes=[1]", "'zip.0' is not a mapping"),
        ("seed=[1", "not valid YAML"),
        ("matrix.seed=4", "--set matrix.seed: matrix.seed: an axis is a list"),
        ("measure.repetitions=0", "--set measure.repetitions: measure.repetitions: 0 is not valid"),
        ("name=../x", "--set name: name: '../x' is not valid"),
        ("parameters=4", "--set parameters"),
    ],
)
def test_a_bad_setting_is_refused_and_named(setting: str, words: str, load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load(AXES, setting)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("key", "mapping"),
    [("optimizer.betas", "optimizer"), ("parameters.optimizer.betas", "optimizer"), ("seed", "parameters")],
)
def test_a_mapping_after_one_of_its_keys_is_refused(key: str, mapping: str) -> None:
    check_order([f"{mapping}={{}}", f"{key}=1", "seed=1", "seed=2"])
    with pytest.raises(UserError, match=f"--set {mapping} would replace --set {key}") as caught:
        check_order([f"{key}=1", f"{mapping}={{}}"])
    assert caught.value.hint == f"write --set {mapping}=... before --set {key}=..."


def test_a_setting_leaves_the_document_as_it_was(load: Load) -> None:
    document = parse_yaml("matrix: {seed: [1]}\n", "study.yaml")
    apply_overrides(document, ["seed=2"])
    assert document.data == {"matrix": {"seed": [1]}}
