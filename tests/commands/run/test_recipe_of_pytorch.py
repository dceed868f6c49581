"""The shipped recipe with the real PyTorch, from the experiment to the verdict and the exit status."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import CommandLine

pytestmark = pytest.mark.torch

CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.fixture
def workspace(tmp_path: Path) -> CommandLine:
    """A workspace with the data of the recipe."""
    data = tmp_path / "configs" / "data"
    data.mkdir(parents=True)
    shutil.copy(CONFIGS / "data" / "digits.npz", data)
    return CommandLine(tmp_path)


def verdict(workspace: CommandLine, *changes: str, expect: int) -> tuple[str, int]:
    """Train with one seed; return what `report` says of `accept`, and the number of failed tests in its JUnit file.

    `sweep` exits with 1 if the run fails, which a run does that misses its target.
    """
    one = ("--set", "matrix.seed=[0]", "--name", "recipe")
    workspace("sweep", "recipe", "--local", "--no-fail-fast", *one, *changes, expect=expect)
    said = workspace("report", "recipe", "--junit", "recipe.xml", expect=expect).stdout
    tests = ElementTree.parse(workspace.workspace / "recipe.xml").iter("testcase")  # noqa: S314 - written by us
    return said, sum(len(test) > 0 for test in tests)


def test_the_recipe_is_accepted(workspace: CommandLine) -> None:
    said, failed = verdict(workspace, expect=0)
    assert "accept: 1 of 1 case accepted\n" in said
    assert failed == 0


def test_the_recipe_is_rejected_with_a_learning_rate_near_0(workspace: CommandLine) -> None:
    changes = ("--set", "optimizer.learning_rate=1.0e-9", "--set", "max_epochs=2")
    said, failed = verdict(workspace, *changes, expect=1)
    assert "accept: 0 of 1 case accepted, 1 rejected\n" in said
    assert ": required >= 0.95" in said
    assert failed == 2  # the condition, and the run, which missed its target
