"""`sweep --replace`, which renews a sweep, and `sweep --json`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from hpcbench.commands.run import sweep as command
from hpcbench.commands.shared import replace as module
from hpcbench.errors import UserError
from hpcbench.status.progress import Progress
from hpcbench.store.journal import locked
from hpcbench.store.sweep import Sweep
from tests.conftest import CommandLine


@pytest.fixture
def trial(invoke: CommandLine) -> str:
    parameters = {"framework": "command", "command": "true"}
    measure = {"repetitions": 2, "retries": 0, "idle_node": "ignore"}
    experiment = {"name": "trial", "parameters": parameters, "measure": measure}
    (invoke.workspace / "trial.yaml").write_text(json.dumps(experiment))
    return "trial.yaml"


def created_at(invoke: CommandLine) -> int:
    return (invoke.workspace / "jobs" / "main" / "sweep.json").stat().st_mtime_ns


def replace(invoke: CommandLine, file: str, *options: str, expect: int = 0) -> str:
    return invoke("sweep", file, "--local", "--name", "main", "--replace", *options, expect=expect).stderr


def folders(workspace: Path) -> list[str]:
    return sorted(path.name for folder in ("jobs", "results") for path in (workspace / folder).glob("*main*"))


def test_a_sweep_with_records_is_replaced_with_consent_only(invoke, trial: str) -> None:
    replace(invoke, trial)
    first = created_at(invoke)
    told = replace(invoke, trial, expect=2)
    assert "--replace deletes the sweep 'main' with 2 records" in told
    assert "to delete them without confirmation: --yes" in told
    assert created_at(invoke) == first
    assert len(invoke.records()) == 2
    replace(invoke, trial, "--yes")
    assert created_at(invoke) > first
    assert len(invoke.records()) == 2, "those of the old one are gone"
    assert folders(invoke.workspace) == ["main", "main"]


def test_a_sweep_without_records_is_replaced_without_a_question(invoke, trial: str) -> None:
    replace(invoke, trial, "--render-only")
    first = created_at(invoke)
    replace(invoke, trial, "--render-only")
    assert created_at(invoke) > first


@pytest.mark.parametrize(("is_yes", "expect"), [(True, 0), (False, 2)])
def test_a_terminal_is_asked(invoke, trial: str, monkeypatch: pytest.MonkeyPatch, is_yes: bool, expect: int) -> None:
    replace(invoke, trial)
    first = created_at(invoke)
    monkeypatch.setattr("hpcbench.commands.shared.replace._is_terminal", lambda: True)
    monkeypatch.setattr("hpcbench.commands.shared.replace.click.confirm", lambda *_, **__: is_yes)
    replace(invoke, trial, expect=expect)
    assert (created_at(invoke) > first) == (expect == 0)


def test_the_old_one_is_kept_if_the_new_one_cannot_be_created(
    invoke, trial: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise UserError("the sweep cannot be written: no space left")

    replace(invoke, trial)
    first = created_at(invoke)
    monkeypatch.setattr(command, "create", full)
    assert "no space left" in replace(invoke, trial, "--yes", expect=2)
    assert created_at(invoke) == first
    assert len(invoke.records()) == 2
    assert folders(invoke.workspace) == ["main", "main"]


def test_what_a_killed_replacement_left_aside_comes_back_first(invoke, trial: str) -> None:
    replace(invoke, trial)
    for folder in (invoke.workspace / "jobs", invoke.workspace / "results"):
        (folder / "main").rename(folder / ".main.replaced")
    assert "with 2 records" in replace(invoke, trial, expect=2)
    assert folders(invoke.workspace) == ["main", "main"]
    replace(invoke, trial, "--yes")
    assert folders(invoke.workspace) == ["main", "main"]


def test_a_sweep_that_another_hpcbench_runs_is_not_replaced(invoke, trial: str) -> None:
    replace(invoke, trial)
    with locked(invoke.workspace / "jobs" / "main"):
        replace(invoke, trial, "--yes", expect=2)
    assert len(invoke.records()) == 2


@pytest.mark.parametrize(
    ("state", "in_queue"), [("pending", True), ("running", True), ("unknown", False), ("never_started", True)]
)
def test_a_sweep_with_active_runs_is_not_replaced(
    invoke, trial: str, monkeypatch: pytest.MonkeyPatch, state: str, in_queue: bool
) -> None:
    replace(invoke, trial)
    query = module.query

    def as_if_pending(sweep: Sweep) -> Progress:
        found = query(sweep)
        return dataclasses.replace(
            found, runs=tuple(dataclasses.replace(run, state=state, in_queue=in_queue) for run in found.runs)
        )

    monkeypatch.setattr(module, "query", as_if_pending)
    told = replace(invoke, trial, "--yes", expect=2)
    assert "the sweep 'main' has 2 active runs" in told
    assert "hpcbench cancel main" in told


def test_a_sweep_that_is_resumed_while_the_question_is_open_is_not_replaced(
    invoke, trial: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(invoke, trial)
    query = module.query

    def resumed(*_: object, **__: object) -> bool:
        complaint = "squeue did not list all jobs"
        monkeypatch.setattr(module, "query", lambda sweep: dataclasses.replace(query(sweep), complaint=complaint))
        return True

    monkeypatch.setattr(module, "_is_terminal", lambda: True)
    monkeypatch.setattr("hpcbench.commands.shared.replace.click.confirm", resumed)
    assert "squeue did not list all jobs" in replace(invoke, trial, expect=2)
    assert len(invoke.records()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trial.yaml", "--replace"], "--replace requires --name"),
        (["--from", "mai", "--name", "main", "--replace"], "cannot be used with --from for the same sweep"),
        (["trial.yaml", "--name", "main"], "or add --replace"),
    ],
)
def test_a_mistake_is_told(invoke, trial: str, arguments: list[str], said: str) -> None:
    replace(invoke, trial, "--render-only")
    assert said in " ".join(invoke("sweep", *arguments, "--local", expect=2).stderr.split())


def test_json_is_the_plan_before_and_the_state_after(invoke, trial: str) -> None:
    plan = json.loads(invoke("sweep", trial, "--local", "--dry-run", "--json").stdout)
    assert (plan["experiment"], plan["site"], plan["scheduler"]) == ("trial", "laptop", "local")
    assert [case["parameters"]["command"] for case in plan["cases"]] == ["true"]
    assert [(job["runs"], job["nodes"]) for job in plan["jobs"]] == [(2, 1)]
    assert plan["maximum"]["node_hours"] > 0
    assert not (invoke.workspace / "jobs").exists()
    rendered = json.loads(invoke("sweep", trial, "--local", "--render-only", "--name", "a", "--json").stdout)
    assert rendered["states"] == {"planned": 2}
    assert [Path(script).is_file() for script in rendered["scripts"]] == [True]
    done = json.loads(invoke("sweep", trial, "--local", "--name", "b", "--json").stdout)
    assert (done["sweep"], done["states"]) == ("b", {"completed": 2})
