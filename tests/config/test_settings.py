"""What is derived from the declaration of a setting: its parameter, its column, its place in a search."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pydantic import ValidationError

from hpcbench.collect.table import PARAMETERS
from hpcbench.config.parameters import Parameters
from hpcbench.config.workload import fields
from hpcbench.core.frameworks import CHOICES, FRAMEWORKS, SETTING_NAMES, SETTINGS, Setting

WRONG = {int: [0, -1, 1.5, "2", True], bool: [1, "true"], str: ["", 1]}


@pytest.mark.parametrize("setting", SETTINGS, ids=SETTING_NAMES)
def test_a_setting_is_a_parameter_a_column_and_a_choice_of_a_search(setting: Setting) -> None:
    field = Parameters.model_fields[setting.name]
    assert (field.default, field.description) == (setting.default, setting.description)
    assert setting.name in PARAMETERS
    assert setting.name in CHOICES
    assert set(setting.frameworks or ()) | {framework for framework, _ in setting.calls} <= set(FRAMEWORKS)


@pytest.mark.parametrize("setting", SETTINGS, ids=SETTING_NAMES)
def test_a_value_that_is_not_declared_is_refused(setting: Setting) -> None:
    wrong = [*WRONG[setting.kind], *(["another"] if setting.values else []), *_too_large(setting)]
    for value in wrong:
        given = {"framework": "pytorch", "model": "lstm", setting.name: value}
        with pytest.raises(ValidationError) as refused:
            Parameters.model_validate(given)
        assert refused.value.errors()[0]["loc"] == (setting.name,)


def _too_large(setting: Setting) -> list[int]:
    return [] if setting.maximum is None else [setting.maximum + 1]


def test_the_types_for_mypy_name_declared_settings() -> None:
    tree = ast.parse(Path(fields.__file__).read_text())
    (typed,) = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "Settings"]
    named = [node.target.id for node in typed.body if isinstance(node, ast.AnnAssign)]  # type: ignore[union-attr]
    assert named
    assert set(named) <= {*SETTING_NAMES, "validate"}
