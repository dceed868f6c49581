"""What a run costs, by what is to be best."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME
from hpcbench.config.experiment import Experiment
from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.core.record import Record
from hpcbench.errors import UserError
from hpcbench.plan.case import Case
from hpcbench.tuning.objective import Objective, default_metric, objective_of
from tests.fixtures.records import a_record

RECORD = a_record(measurements={"times_s": [0.2, 0.4, 0.3]}, work={"items_per_step": 6})
RATE = {"value": 5.0, "unit": "it/s", "better": None}
OF_COMMAND = a_record(measurements={"times_s": [2.0]}, metrics={"rate": RATE})


def test_throughput_is_the_time_of_an_item_and_back() -> None:
    objective = Objective(THROUGHPUT)
    cost = objective.cost_of(RECORD)
    assert cost == pytest.approx(0.05)
    assert objective.value_of(0.05) == pytest.approx(20.0)


def test_time_is_that_of_a_step() -> None:
    assert Objective(TIME).cost_of(RECORD) == pytest.approx(0.3)


def test_a_command_has_no_items_but_a_time() -> None:
    assert Objective(TIME).cost_of(OF_COMMAND) == pytest.approx(2.0)
    assert Objective(THROUGHPUT).cost_of(OF_COMMAND) is None
    assert Objective(THROUGHPUT).why_unknown(OF_COMMAND) == "it has no throughput"


def case_of(framework: str) -> Case:
    given = {"framework": framework, **({"command": "true"} if framework == "command" else {"model": "lstm"})}
    return Case(framework, 0, Parameters.model_validate(given), {}, SlurmOptions())


@pytest.mark.parametrize(
    ("frameworks", "metrics", "usual"),
    [
        (["pytorch"], {}, "throughput"),
        (["command"], {}, "time"),
        (["command"], {"score": None, "rate": "it/s"}, "rate"),
        (["command", "pytorch"], {"rate": "it/s"}, "time"),
    ],
)
def test_what_counts_where_nobody_says_it(frameworks: list[str], metrics: dict[str, str | None], usual: str) -> None:
    said = {name: {"regex": r"(\d+)", **({"unit": unit} if unit else {})} for name, unit in metrics.items()}
    experiment = Experiment.model_validate({"name": "e", "metrics": said})
    assert default_metric([case_of(framework) for framework in frameworks], experiment) == usual


def test_a_metric_of_which_more_is_better_costs_its_inverse() -> None:
    experiment = Experiment.model_validate({"name": "e", "metrics": {"rate": {"regex": r"(\d+)", "unit": "it/s"}}})
    objective = objective_of("rate", experiment)
    assert objective.cost_of(OF_COMMAND) == pytest.approx(0.2)
    assert objective.value_of(0.2) == pytest.approx(5.0)
    assert objective_of("rate:lower", experiment).cost_of(OF_COMMAND) == pytest.approx(5.0)


@pytest.mark.parametrize("record", [replace(RECORD, status="failed"), replace(RECORD, measurements=None)])
def test_what_did_not_complete_costs_nothing_that_is_known(record) -> None:
    assert Objective(TIME).cost_of(record) is None


def test_why_a_repetition_has_no_cost_is_told() -> None:
    experiment = Experiment.model_validate({"name": "e", "metrics": {"loss": {"regex": r"(\S+)"}}})
    objective = objective_of("loss:lower", experiment)

    def losing(value: float) -> Record:
        return a_record(measurements={"times_s": [2.0]}, metrics={"loss": {**RATE, "value": value}})

    assert objective.why_unknown(losing(-3.2)) == ("its loss is -3.2; a search requires finite numbers above 0")
    for value in (-3.2, 0.0, float("nan"), float("inf")):
        assert objective.cost_of(losing(value)) is None
    assert objective.why_unknown(OF_COMMAND) == "it has no loss"
    assert objective.why_unknown(a_record(status="failed", error={"message": "it fell"})) == "failed: it fell"
    assert objective.why_unknown(a_record(status="timeout")) == "timeout"


@pytest.mark.parametrize("name", ["time", "throughput"])
def test_a_metric_of_the_experiment_comes_before_what_hpcbench_measures(name: str) -> None:
    metrics = {name: {"regex": r"(\d+)", "unit": "it/s"}}
    experiment = Experiment.model_validate({"name": "e", "metrics": metrics})
    assert objective_of(name, experiment).quantity.unit == "it/s"
    assert objective_of(f"{name}:lower", experiment).quantity.more_is_better is False


def test_a_metric_without_a_direction_is_asked_for_one() -> None:
    experiment = Experiment.model_validate({"name": "e", "metrics": {"score": {"regex": r"(\d+)"}}})
    with pytest.raises(UserError, match="score:higher"):
        objective_of("score", experiment)
    with pytest.raises(UserError, match="no metric 'speed'"):
        objective_of("speed", experiment)
    with pytest.raises(UserError, match=":higher or :lower"):
        objective_of("score:up", experiment)
