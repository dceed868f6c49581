"""The plan of an experiment before anything is written, as `sweep` and `tune` make it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.commands.shared import planning
from hpcbench.commands.shared.planning import placed, planned
from hpcbench.config.site import Site, load_site
from hpcbench.config.yaml_document import Document, load_yaml, parse_yaml
from hpcbench.errors import UserError
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.workspace import Workspace
from hpcbench.util.package_data import shipped

EXPERIMENT = "{name: tiny, parameters: {framework: command, command: 'true {{ size }}'}, matrix: {size: [1, 2, 4]}}"


@pytest.fixture
def source() -> Document:
    return parse_yaml(EXPERIMENT, "tiny.yaml")


def here() -> Site:
    return load_site(load_yaml(shipped("configs") / "sites" / "laptop.yaml"))


def nowhere() -> Site:
    raise AssertionError("the site is not requested")


def test_a_plan_has_the_settings_and_the_limit_that_were_asked_for(source: Document) -> None:
    plan, document = planned(source, SweepOptions(("measure.repetitions=2",), 2), here, Path)
    assert [case.user_parameters for case in plan.cases] == [{"size": 1}, {"size": 2}]
    assert plan.experiment.measure.repetitions == 2
    assert (document.name, document.text) == ("tiny.yaml", EXPERIMENT)


def test_no_site_is_asked_for_before_the_experiment_is_known_to_be_right(source: Document) -> None:
    with pytest.raises(UserError, match="metrix"):
        planned(source, SweepOptions(("metrix=1",)), nowhere, Path)
    with pytest.raises(UserError, match="3"):
        planned(source, SweepOptions(), nowhere, Path, most=2)


def test_of_too_many_points_a_limit_leaves_few_enough(source: Document) -> None:
    assert len(planned(source, SweepOptions(limit=2), here, Path, most=2)[0].cases) == 2
    assert len(planned(source, SweepOptions(), here, Path, most=None)[0].cases) == 3


def test_secrets_in_the_experiment_its_settings_and_the_site_are_refused(
    source: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = "hf_nobody_else_may_know_it"
    monkeypatch.setenv("HF_TOKEN", hidden)
    with pytest.raises(UserError, match="HF_TOKEN"):
        planned(source, SweepOptions((f"description={hidden}",)), here, Path)
    with pytest.raises(UserError, match="site file of 'laptop'"):
        planned(source, SweepOptions(), lambda: here().model_copy(update={"description": hidden}), Path)
    with pytest.raises(UserError, match=r"tiny\.yaml"):
        planned(parse_yaml(f"# {hidden}\n{EXPERIMENT}", "tiny.yaml"), SweepOptions(), here, Path)


def test_a_sweep_has_its_place_and_the_warnings_of_its_plan_and_environments(source: Document, tmp_path: Path) -> None:
    plan, _ = planned(source, SweepOptions(), here, Path)
    workspace = Workspace(tmp_path)
    paths, environments, warnings = placed(plan, workspace, "mine", only_shown=True)
    assert (paths.name, list(environments)) == ("mine", ["command"])
    assert warnings == [*plan.warnings, *(each.warning for each in environments.values() if each.warning)]
    paths.jobs.mkdir(parents=True)
    for replace, hint in (
        (None, "otherwise choose another name"),
        (False, "otherwise choose another name, or add --replace"),
    ):
        with pytest.raises(UserError, match=r"sweep '.*' already exists") as caught:
            placed(plan, workspace, "mine", only_shown=True, replace=replace)
        assert caught.value.hint.endswith(hint)


def test_a_workspace_whose_path_no_script_can_hold_is_refused(source: Document, tmp_path: Path) -> None:
    plan, _ = planned(source, SweepOptions(), here, Path)
    with pytest.raises(UserError, match="which is not allowed in a job script"):
        placed(plan, Workspace(tmp_path / "two\nlines"), None, only_shown=True)


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ("framework: onnxruntime, model: {onnx: here/net.onnx}", "model file"),
        ("framework: pytorch, model: mlp, data: {npz: here/net.onnx}", "data file"),
        ("framework: pytorch, task: operator, operator: {python: here/net.py}", "operator file"),
        ("framework: pytorch, model: resnet50, data: {imagefolder: here/net.onnx}", "data directory"),
        ("framework: pytorch, model: timm/resnet10t, weights: here/net.onnx", "weights"),
    ],
)
def test_files_that_a_case_reads_must_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameters: str, what: str
) -> None:
    monkeypatch.setattr(planning, "resolved", lambda *_, **__: {})
    plan, _ = planned(parse_yaml(f"{{name: a, parameters: {{{parameters}}}}}", "a.yaml"), SweepOptions(), here, Path)
    path = tmp_path / "here" / ("net.py" if what == "operator file" else "net.onnx")
    with pytest.raises(UserError) as caught:
        placed(plan, Workspace(tmp_path), None, only_shown=False)
    assert str(caught.value) == f"{path}: {what} '{path.name}' not found\n  give its path relative to the workspace"
    *_, shown = placed(plan, Workspace(tmp_path), None, only_shown=True)
    assert shown == [f"{what} '{path}' not found; give its path relative to the workspace"]
    path.mkdir(parents=True) if what == "data directory" else (path.parent.mkdir(), path.touch())
    found = placed(plan, Workspace(tmp_path), None, only_shown=False)[-1]
    missing = ("inputs", "forward", "reference") if what == "operator file" else ()
    assert found == [f"here/net.py: function '{name}' not found" for name in missing]
