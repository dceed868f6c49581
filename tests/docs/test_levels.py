"""The pages of the levels name only keys, columns, commands and pages that exist."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from hpcbench.cli import group
from hpcbench.core.frameworks import FRAMEWORKS, STRATEGIES, TASKS
from hpcbench.models import catalog
from hpcbench.models.operators.catalog import OPERATORS
from hpcbench.models.optimizers import OPTIMIZERS
from tests.conftest import CommandLine

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted((DOCS / "levels").glob("*.md"))
NAMED = re.compile(r"(\w+) `([^`]+)`")


def rows() -> list[list[str]]:
    """Return the cells of the table of the parts of Deep500: level, name, what hpcbench has, page."""
    text = (DOCS / "levels" / "index.md").read_text(encoding="utf-8")
    table = text.partition("<!-- parts")[2].partition("<!-- end of parts -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def reference(page: str) -> set[str]:
    """Return the names in the first columns of the tables of a reference page."""
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}


def has_option(text: str) -> bool:
    """Return whether `report --csv` is an option of a command."""
    command, option = text.split()
    found = group.get_command(click.Context(group), command)
    return found is not None and any(option in parameter.opts for parameter in found.params)


def known(kind: str, name: str) -> bool:
    kinds: dict[str, Any] = {
        "task": TASKS,
        "operator": OPERATORS,
        "model": catalog.MODELS,
        "framework": FRAMEWORKS,
        "strategy": STRATEGIES,
        "optimizer": {*OPTIMIZERS, *reference("parameters")},
        "parameter": reference("parameters"),
        "column": reference("columns"),
        "JSON": reference("report-json"),
        "record": reference("record"),
        "experiment": {file.stem for file in (ROOT / "configs" / "experiments").glob("*.yaml")},
        "command": group.list_commands(click.Context(group)),
    }
    return has_option(name) if kind == "option" else name in kinds[kind]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[1])
def test_each_part_of_deep500_names_what_exists(row: list[str]) -> None:
    level, _, ours, page = row
    assert level in "0123"
    named = NAMED.findall(ours)
    assert named
    assert [f"{kind} `{name}`" for kind, name in named] == ours.split(", ")
    assert [(kind, name) for kind, name in named if not known(kind, name)] == []
    assert page.startswith("[")


def test_a_name_that_does_not_exist_would_be_found() -> None:
    for kind in ("task", "operator", "optimizer", "column", "JSON", "experiment", "command"):
        assert not known(kind, "unheard_of")
    assert not known("option", "report --unheard-of")


def test_all_levels_have_parts_and_a_page() -> None:
    assert {row[0] for row in rows()} == set("0123")
    assert [page.stem for page in PAGES] == ["distributed", "index", "networks", "operators", "training"]
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.stem for page in PAGES if f"levels/{page.name}" not in navigation] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.is_file(), target
        headings = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_in_console_blocks_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ hpcbench (\w+)", text, re.MULTILINE)
    assert set(commands) <= set(group.list_commands(click.Context(group)))
    shipped = {file.stem for file in (ROOT / "configs" / "experiments").glob("*.yaml")}
    names = re.findall(r"^\$ hpcbench (?:sweep|profile) ([\w-]+)(?= |$)", text, re.MULTILINE)
    assert set(names) <= shipped


def planned(invoke: CommandLine, experiment: str, *where: str) -> list[dict[str, Any]]:
    data = invoke.workspace / "configs" / "data"
    data.mkdir(parents=True)
    shutil.copy(ROOT / "configs" / "data" / "digits.npz", data)
    plan = json.loads(invoke("sweep", experiment, *(where or ("--local",)), "--dry-run", "--json").stdout)
    assert not [warning for warning in plan["warnings"] if "is not built" not in warning]  # an environment
    return [case["parameters"] for case in plan["cases"]]


def test_the_experiment_levels_has_validated_cases_of_all_levels(invoke: CommandLine) -> None:
    cases = planned(invoke, "levels")
    alone = [case for case in cases if case["tasks_per_node"] == 1]
    for task in TASKS:
        assert [case for case in alone if case["task"] == task and case["validate"] == (task != "input_pipeline")], task
    several = {case["strategy"] for case in cases if case["tasks_per_node"] > 1}
    assert {"ddp", "fsdp", "local_sgd", "neighbors"} <= several


def test_the_experiment_strategies_compares_each_strategy_with_one_task(invoke: CommandLine) -> None:
    cases = planned(invoke, "strategies")
    pairs = {(case["framework"], case["strategy"]) for case in cases}
    assert pairs == {
        (name, strategy)
        for name, framework in FRAMEWORKS.items()
        for strategy in framework.strategies
        if framework.trains and (strategy != "horovod" or name == "pytorch")
    }
    assert {case["batch_size"] * case["tasks_per_node"] for case in cases} == {32}
    assert len({case["seed"] for case in cases}) == 3
    assert {case["tasks_per_node"] for case in cases if case["strategy"] != "single"} == {2}


def test_the_experiment_communication_has_each_strategy_on_two_and_four_tasks(invoke: CommandLine) -> None:
    cases = planned(invoke, "communication", "--site", "cpu-cluster")
    strategies = {strategy for framework in FRAMEWORKS.values() for strategy in framework.strategies} - {"single"}
    for tasks in (2, 4):
        assert {case["strategy"] for case in cases if case["nodes"] * case["tasks_per_node"] == tasks} == strategies
