"""The files that the guides show are valid: they plan, run and load as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hpcbench.config.recipe import load_recipe
from hpcbench.config.yaml_document import parse_yaml

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
BENCH = """
import sys

print("rate: 7.5")
print('{"loss": 3}\\n{"loss": 0.25}')
print("checksum ok")
with open(sys.argv[sys.argv.index("--csv") + 1], "w") as file:
    file.write("step,step time\\n1,4\\n2,6\\n")
"""


def shown(guide: str, start: str) -> str:
    """Return the YAML block of a guide that has this line."""
    blocks = re.findall(r"```yaml\n(.*?)```", (GUIDES / f"{guide}.md").read_text(encoding="utf-8"), re.DOTALL)
    (block,) = [block for block in blocks if start in block.splitlines()]
    return block


def test_the_ways_to_make_cases_plan_as_they_stand(command_line):
    (command_line.workspace / "ways.yaml").write_text(shown("experiment", "name: devices"))
    plan = command_line("sweep", "ways.yaml", "--site", "laptop", "--dry-run").stdout
    assert "42 cases" in plan  # 7 x 4 x 2, less 14 and 2 that are excluded, and 2 that are included


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
