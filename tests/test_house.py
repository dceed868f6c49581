"""The figures of tools/house.py, for a synthetic package whose figures are counted by hand."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[1] / "tools" / "house.py"
SHAPES = '''\
"""Shapes.

Two lines and a blank one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import words  # relative

if TYPE_CHECKING:
    from small.node.worker import run

# A comment.
TEXT = """
# no comment

"""


class Shape:
    """A shape."""

    def area(self, side: int, *, half: bool = False) -> int:
        if half and side > 1 or side < 0:
            return [one for one in range(side) if one][0]

        def nested(x):
            return x if x else 0

        return nested(side)

    def _private(self):
        ...


def largest() -> int:
    """Return it."""
    from small.node import worker

    return worker.run()
'''
FILES = {
    "__init__.py": "",
    "node/__init__.py": "",
    "node/worker.py": "def run():\n    return 1\n",
    "core/__init__.py": "",
    "core/words.py": "",
    "report/__init__.py": "",
    "report/shapes.py": SHAPES,
    "report/page.py": "from small.report import shapes, text\n",
    "report/text.py": "import small.report.page\n",
    "cli.py": "from small.report.page import text\n",
}


@pytest.fixture(scope="module")
def house() -> Iterator[ModuleType]:
    sys.path.insert(0, str(PROGRAM.parent))  # as for a program that is started
    spec = spec_from_file_location("house", PROGRAM)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules["house"] = module  # dataclasses look their module up
    assert spec.loader is not None
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(PROGRAM.parent))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / "small" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "small"


@pytest.fixture
def rows(house: ModuleType, package: Path) -> dict[str, Any]:
    return {row.name: row for row in house.measure(house.read_package(package))}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("modules", "10"),
        ("lines", "47"),
        ("lines: code / docstring / comment / blank", "26 / 6 / 1 / 14"),
        ("lines of a file: p50 / p95 / max", "0 / 42 / 42"),
        ("lines of a function: p50 / p95 / max", "2 / 8 / 8"),
        # area: if, and, or, comprehension and its condition; nested: one conditional expression
        ("cyclomatic complexity: mean / p95 / max", "2.2 / 6 / 6"),
        ("fully typed functions", "40.0 % of 5"),
        ("public names with a docstring", "50.0 % of 4"),
        ("files of the largest flat folder", "3"),
        ("modules of the longest import chain", "5"),
        ("import cycles", "1"),
        ("imports: module level / in functions / for types", "5 / 1 / 1"),
        ("login-side files that import node", "1"),
    ],
)
def test_figures(rows: dict[str, Any], name: str, value: str) -> None:
    assert rows[name].value == value


def test_missing_docstrings_are_listed(rows: dict[str, Any]) -> None:
    offenders = rows["public names with a docstring"].offenders
    assert offenders == ["small/node/worker.py:1: run", "small/report/shapes.py:25: Shape.area"]


BASES = """
class Source:
    def read(self):
        \"\"\"Return it.\"\"\"

    def facts(self):
        return {}
"""
OVERRIDES = """
from small import core
from small.core.words import Source as Base
from threading import Thread


class Near(Base):
    def read(self):
        return 1

    def facts(self):
        return 2


class Far(Near, Thread):
    def read(self):
        return 3

    def run(self):
        return 4


class ReExported(core.Source):
    def read(self):
        return 5
"""


def test_a_method_inherits_the_docstring_of_the_package_method_it_overrides(house: ModuleType, package: Path) -> None:
    (package / "core" / "words.py").write_text(BASES)
    (package / "core" / "__init__.py").write_text("from .words import Source\n")
    (package / "cli.py").write_text(OVERRIDES)
    cli = next(module for module in house.read_package(package) if module.name == "small.cli")
    undocumented = [name for name, _, documented in cli.public if not documented]
    assert undocumented == ["Near", "Near.facts", "Far", "Far.run", "ReExported"]


def test_an_import_cycle_is_listed(rows: dict[str, Any]) -> None:
    offenders = rows["import cycles"].offenders
    assert offenders == ["small.report.page -> small.report.text -> small.report.page"]


def test_longest_chain_takes_the_longer_of_two_paths(house: ModuleType) -> None:
    chains = house.longest_chains({"a": {"b", "d"}, "b": {"c"}, "c": {"d"}, "d": set()})
    assert chains["a"] == ["a", "b", "c", "d"]
    assert chains["d"] == ["d"]


def test_percentiles_are_measured_values(house: ModuleType) -> None:
    assert [house.percentile(range(1, 101), percent) for percent in (50, 95, 100)] == [50, 95, 100]
    assert house.percentile([], 95) == 0


def test_status_is_one_only_with_check_and_a_missed_limit(
    house: ModuleType, package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert house.main([str(package)]) == 0
    assert house.main([str(package), "--check"]) == 1
    (package / "report" / "text.py").write_text("")
    (package / "node" / "worker.py").write_text('def run():\n    """Return 1."""\n    return 1\n')
    shapes = package / "report" / "shapes.py"
    shapes.write_text(SHAPES.replace("        if half", '        """Return it."""\n        if half'))
    assert house.main([str(package), "--check"]) == 0
    assert "MISSED" not in capsys.readouterr().out.rsplit("modules  ", 1)[-1]


def test_a_long_function_and_a_long_file_exceed_their_limits(house: ModuleType, package: Path) -> None:
    (package / "cli.py").write_text("def long():\n" + "    x = 1\n" * 400)
    rows = {row.name: row for row in house.measure(house.read_package(package))}
    assert rows["lines of a function: p50 / p95 / max"].offenders == ["small/cli.py:1: long: 401 lines"]
    assert rows["lines of a file: p50 / p95 / max"].offenders == ["small/cli.py:1: 401 lines"]


def test_a_missing_package_is_a_usage_error(house: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        house.main(["/nowhere"])
    assert error.value.code == 2
    assert "directory '/nowhere' not found" in capsys.readouterr().err
