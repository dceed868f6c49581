"""CITATION.cff and the metadata of the package agree."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import hpcbench

REPOSITORY = Path(__file__).parents[2]
# The Citation File Format 1.2.0 requires these; the others are optional (https://citation-file-format.github.io).
REQUIRED = {"cff-version", "message", "title", "authors"}
OPTIONAL = {"type", "abstract", "version", "license", "repository-code", "url", "keywords"}


def test_the_citation_is_of_this_version_and_license() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert REQUIRED <= citation.keys() <= REQUIRED | OPTIONAL
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert citation["version"] == hpcbench.__version__
    assert citation["authors"] == [{"name": "hpcbench developers"}]
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["license"] == project["license"]
    assert citation["repository-code"] == project["urls"]["Repository"]
    assert citation["keywords"] == project["keywords"]


def test_all_is_every_extra_of_users() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11")
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert extras["all"] == ["hpcbench-dl[predict,report,tune]"]
    assert set(extras) == {"pytorch", "report", "tune", "predict", "all", "test", "dev", "site"}
