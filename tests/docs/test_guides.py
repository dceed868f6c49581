"""The files that the guides show are valid: they plan, run and load as they stand."""

from __future__ import annotations

import io
import json
import re
import shutil
import textwrap
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from hpcbench.config.recipe import load_recipe
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.core.record import Record
from hpcbench.report.load.results import results_of
from hpcbench.report.terminal.results import print_report

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
BENCH = """
import sys

print("rate: 7.5")
print('{"loss": 3}\\n{"loss": 0.25}')
print("checksum ok")
with open(sys.argv[sys.argv.index("--csv") + 1], "w") as file:
    file.write("step,step time\\n1,4\\n2,6\\n")
"""
# The models of the guide of own models, next to nets:build, with the shape of an item and its elements.
OWN = {
    "keras_nets:build": ("keras-torch", [3, 4], 12),
    "flax_nets:Net": ("jax", [3, 4], 12),
    "flax_nets:build": ("jax", [128], 128),
}
QUICK = "measure={max_warmup_s: 0, min_time_s: 0.05, max_time_s: 0.1, repetitions: 1, retries: 0}"


def shown(guide: str, start: str) -> str:
    """Return the YAML block of a guide that has this line."""
    blocks = re.findall(r"```yaml\n(.*?)```", (GUIDES / f"{guide}.md").read_text(encoding="utf-8"), re.DOTALL)
    (block,) = [block for block in blocks if start in block.splitlines()]
    return block


def test_the_ways_to_make_cases_plan_as_they_stand(command_line):
    (command_line.workspace / "ways.yaml").write_text(shown("experiment", "name: devices"))
    plan = command_line("sweep", "ways.yaml", "--site", "laptop", "--dry-run").stdout
    assert "42 cases" in plan  # 7 x 4 x 2, less 14 and 2 that are excluded, and 2 that are included


@pytest.mark.parametrize(("guide", "name", "cases"), [("operators", "deepbench-gemm", 160), ("operators", "sums", 14)])
def test_a_shipped_csv_file_is_used_without_a_warning(command_line, guide: str, name: str, cases: int):
    (command_line.workspace / "csv.yaml").write_text(shown(guide, f"name: {name}"))
    plan = json.loads(command_line("sweep", "csv.yaml", "--site", "cpu-cluster", "--dry-run", "--json").stdout)
    assert (len(plan["cases"]), [each for each in plan["warnings"] if "csv" in each]) == (cases, [])


def test_the_experiment_with_any_program_runs_as_it_stands(command_line):
    (command_line.workspace / "bench.yaml").write_text(shown("programs", "name: bench"))
    (command_line.workspace / "bench.py").write_text(BENCH)
    command_line("sweep", "bench.yaml", "--local", "--set", "measure.repetitions=1")
    rows = command_line.report()
    assert [row["batch_size"] for row in rows] == ["1", "2", "4"]
    for row in rows:
        found = [row["metric_rate_it_per_s"], row["metric_loss"], row["metric_step_ms"]]
        assert found == ["7.5", "0.25", "5.0"]


def test_the_recipe_is_valid():
    recipe = parse_yaml(shown("environments", "description: PyTorch for CUDA"), "environments.md")
    assert load_recipe(recipe).packages == ["torch", "numpy"]


@pytest.mark.parametrize(
    ("name", "cases"), [("vision", 6), ("keras-vision", 6), ("nets", 4), ("exported", 8), ("masked", 1)]
)
def test_experiments_of_the_guide_of_own_models_can_be_planned(command_line, name: str, cases: int):
    for file in ("net.onnx", "net-pruned.onnx"):
        (command_line.workspace / file).touch()
    (command_line.workspace / "own.yaml").write_text(shown("models", f"name: {name}"))
    plan = command_line("sweep", "own.yaml", "--local", "--dry-run").stdout
    assert f"{cases} case" in plan
    assert "not found" not in plan


@pytest.fixture
def modules(command_line) -> dict[str, str]:
    """The Python files of the guide of own models, by name, in the workspace."""
    page = (GUIDES / "models.md").read_text(encoding="utf-8")
    files: dict[str, str] = defaultdict(str)
    for _, block in re.findall(r"^( *)```python\n(.*?)^\1```", page, re.DOTALL | re.MULTILINE):
        text = textwrap.dedent(block)
        files[text.splitlines()[0].removeprefix("# ")] += text
    for name, text in files.items():
        (command_line.workspace / name).write_text(text)
    return files


def parameters_of(inputs: int) -> int:
    """Return the number of weights of a network of the guide: a layer of 64, and one of 10 classes."""
    return inputs * 64 + 64 + 64 * 10 + 10


def test_the_experiment_with_own_models_runs_as_it_stands_and_with_the_step(modules, with_environments):
    command_line = with_environments("pytorch")
    (command_line.workspace / "nets.yaml").write_text(shown("models", "name: nets"))
    one_case = ("model_options={width: 64}", "task=training", "step=nets:train_step", QUICK)
    command_line("sweep", "nets.yaml", "--local", *(f"--set={setting}" for setting in one_case))
    (record,) = command_line.records()
    assert record["status"] == "completed", record["error"]
    assert record["work"]["parameter_count"] == parameters_of(3 * 32 * 32)


@pytest.mark.long
def test_models_of_keras_and_flax_of_the_guide_run(modules, with_environments):
    assert set(modules) == {"nets.py", *(f"{model.partition(':')[0]}.py" for model in OWN)}
    command_line = with_environments("keras-torch", "jax")
    cases = [
        {"framework": framework, "model": model, "input": {"shape": shape}}
        for model, (framework, shape, _) in OWN.items()
    ]
    experiment = command_line.experiment(parameters={"model_options": {}, "batch_size": 2}, include=cases)
    command_line("sweep", experiment, "--local")
    records = command_line.records()
    assert [record["error"] for record in records if record["status"] != "completed"] == []
    found = {record["parameters"]["model"]: record["work"]["parameter_count"] for record in records}
    assert found == {model: parameters_of(inputs) for model, (_, _, inputs) in OWN.items()}


@pytest.mark.long
def test_trainings_on_one_and_two_tasks_are_compared_after_equal_epochs(with_environments):
    command_line = with_environments("pytorch")
    data = command_line.workspace / "configs" / "data"
    data.mkdir(parents=True)
    shutil.copy(GUIDES.parents[1] / "configs" / "data" / "digits.npz", data)
    (command_line.workspace / "equal.yaml").write_text(shown("multi-node", "name: equal-epochs"))
    command_line("sweep", "equal.yaml", "--local", "--set", "exclude=[{strategy: local_sgd}, {seed: 2}]")
    (row,) = json.loads(command_line("report", "--json").stdout)["equal_epochs"]
    assert (row["strategy"], row["base_strategy"], row["equal_batch"]) == ("ddp", "single", "global")
    assert (row["basis"], row["n"], len(row["cases"])) == ("seeds", 2, 2)
    assert row["epoch"] == min(record["learning"]["epochs"] for record in command_line.records()) - 1  # all reached it
    assert 0.5 < row["accuracy"] <= 1


def test_columns_of_communication_are_in_csv_and_not_on_the_terminal(make_record: Callable[..., Record]) -> None:
    text = (GUIDES / "multi-node.md").read_text(encoding="utf-8")
    _, start, rest = text.partition("`report --csv` writes the columns below; the tables of `report`")
    names = re.findall(r"^\| `(communication\w+|expected\w+)` \|", rest.partition("The kernel counts")[0], re.MULTILINE)
    assert start
    assert len(names) == 5
    found = results_of([make_record()])
    assert set(names) <= set(found.cases)
    file = io.StringIO()
    print_report(found, 10, Console(file=file, width=1000))
    assert "communication" not in file.getvalue()
