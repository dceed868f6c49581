"""What the README shows is true: its files plan, and its commands exist."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from hpcbench import cli
from hpcbench.analysis.studies.reporting_rules import RULES
from hpcbench.collect.table import PARAMETERS
from hpcbench.config.recipe import load_recipe
from hpcbench.config.yaml_document import parse_yaml

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
YAML = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)


def test_the_file_that_is_shown_whole_is_the_shipped_one():
    text = (ROOT / "configs" / "experiments" / "lstm-threads.yaml").read_text(encoding="utf-8")
    comment, _, shipped = text.partition("\n")
    assert comment.startswith("# yaml-language-server: ")
    assert re.sub(r" +#.*", "", YAML[0]) == shipped


def test_more_ways_to_make_cases_plan_as_they_stand(command_line):
    (command_line.workspace / "ways.yaml").write_text("name: ways\n" + YAML[1])
    shown = command_line("sweep", "ways.yaml", "--site", "laptop", "--dry-run").stdout
    assert "42 cases" in shown  # 7 x 4 x 2, less 14 and 2 that are excluded, and 2 that are included


BENCH = """#!/bin/sh
echo "rate: 7.5"
echo '{"epochs": [{"loss": 3}, {"loss": 0.25}]}'
echo "checksum ok"
printf 'step,step time\\n1,4\\n2,6\\n' > "$6"
"""


def test_the_experiment_with_any_program_runs_as_it_stands(command_line):
    (experiment,) = [text for text in YAML if "framework: command" in text]
    (command_line.workspace / "bench.yaml").write_text(experiment)
    (command_line.workspace / "bench").write_text(BENCH)
    (command_line.workspace / "bench").chmod(0o755)
    command_line("sweep", "bench.yaml", "--local", "--set", "measure.repetitions=1")
    rows = command_line.report()
    assert [row["batch_size"] for row in rows] == ["1", "2", "4"]
    for row in rows:
        found = [row["metric_rate_it_per_s"], row["metric_loss"], row["metric_step_ms"]]
        assert found == ["7.5", "0.25", "5.0"]


def test_the_recipe_that_is_shown_is_one():
    (recipe,) = [text for text in YAML if "imports:" in text]
    assert load_recipe(parse_yaml(recipe, "README.md")).packages == ["torch", "numpy"]


def test_every_command_is_in_the_table():
    for command in cli.FOLDERS:
        assert f"| `hpcbench {command}" in README


def test_every_rule_for_reports_is_in_the_docs_under_its_name():
    told = re.findall(r"^\| (\d+) ([a-z ]+): ", (ROOT / "docs" / "rules.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert told == [(str(number), rule.name) for number, rule in RULES.items()]


def test_every_column_of_each_level_is_in_the_docs(command_line):
    described = (ROOT / "docs" / "columns.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in described.splitlines() if line.startswith("|")]
    names = [name.replace("...", "*") for cell in cells for name in re.findall("`(.+?)`", cell)]
    experiment = "name: one\nparameters: {framework: command, command: 'true'}\nmeasure: {repetitions: 1, retries: 0}\n"
    (command_line.workspace / "one.yaml").write_text(experiment)
    command_line("sweep", "one.yaml", "--local")
    for level in ("case", "run", "measurement"):
        columns = set(command_line.report("--level", level)[0]) - set(PARAMETERS)
        assert [column for column in columns if not any(fnmatchcase(column, name) for name in names)] == [], level
