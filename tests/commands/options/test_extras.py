"""Options that require a package which is not installed: the command ends before its work, and names the extra."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.commands.options import extras
from tests.in_process import hpcbench

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    found = importlib.util.find_spec

    def hide(*modules: str) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in modules else found(name))

    return hide


@pytest.mark.parametrize(
    ("arguments", "missing", "message"),
    [
        (("report", "--html", "a.html"), ("altair",), "--html a.html requires altair, which is not installed"),
        (("report", "--figures", "plots"), ("vl_convert",), "--figures requires vl-convert-python, which is not"),
        (
            ("report", "--parquet", "a.parquet"),
            ("pyarrow",),
            "--parquet a.parquet requires pyarrow, which is not installed",
        ),
        (("open",), ("altair", "vl_convert"), "hpcbench open requires altair and vl-convert-python, which are not"),
        (("history", "nightly", "--html", "-"), ("altair",), "--html - requires altair, which is not installed"),
        (
            ("history", "nightly", "--figures", "plots"),
            ("altair", "vl_convert"),
            "--figures requires altair and vl-convert-python, which are not installed",
        ),
    ],
)
def test_a_missing_package_is_named_before_a_sweep_is_opened(
    arguments: tuple[str, ...], missing: tuple[str, ...], message: str, without: Callable[..., None], tmp_path: Path
) -> None:
    """There is no workspace either, which would be the next error."""
    without(*missing)
    done = hpcbench(arguments, tmp_path, {})
    assert done.returncode == 2
    assert message in done.stderr
    assert "pip install '.[report]'" in done.stderr


def test_what_needs_no_extra_runs_without(without: Callable[..., None], tmp_path: Path) -> None:
    without("altair", "vl_convert", "pyarrow")
    done = hpcbench(("report", "--csv", "-"), tmp_path, {})
    assert done.stderr.startswith("error: no sweep found in this workspace"), "not an error about packages"


def test_the_packages_are_those_of_the_extra() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11")
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project: dict[str, Any] = tomllib.load(file)["project"]
    optional = project["optional-dependencies"]
    of_extras = {requirement.split(">")[0] for name in ("report", "predict") for requirement in optional[name]}
    assert of_extras == set(extras._PACKAGES.values())
    assert not of_extras & {requirement.split(">")[0] for requirement in project["dependencies"]}
