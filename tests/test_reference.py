"""The reference of the documentation is complete: its generated parts, variables, states and JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import reference
from reference_parts.commands import every_command
from reference_parts.tables import markdown_table

from hpcbench.core.status import STATUSES
from hpcbench.core.variables.performance import effect

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def rows(text: str, heading: str) -> dict[str, str]:
    """Return the first two cells of each row of the tables below a heading."""
    section = text.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE))


def test_each_generated_part_is_in_a_page() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in reference.PAGES)
    assert [name for name in reference.PARTS if f"<!-- {name}: made by `make docs` -->" not in texts] == []


def test_a_part_is_replaced_and_the_rest_stays() -> None:
    text = "a\n<!-- models: made by `make docs` -->\nold\n<!-- end of models -->\nb\n"
    made = reference.with_parts(text)
    assert made.startswith("a\n<!-- models: made by `make docs` -->\n\n| ")
    assert made.endswith("|\n\n<!-- end of models -->\nb\n")
    assert "old" not in made
    assert reference.with_parts(made) == made


def test_an_unknown_part_is_an_error() -> None:
    with pytest.raises(KeyError, match="modles"):
        reference.with_parts("<!-- modles: made by `make docs` -->\n<!-- end of modles -->")


def test_a_bar_in_a_cell_ends_no_cell() -> None:
    assert markdown_table(["a"], [["`x|y`"], ["x|y"]])[2:] == ["| <code>x&#124;y</code> |", "| x&#124;y |"]


@pytest.mark.parametrize("words", [" ".join(each.words) for each in every_command()])
def test_each_command_has_a_section_with_its_options(words: str) -> None:
    (command,) = [each.command for each in every_command() if " ".join(each.words) == words]
    section = re.split(r"\n##+ ", page("cli").partition(f"# hpcbench {words}\n")[2])[0]
    assert section.startswith(f"\n```text\nhpcbench {words}")
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    named = set(re.findall(r"(?<![\w-])--?[\w-]+", section))
    assert [each.name for each in options if not named.issuperset(each.opts)] == []
    assert isinstance(command, click.Group) or "**Exit status**\n\n- 0 success\n" in section


def test_no_default_is_left_in_the_meaning_of_an_option() -> None:
    assert "[default" not in page("cli").replace("[default: latest]", "")


def test_each_variable_in_the_code_is_documented() -> None:
    files = [*(ROOT / "hpcbench").rglob("*.py"), *(ROOT / "templates").rglob("*.j2")]
    found = {name for file in files for name in re.findall(r"\bHPCBENCH_[A-Z_]*[A-Z]\b", file.read_text("utf-8"))}
    assert {"HPCBENCH_RUN", "HPCBENCH_SITE", "HPCBENCH_SWEEP_DRY_RUN"} < found
    missing = {name for name in found if f"`{name}`" not in page("variables")}
    assert missing - {"HPCBENCH_COMMAND_OPTION", "HPCBENCH_COMPLETE", "HPCBENCH_RESUME"} == set()


def test_variables_that_change_measurements_are_listed_by_their_effect() -> None:
    listed = rows(page("variables"), "## Variables that change measurements")
    wrong = {
        name: effect(name)
        for kind, names in listed.items()
        for name in re.findall("`(.+?)`", names)
        if effect(name) != kind
    }
    assert len(listed) > 5
    assert wrong == {}
    assert [effect(name) for name in ("CUDA_HOME", "CUDA_VISIBLE_DEVICES")] == [None, None]


def test_each_status_of_a_record_is_documented() -> None:
    assert [key.strip("`") for key in rows(page("record"), "## Status")][1:] == list(STATUSES)


REPORT = """name: one
parameters: {framework: command, command: "sh -c 'echo rate: {{ n }}; exit {{ n // 2 }}'"}
matrix: {n: [0, 1, 2]}
same_workload: [n]
metrics: {rate: {regex: 'rate: (.+)', unit: it/s}}
measure: {repetitions: 1, retries: 0}
"""
# The columns of cases are on another page; the keys of `cases` and `runs` of a sweep are states.
OPEN = {"cases", "runs"}


@pytest.mark.integration
def test_each_key_of_a_report_as_json_is_documented(command_line: Any) -> None:
    (command_line.workspace / "one.yaml").write_text(REPORT)
    command_line("sweep", "one.yaml", "--local", "--no-fail-fast", expect=None)
    document = json.loads(command_line("report", "--json", expect=None).stdout)
    assert document["failures"]
    assert document["best_cases"]
    missing = {key for key in keys(document) if f"`{key}`" not in page("report-json")}
    assert missing == set()


def keys(value: Any, prefix: str = "") -> Iterator[str]:
    """Yield the keys of a JSON document; those of `usage` with it, as `usage.price`."""
    if isinstance(value, list):
        for each in value:
            yield from keys(each)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        yield f"{prefix}{key}"
        if key not in OPEN:
            yield from keys(inner, "usage." if key == "usage" else "")
