"""`hpcbench list` as it is called."""

from __future__ import annotations

import json
import shutil

import pytest

from hpcbench.config.experiment import load_experiment
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.yaml_document import load_yaml
from hpcbench.core.frameworks import TRAINING_FRAMEWORKS
from hpcbench.models.catalog import MODELS
from hpcbench.store.workspace import Workspace
from hpcbench.util.package_data import shipped
from tests.conftest import CommandLine

pytestmark = pytest.mark.integration


def test_sweeps_are_listed_with_states_and_size_the_latest_first(small: CommandLine) -> None:
    jobs = small.workspace / "jobs"
    shutil.copytree(jobs / "small", jobs / "later")
    (jobs / "later" / "sweep.json").touch()
    (jobs / "broken").mkdir()
    (jobs / "broken" / "sweep.json").write_text("[]")
    listed = json.loads(small("list", "sweeps", "--json").stdout)
    assert [each["name"] for each in listed] == ["broken", "later", "small"]
    broken, later, whole = listed
    assert broken["problem"]
    assert later["runs"] == {"without result": 3}
    assert whole["runs"] == {"completed": 2, "failed": 1}
    assert (whole["experiment"], whole["site"]) == ("trial", "laptop")
    assert whole["size_bytes"] > later["size_bytes"] > 100_000
    lines = small("list", "sweeps").stdout.splitlines()
    assert lines[0].split() == ["sweep", "experiment", "site", "created", "(UTC)", "runs", "size"]
    assert "2 completed, 1 failed" in lines[-1]


def test_experiments_are_own_and_shipped_and_a_broken_file_hides_no_other(invoke: CommandLine) -> None:
    own = invoke.workspace / "configs" / "experiments"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("name: mine\ndescription: my own\nmatrix: {batch_size: [1, 2, 3]}\n")
    (own / "quickstart.yaml").write_text("name: quickstart\ntypo: 1\n")
    listed = {each["name"]: each for each in json.loads(invoke("list", "experiments", "--json").stdout)}
    assert listed["mine"]["facts"] == {"points": 3, "description": "my own"}
    assert listed["quickstart"]["origin"] == "workspace"
    assert "unknown key 'typo'" in listed["quickstart"]["problem"]
    assert listed["lstm-threads"]["origin"] == "shipped"
    assert {path.stem for path in (shipped("configs") / "experiments").glob("*.yaml")} <= set(listed)
    assert "unknown key 'typo'" in invoke("list", "experiments").stdout


def test_models_are_listed_with_options_and_work(invoke: CommandLine) -> None:
    listed = {each["name"]: each for each in json.loads(invoke("list", "models", "--json").stdout)}
    assert set(listed) == set(MODELS)
    assert listed["resnet50"]["parameter_count"] == 25_557_032  # He et al., as torchvision has it
    assert listed["mlp"]["frameworks"] == list(TRAINING_FRAMEWORKS)
    assert "timm/NAME" in invoke("list", "models").stdout
    shown = invoke("list", "models", "--help").stdout
    assert ",".join(TRAINING_FRAMEWORKS) in "".join(shown.split()), "lines may end after a hyphen"


def test_devices_are_shipped_and_own(invoke: CommandLine) -> None:
    folder = invoke.workspace / "configs" / "devices"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.yaml").write_text("devices:\n  l4: {board_power_w: 60}\n")
    listed = {each["name"]: each for each in json.loads(invoke("list", "devices", "--json").stdout)}
    assert listed["a100-pcie-40"]["float16_tflops"] == 312
    assert listed["l4"]["power_w"] == 60
    row = next(line.split() for line in invoke("list", "devices").stdout.splitlines() if line.startswith("h100-pcie "))
    assert row == ["h100-pcie", "Hopper", "2022", "51.2", "756", "80", "2,039", "350"]


def test_metrics_are_those_of_a_sweep_or_experiment_and_the_built_in_ones(small: CommandLine) -> None:
    own = {"rate": "higher", "depth": None}
    for named in ("small", "trial", "latest", "trial.yaml"):
        listed = {each["name"]: each for each in json.loads(small("list", "metrics", named, "--json").stdout)}
        assert {name: listed[name]["better"] for name in own} == own, named
        assert listed["throughput"]["better"] == "higher"
    assert "rate" not in [line.split()[0] for line in small("list", "metrics").stdout.splitlines()]
    assert "unknown" in small("list", "metrics", "small").stdout
    assert "neither a sweep nor an experiment" in small("list", "metrics", "nothing", expect=2).stderr
    assert listed["throughput"]["description"].endswith("unknown for commands")
    for name, status in {"throughput": 2, "p99": 1, "rate": 1}.items():  # a run failed
        small("report", "small", "--metric", name, expect=status)


def test_sites_and_environments_are_listed(invoke: CommandLine) -> None:
    own = invoke.workspace / "configs" / "sites"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("name: mine\nscheduler: slurm\nslurm: {partition: fast}\n")
    rows = [line.split() for line in invoke("list", "sites").stdout.splitlines()]
    assert ["mine", "slurm", "fast", str(own / "mine.yaml")] in rows
    assert invoke("list", "environments").stdout == invoke("env", "list").stdout


def test_every_shipped_experiment_can_be_counted() -> None:
    for path in (shipped("configs") / "experiments").glob("*.yaml"):
        document = with_csv_files(load_yaml(path), Workspace(shipped("configs").parent).input_file)
        assert load_experiment(document).description, path.name
