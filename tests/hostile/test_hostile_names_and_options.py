"""Whatever a name or an option is, it stays inside the sweep's folders, and one option of sbatch; or it is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from hpcbench.commands.shared.planning import sweep_name
from hpcbench.config.experiment import load_experiment
from hpcbench.config.expressions import is_expression
from hpcbench.config.metrics import Metric
from hpcbench.config.options.overrides import apply_overrides
from hpcbench.config.site import load_site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.environments.locations import environment_dir
from hpcbench.errors import UserError
from hpcbench.node.results import command_metrics
from hpcbench.plan.plan import Plan, make_plan
from hpcbench.store.workspace import Workspace
from hpcbench.submit.script import ScriptWriter
from tests.hostile.values import Hostile, document, sbatch_reads

Tries = Callable[[int], int]
FIELDS = ("partition", "account", "qos", "constraint", "reservation", "nodelist", "exclude", "mem", "hint", "gpu_type")


def writer_of(plan: Plan, root: Path) -> ScriptWriter:
    workspace = Workspace(root)
    return ScriptWriter(workspace, workspace.paths("study"), plan.site, plan.experiment)


def test_sbatch_finds_the_planned_options_and_no_other(
    tries: Tries, hostile: Hostile, planned: Callable[..., Plan], tmp_path: Path
) -> None:
    slurm = {"scheduler": "slurm"}
    plan = planned(slurm)
    writer = writer_of(plan, tmp_path)
    usual = [*sbatch_reads(writer.render(plan.jobs[0], "python3"))]
    assert f"--output={tmp_path}/jobs/study/logs/job-001/%A_%a_0_log.out" in usual
    count = tries(400)
    values = [*hostile.values(count // 2), *hostile.tame(count - count // 2)]
    accepted = 0
    for field, value in zip(cycle((*FIELDS, "a value", "a name", "a flag")), values, strict=False):
        asked: dict[str, Any] = {field: value}
        wanted = [f"--{field.replace('_', '-')}={value}"]
        if field == "a value":
            asked, wanted = {"options": {"comment": value}}, [f"--comment={value}"]
        elif field == "a name":
            asked, wanted = {"options": {value: "1"}}, [f"--{value}=1"]
        elif field == "a flag":
            asked, wanted = {"options": {value: True}}, [f"--{value}"]
        elif field == "gpu_type":  # requested where a case has GPUs
            wanted = []
        try:
            found = [*sbatch_reads(writer.render(planned(slurm, slurm=asked).jobs[0], "python3"))]
        except UserError:
            continue
        accepted += 1
        if is_expression(value):  # of the user's own: what it becomes is one option all the same
            assert len(found) <= len(usual) + 1
        else:
            assert found == usual + wanted
    assert accepted > count / 20


OWN = ("output", "array", "job-name", "wrap", "time", "partition", "chdir", "error", "requeue", "mem-per-cpu")


@pytest.mark.parametrize("option", OWN)
def test_an_option_is_not_to_be_had_by_its_first_letters(option: str) -> None:
    for length in range(1, len(option) + 1):
        with pytest.raises(ValueError, match=r"hpcbench sets|use slurm\.|in full"):
            SlurmOptions.model_validate({"options": {option[:length]: "x"}})


def test_names_stay_in_their_folders(
    tries: Tries, hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HPCBENCH_ENVS", raising=False)
    workspace = Workspace(tmp_path)

    def experiment(name: str) -> Path:
        return workspace.paths(load_experiment(document({"name": name, "parameters": {}})).name).jobs

    def given(name: str) -> Path:
        return workspace.paths(sweep_name(workspace, name, "study")).results

    def site(name: str) -> Path:
        return tmp_path / "jobs" / load_site(document({"name": name, "scheduler": "local"})).name

    def environment(name: str) -> Path:
        return environment_dir(workspace, name).folder

    def of_the_site(name: str) -> Path:
        told = load_site(document({"name": "here", "scheduler": "local", "environments": {name: {}}}))
        return environment_dir(workspace, next(iter(told.environments))).folder

    accepted = 0
    count = tries(250)
    values = [*hostile.values(count // 2), *hostile.tame(count - count // 2)]
    for becomes, value in zip(cycle((experiment, given, site, environment, of_the_site)), values, strict=False):
        try:
            folder = becomes(value)
        except UserError:
            continue
        accepted += 1
        assert os.path.normpath(folder) == str(folder)
        assert folder.parent in (tmp_path / "jobs", tmp_path / "results", tmp_path / "envs")
        assert not folder.name.startswith(("-", "."))
    assert accepted > count / 100


def test_a_partition_of_the_site_is_one_option(tries: Tries, hostile: Hostile) -> None:
    for value in hostile.values(tries(100)):
        try:
            site = load_site(document({"name": "here", "scheduler": "slurm", "partitions": {value: {}}}))
        except UserError:
            continue
        (partition,) = site.partitions
        assert [*sbatch_reads(f"#SBATCH --partition={partition}")] == [f"--partition={value}"]


def test_settings_change_the_key_that_they_name(tries: Tries, hostile: Hostile, tmp_path: Path) -> None:
    content = {"name": "study", "user_parameters": ["note"], "parameters": {"framework": "command", "command": "true"}}
    site = load_site(document({"name": "here", "scheduler": "local"}))
    plain = document(content)
    usual = make_plan(load_experiment(plain), plain, site)
    writer = writer_of(usual, tmp_path)
    script = writer.render(usual.jobs[0], "python3")
    for number, value in enumerate(hostile.values(tries(150))):
        setting = f"{value}=1" if number % 2 else f"note={value}"
        try:
            changed = apply_overrides(plain, [setting])
            plan = make_plan(load_experiment(changed), changed, site)
        except UserError:
            continue
        assert [case.parameters for case in plan.cases] == [case.parameters for case in usual.cases]
        assert writer.render(plan.jobs[0], "python3") == script


def test_files_and_names_of_metrics_stay_in_the_folder_of_the_repetition(
    tries: Tries, hostile: Hostile, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for value in hostile.values(tries(125)):
        content = {"name": "study", "metrics": {value: {"csv": "x"}}, "parameters": {}}
        try:
            load_experiment(document(content))
        except UserError:
            pass
        else:
            assert value.isidentifier()
        try:
            metric = Metric.model_validate({"csv": "x", "file": value})
        except ValueError:
            continue
        assert os.path.normpath(folder / value).startswith(f"{folder}/") or os.path.normpath(folder / value) == str(
            folder
        )
        found = command_metrics.measured({"metrics": {"x": metric.model_dump()}}, [], str(tmp_path))
        assert found.metrics["x"]["value"] is None


def test_a_sweep_is_found_by_its_name_and_by_nothing_else(tries: Tries, hostile: Hostile, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    there = workspace.paths("study-1")
    there.jobs.mkdir(parents=True)
    there.description.write_text("{}")
    (tmp_path / "sweep.json").write_text("{}")
    for value in hostile.values(tries(125)):
        try:
            found = workspace.find(value)
        except UserError:
            continue
        assert found == there
        assert "study-1".startswith(value)
