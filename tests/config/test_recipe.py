"""The recipe of an environment: what it may say, and that the shipped ones are sound."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hpcbench.config.recipe import Recipe, load_recipe
from hpcbench.config.yaml_document import load_yaml, parse_yaml
from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.errors import UserError
from hpcbench.util.package_data import shipped

SHIPPED = sorted((shipped("configs") / "environments").glob("*.yaml"))
START = 'description: a\npython: ">=3.8,<3.12"\nimports: [tiny]\n'


def recipe(steps: str = "steps: [{install: [tiny==1.0]}]") -> Recipe:
    return load_recipe(parse_yaml(START + steps, "mine.yaml"))


def test_every_framework_every_horovod_and_the_libraries_of_models_have_a_recipe() -> None:
    horovod = {f"horovod-{name}" for name, each in FRAMEWORKS.items() if "horovod" in each.strategies}
    assert {file.stem for file in SHIPPED} == {*FRAMEWORKS, *horovod, "pytorch-zoo"}


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_a_shipped_recipe_pins_what_was_tested(file: Path) -> None:
    found = load_recipe(load_yaml(file))
    assert all(step.pinned for step in found.steps)
    assert found.allows("3.11.2")
    assert "<" in found.python, "nobody has tried it with the Pythons to come"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("steps: []", "mine.yaml:4: steps", "at least 1"),
        ("steps: [{install: []}]", "mine.yaml:4: steps[0].install", "at least 1"),
        ("steps: [{install: [--pre]}]", "mine.yaml:4: steps[0].install", "not a requirement for pip"),
        ("steps: [{install: ['a b']}]", "mine.yaml:4: steps[0].install", "not a requirement for pip"),
        ("steps: [{install: [a], instal: [a]}]", "mine.yaml:4: steps[0].instal", "did you mean 'install'"),
        ("steps: [{install: [a], env: {1A: x}}]", "mine.yaml:4: steps[0].env", "'1A' is not the name"),
        ("steps: [{install: [a], compile: {cxx_standard: 18}}]", "steps[0].compile.cxx_standard", "11, 14, 17"),
        ("steps: [{install: [a], compile: {tools: [-r]}}]", "steps[0].compile.tools", "not a requirement"),
        ("steps: [{install: [a], compile: {needed: [g++]}}]", "steps[0].compile.needed", "did you mean 'needs'"),
    ],
)
def test_a_wrong_recipe_is_refused_with_its_place(text: str, place: str, words: str) -> None:
    with pytest.raises(UserError, match=r"mine\.yaml") as caught:
        recipe(text)
    assert place in str(caught.value)
    assert words in str(caught.value)


def test_a_wrong_range_of_pythons_is_refused() -> None:
    text = (START + "steps: [{install: [a]}]").replace(">=3.8,<3.12", "3.8 or so")
    with pytest.raises(UserError, match=r"mine\.yaml:2: python: .* is not valid\n  write versions like"):
        load_recipe(parse_yaml(text, "mine.yaml"))


@pytest.mark.parametrize(
    ("version", "allowed"),
    [("3.7.17", False), ("3.8.0", True), ("3.11.7", True), ("3.12.0", False), ("3.12.0rc1", False)],
)
def test_a_recipe_knows_which_pythons_it_works_with(version: str, allowed: bool) -> None:
    assert recipe().allows(version) is allowed


@pytest.mark.parametrize(
    ("install", "pinned"),
    [("a==1.0", True), ("a==1.0+cpu", True), ("a==1.*", False), ("a>=1", False), ("a", False), ("a==1,<2", True)],
)
def test_only_one_exact_version_is_a_pin(install: str, pinned: bool) -> None:
    assert recipe(f"steps: [{{install: ['{install}']}}]").steps[0].pinned is pinned


def test_the_digest_changes_with_what_is_built_and_with_nothing_else() -> None:
    base = recipe()
    assert recipe("steps: [{install: [tiny==1.0]}]  # in other words").digest == base.digest
    assert base.model_copy(update={"description": "b", "python": ">=3.9"}).digest == base.digest
    for other in ("[{install: [tiny==1.1]}]", "[{install: [tiny==1.0], env: {A: 1}}]", "[{install: [tiny==1.0]}] "):
        assert (recipe(f"steps: {other}").digest == base.digest) is other.endswith(" ")


def test_packages_go_by_their_canonical_names() -> None:
    found = recipe("steps: [{install: [Tiny_Thing==1.0, 'PyYAML>=6']}, {install: [tiny.thing==1.0]}]")
    assert found.packages == ["tiny-thing", "pyyaml"]


def test_a_horovod_of_a_recipe_is_compiled_by_the_standard_of_its_framework() -> None:
    for file in SHIPPED:
        for step in load_recipe(load_yaml(file)).steps:
            if any(Requirement(text).name == "horovod" for text in step.install):
                assert step.compile is not None
                assert step.compile.cxx_standard == 17
