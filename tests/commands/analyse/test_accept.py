"""`accept` of an experiment: the verdicts of `report` and `gate`, in all documents and in the exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conftest import CommandLine

Swept = Callable[..., None]


@pytest.fixture
def swept(invoke: CommandLine) -> Swept:
    """Run a program that prints the rates 10 and 20, and exits with an error for the size 3."""

    def sweep(accept: dict[str, Any], sizes: tuple[int, ...] = (1, 2), *, expect: int = 0) -> None:
        experiment = {
            "name": "trial",
            "parameters": {
                "framework": "command",
                "command": "test {{ size }} != 3 && echo rate: {{ size }}0 && echo loss: 0.{{ size }}",
            },
            "matrix": {"size": list(sizes)},
            "same_workload": ["size"],
            "metrics": {"rate": {"regex": "rate: (.*)", "unit": "it/s"}},
            "measure": {"repetitions": 1, "retries": 0},
            "accept": accept,
        }
        (invoke.workspace / "trial.yaml").write_text(json.dumps(experiment))
        invoke("sweep", "trial.yaml", "--local", "--no-fail-fast", "--name", "trial", expect=expect)

    return sweep


def failures(invoke: CommandLine, *arguments: str, expect: int) -> tuple[int, dict[str, str]]:
    """Return the number of tests in JUnit, and the messages of those that fail."""
    text = invoke("report", *arguments, "--junit", "-", expect=expect).stdout
    tests = list(ElementTree.fromstring(text).iter("testcase"))  # noqa: S314 - written by us
    found = {test.get("name", "").partition(" ")[2]: test[0] for test in tests if len(test)}
    return len(tests), {name: f"{each.get('type')}: {each.get('message')}" for name, each in found.items()}


def test_accepted_cases_are_a_success(invoke: CommandLine, swept: Swept) -> None:
    swept({"rate": [">= 10 it/s", "< 0.1 kit/s"], "loss": "<= 0.2", "time": "< 10 min"})
    assert "accept: 2 of 2 cases accepted\n" in invoke("report", "--junit", "report.xml").stdout
    assert (invoke.workspace / "report.xml").is_file()
    assert failures(invoke, expect=0) == (2 + 2 * 4, {})
    assert {row["acceptance"] for row in invoke.report()} == {"accepted"}


def test_a_rejected_case_is_a_failure_everywhere(invoke: CommandLine, swept: Swept) -> None:
    swept({"rate": "> 10"})
    said = "rate 10 it/s (n = 1): required > 10"
    text = invoke("report", "-o", "page.html", "-o", "cases.json", expect=1).stdout
    assert "accept: 1 of 2 cases accepted, 1 rejected\n" in text
    assert f"rejected size=1: {said}\n" in text
    assert "size=2: rate" not in text
    assert failures(invoke, expect=1) == (4, {"size=1 rate > 10": f"rejected: {said}"})
    rows = {row["param_size"]: row for row in invoke.report(expect=1)}
    assert [rows[size]["acceptance"] for size in "12"] == ["rejected", "accepted"]
    assert rows["1"]["acceptance_reason"] == said
    cases = json.loads((invoke.workspace / "cases.json").read_text())["cases"]
    assert sorted(case["acceptance"] for case in cases) == ["accepted", "rejected"]
    assert "Acceptance: 1 of 2 cases accepted, 1 rejected" in (invoke.workspace / "page.html").read_text()


def test_a_case_that_was_not_measured_does_not_pass(invoke: CommandLine, swept: Swept) -> None:
    swept({"rate": "> 1", "loss": "> 0"}, (2, 3), expect=1)
    text = invoke("report", expect=1).stdout
    assert "accept: 1 of 2 cases accepted, 1 not measured\n" in text
    assert "not measured size=3: rate, loss (failed: the command exited with 1)\n" in text
    count, failed = failures(invoke, expect=1)
    assert (count, set(failed)) == (6, {"size=3", "size=3 rate > 1", "size=3 loss > 0"})


def test_a_quantity_that_no_case_has_is_an_error_after_the_report(invoke: CommandLine, swept: Swept) -> None:
    swept({"rate": "> 1", "los": "> 0", "accuracy": "> 0"})
    done = invoke("report", expect=2)
    assert "size" in done.stdout
    assert "error: unknown metric 'los'" in done.stderr
    assert "no case of trial has the quantity 'accuracy'" in done.stderr


def test_a_prefix_of_a_sweep_that_is_also_given_is_an_error(invoke: CommandLine, swept: Swept) -> None:
    swept({})
    expected = "'tria' and 'trial' are the same sweep: 'tria' is a prefix of its name"
    assert expected in invoke("report", "tria", "trial", expect=2).stderr
    assert "size" in invoke("report", "tria").stdout


def test_without_conditions_nothing_is_said(invoke: CommandLine, swept: Swept) -> None:
    swept({})
    assert "accept" not in invoke("report").stdout
    assert not {"acceptance", "acceptance_reason"} & set(invoke.report()[0])
    assert failures(invoke, expect=0) == (2, {})


def test_names_and_units_are_checked_before_the_sweep(invoke: CommandLine) -> None:
    for accept, said in (({"acuracy": "> 0.9"}, "did you mean 'accuracy'?"), ({"peak": "< 1 s"}, "does not fit 'peak")):
        told = invoke("sweep", invoke.experiment(accept=accept), "--dry-run", expect=2).stderr
        assert said in told
        assert f"accept.{next(iter(accept))}" in told


GEMM = {"task": "operator", "operator": "gemm"}


@pytest.mark.parametrize(
    ("parameters", "condition", "said"),
    [
        ({"model": "mlp"}, "<= 50 ms", "'ms' cannot be converted to 'samples/s'\n"),
        ({"model": "mlp"}, ">= 2 ksamples/s", ""),
        ({"model": "alexnet"}, ">= 5 samples/s", "'samples/s' cannot be converted to 'images/s'\n"),
        ({"model": "alexnet"}, ">= 5 images/min", ""),
        (GEMM, ">= 5 images/s", "'images/s' cannot be converted to 'calls/s'\n"),
        (GEMM, ">= 5 calls/s", ""),
    ],
)
def test_the_unit_of_the_throughput_is_that_of_the_planned_cases(
    invoke: CommandLine, parameters: dict[str, str], condition: str, said: str
) -> None:
    experiment = {
        "name": "trial",
        "parameters": {"framework": "pytorch", **parameters},
        "accept": {"throughput": condition},
    }
    (invoke.workspace / "trial.yaml").write_text(json.dumps(experiment))
    told = invoke("sweep", "trial.yaml", "--dry-run", expect=2 if said else 0).stderr
    assert (said in told and "accept.throughput" in told) if said else "does not fit" not in told


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        (">= 95", 'write for example ">= 0.95"'),
        (">= 95 %", 'write for example ">= 0.95"'),
        ("> -1", 'write for example "> 0.95"'),
        (">= 0.95", ""),
        ("<= 1", ""),
        (">= 0", ""),
    ],
)
def test_the_accuracy_is_a_fraction(invoke: CommandLine, condition: str, hint: str) -> None:
    parameters = {"task": "time_to_accuracy", "target_accuracy": 0.9, "data": {"npz": "digits.npz"}}
    experiment = invoke.experiment(accept={"accuracy": condition}, parameters=parameters)
    told = invoke("sweep", experiment, "--dry-run", expect=2 if hint else 0).stderr
    assert (f"'{condition}' does not fit 'accuracy': it is a fraction" in told and hint in told) or not hint


def test_the_accuracy_of_a_command_can_be_a_percentage(invoke: CommandLine) -> None:
    metrics = {"accuracy": {"regex": "accuracy: (.*)", "unit": "%"}}
    parameters = {"framework": "command", "command": "echo accuracy: 96"}
    for condition, code in ((">= 95", 0), (">= 97", 1)):
        experiment = {"name": "trial", "parameters": parameters, "metrics": metrics, "accept": {"accuracy": condition}}
        (invoke.workspace / "trial.yaml").write_text(json.dumps({**experiment, "measure": {"repetitions": 1}}))
        invoke("sweep", "trial.yaml", "--local")
        assert f"accept: {1 - code} of 1 case accepted" in invoke("report", expect=code).stdout
    found_later = {"name": "trial", "parameters": parameters, "accept": {"accuracy": ">= 95"}}
    (invoke.workspace / "trial.yaml").write_text(json.dumps(found_later))
    assert "fraction" not in invoke("sweep", "trial.yaml", "--dry-run").stderr


def test_the_unit_of_the_price_is_the_currency_of_the_site(invoke: CommandLine) -> None:
    site = "name: here\nscheduler: local\npartitions: {local: {default: true}}\ncost: {core_hour: 1, currency: CHF}\n"
    (invoke.workspace / "site.yaml").write_text(site)
    for condition, code in (("<= 5 CHF", 0), ("<= 5", 0), ("<= 5 EUR", 2)):
        experiment = invoke.experiment(accept={"price": condition})
        told = invoke("sweep", experiment, "--site", "site.yaml", "--dry-run", expect=code).stderr
        assert ("'EUR' cannot be converted to 'CHF'" in told) == bool(code)


@pytest.mark.parametrize("parameters", [{"task": "inference"}, {"task": "training"}])
@pytest.mark.parametrize("name", ["accuracy", "best_accuracy", "models"])
def test_a_quantity_that_no_task_has_is_an_error_before_the_sweep(
    invoke: CommandLine, parameters: dict[str, Any], name: str
) -> None:
    experiment = invoke.experiment(accept={name: "> 0.9", "time": "< 1 s"}, parameters=parameters)
    told = invoke("sweep", experiment, "--dry-run", expect=2).stderr
    assert f"'{name}' requires task: time_to_accuracy, but no case has this task" in told
    assert f"accept.{name}" in told
    assert "accept.time" not in told


@pytest.mark.parametrize("name", ["error_bound_ratio", "update_error"])
def test_an_error_of_a_validation_requires_one(invoke: CommandLine, name: str) -> None:
    parameters = {"task": "training"}
    told = invoke(
        "sweep", invoke.experiment(accept={name: "< 0.5"}, parameters=parameters), "--dry-run", expect=2
    ).stderr
    assert f"'{name}' requires validate: true, but no case is validated" in told
    assert f"accept.{name}" in told
    validated = invoke.experiment(accept={name: "< 0.5"}, parameters={**parameters, "validate": True})
    invoke("sweep", validated, "--dry-run")
    told = invoke("sweep", invoke.experiment(accept={name: "< 1 s"}), "--dry-run", expect=2).stderr
    assert f"'< 1 s' does not fit '{name.replace('_', ' ')}'" in told


def test_a_quantity_that_one_task_of_an_axis_has_is_planned(invoke: CommandLine) -> None:
    include = [
        {"task": "training"},
        {"task": "time_to_accuracy", "target_accuracy": 0.9, "data": {"npz": "digits.npz"}},
    ]
    experiment = invoke.experiment(accept={"accuracy": "> 0.9"}, include=include)
    plan = json.loads(invoke("sweep", experiment, "--dry-run", "--json").stdout)
    assert [case["parameters"]["task"] for case in plan["cases"]] == ["training", "time_to_accuracy"]


def test_a_gate_fails_if_a_case_is_rejected(invoke: CommandLine, swept: Swept) -> None:
    swept({"rate": "> 10"})
    arguments = ("gate", "trial", "trial.yaml", "--local", "--margin", "90%", "--on-inconclusive", "pass")
    done = invoke(*arguments, "--junit", "gate.xml", expect=1)
    assert "rejected size=1: rate 10 it/s (n = 1): required > 10\n" in done.stderr
    tests = ElementTree.parse(invoke.workspace / "gate.xml").iter("testcase")  # noqa: S314 - written by us
    assert [test.get("name", "").partition(" ")[2] for test in tests if test.find("failure") is not None] == [
        "size=1 rate > 10"
    ]
