"""What the README shows is true: its files plan, and its commands exist."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from hpcbench import cli
from hpcbench.analysis.studies.reporting_rules import RULES
from hpcbench.collect.table import PARAMETERS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
YAML = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)


def test_the_file_that_is_shown_whole_is_the_shipped_one():
    text = (ROOT / "configs" / "experiments" / "lstm-threads.yaml").read_text(encoding="utf-8")
    comment, _, shipped = text.partition("\n")
    assert comment.startswith("# yaml-language-server: ")
    assert re.sub(r" +#.*", "", YAML[0]) == shipped


def test_every_command_is_in_the_table():
    table = README.partition("## Commands")[2].partition("\n## ")[0]
    for command in cli.FOLDERS:
        assert f"`{command}`" in table


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 200


def test_every_link_to_a_file_has_one():
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_rule_for_reports_is_in_the_docs_under_its_name():
    page = (ROOT / "docs" / "concepts" / "twelve-rules.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| (\d+) ([a-z ]+): ", page, re.MULTILINE)
    assert told == [(str(number), rule.name) for number, rule in RULES.items()]


def test_every_column_of_each_level_is_in_the_docs(command_line):
    described = (ROOT / "docs" / "reference" / "columns.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in described.splitlines() if line.startswith("|")]
    names = [name.replace("...", "*") for cell in cells for name in re.findall("`(.+?)`", cell)]
    experiment = "name: one\nparameters: {framework: command, command: 'true'}\nmeasure: {repetitions: 1, retries: 0}\n"
    (command_line.workspace / "one.yaml").write_text(experiment)
    command_line("sweep", "one.yaml", "--local")
    for level in ("case", "run", "measurement"):
        columns = set(command_line.report("--level", level)[0]) - set(PARAMETERS)
        assert [column for column in columns if not any(fnmatchcase(column, name) for name in names)] == [], level
