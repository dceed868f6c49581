"""The experiment file for a program: its parameters are the names in braces."""

from __future__ import annotations

import pytest
import yaml

from hpcbench.config.experiment import load_experiment
from hpcbench.config.options.scaffold import scaffold
from hpcbench.config.yaml_document import Document
from hpcbench.errors import UserError


def test_names_in_braces_are_parameters_and_those_without_values_are_named() -> None:
    made = scaffold("python train.py --bs {batch_size} --mode {mode} --on ${HOSTNAME}", {"mode": ["a", "b"]})
    assert (made.name, made.missing) == ("train", ["batch_size"])
    assert "batch_size: []  # add the values to compare" in made.text
    data = yaml.safe_load(made.text)
    assert data["matrix"] == {"mode": ["a", "b"], "batch_size": []}
    assert data["parameters"]["command"].endswith("--on ${HOSTNAME}")
    with pytest.raises(UserError, match="the axis has no values"):
        load_experiment(Document("train.yaml", data, {}, made.text))


def test_an_experiment_with_all_values_is_valid() -> None:
    made = scaffold("./solve {size} --nodes {nodes}", {"size": {"range": [1, 8], "step": "*2"}})
    experiment = load_experiment(Document("solve.yaml", yaml.safe_load(made.text), {}, made.text))
    assert (made.missing, experiment.all_user_parameters, list(experiment.matrix)) == ([], ("size",), ["size"])


def test_a_variable_of_bash_is_not_a_parameter() -> None:
    made = scaffold("for threads in 1 2; do ./solve {size} ${threads}; done", {"size": [1]})
    assert made.missing == []
    assert yaml.safe_load(made.text)["parameters"]["command"].endswith("${threads}; done")


@pytest.mark.parametrize(("command", "axes"), [(" ", {}), ("./solve", {"size": [1]})])
def test_an_empty_command_and_an_unused_parameter_are_refused(command: str, axes: dict[str, list[int]]) -> None:
    with pytest.raises(UserError):
        scaffold(command, axes)
