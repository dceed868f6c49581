"""The results of tools/slurm_versions.py for the tests of a release, with a fake Slurm and fake tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import slurm_versions
from slurm_versions import Outcome, Release, main, run_release, version_table

pytestmark = pytest.mark.integration

TESTS = """
import os, pytest

@pytest.mark.versions("cancel")
def test_one(): assert os.environ["CLUSTER_RELEASE"] == "trixie"

@pytest.mark.versions("cancel")
def test_two(): assert os.environ["PATH"].startswith(os.getcwd()), "the programs of the release come first"

@pytest.mark.versions("limits")
def test_three(): assert False

@pytest.mark.versions("doctor")
def test_four(): pytest.skip("no Slurm could be started here")

@pytest.mark.versions("doctor")
def test_five(): pass

def test_without_the_mark(): assert False
"""
CONFTEST = (Path(__file__).parent / "cluster" / "conftest.py").read_text()
HOOK = CONFTEST[CONFTEST.index("def pytest_collection_modifyitems") : CONFTEST.index("def start_cluster")]
UNPACKS = (
    'mkdir -p programs && echo 24.11.5 > version && case $1 in trixie) pwd;; *) echo "no such suite" >&2; exit 3; esac'
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the real hook, made-up tests, and a tools/slurm-release that has one suite."""
    files = {
        "tools/slurm-release": f"#!/bin/sh\ncd {tmp_path}\n{UNPACKS}\n",
        "tests/cluster/conftest.py": f"from __future__ import annotations\nimport pytest\n\n{HOOK}",
        "tests/cluster/test_it.py": TESTS,
        "pytest.ini": "[pytest]\nmarkers =\n    versions: v\n    slurm: s\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setattr(slurm_versions, "ROOT", tmp_path)
    monkeypatch.setattr(slurm_versions, "RESULTS", tmp_path / "results.json")
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def test_each_marked_test_has_an_outcome_with_its_feature(project: Path) -> None:
    assert run_release("trixie", ["-q"]) == Release(
        "trixie",
        "24.11.5",
        tests=(
            Outcome("cancel", "test_one", "passed"),
            Outcome("cancel", "test_two", "passed"),
            Outcome("limits", "test_three", "failed"),
            Outcome("doctor", "test_four", "not run", "no Slurm could be started here"),
            Outcome("doctor", "test_five", "passed"),
        ),
    )


def test_an_unavailable_suite_is_not_run_and_never_passed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["slurm_versions.py", "potato"])
    assert main() == 0
    assert "potato: Slurm unknown: not run no such suite" in capsys.readouterr().out
    monkeypatch.setenv("CI", "true")
    assert main() == 1


def test_a_run_of_some_tests_replaces_only_their_results(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["slurm_versions.py", "trixie"])
    assert main() == 1
    tests = project / "tests" / "cluster" / "test_it.py"
    tests.write_text(TESTS.replace("assert False", "pass"))
    monkeypatch.setattr(sys, "argv", ["slurm_versions.py", "trixie", "--pytest=-kthree"])
    assert main() == 0
    (release,) = slurm_versions.saved()
    assert [test.outcome for test in release.tests] == ["passed", "passed", "passed", "not run", "passed"]


def test_the_table_names_what_failed_and_what_was_not_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["slurm_versions.py", "trixie", "potato"])
    assert main() == 1
    assert version_table() == [
        "| feature | 24.11.5 (trixie) | unknown version (potato) |",
        "|---|---|---|",
        "| cancel | passed | not run |",
        "| doctor | not run (1 of 2) | not run |",
        "| limits | failed | not run |",
        "",
        "- potato: not run (no such suite)",
        "- trixie, `test_three`: failed",
        "- trixie, `test_four`: not run (no Slurm could be started here)",
    ]
