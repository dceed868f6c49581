"""What tools/audit makes of pip-audit's answers, with a made-up pip-audit."""

from __future__ import annotations

import json
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[1] / "tools" / "audit"


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, with a pip-audit that prints the file `answer`."""
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/answer\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    spec = spec_from_loader("audit", SourceFileLoader("audit", str(PROGRAM)))
    assert spec is not None
    module = module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "answer",
    [
        *([], {}, None, {"dependencies": None}, {"dependencies": ["x"]}, {"dependencies": [{}]}),
        *(
            {"dependencies": [{"vulns": [{}]}]},
            {"dependencies": [{"name": "x", "version": "1", "vulns": [{"id": "1"}]}]},
        ),
    ],
)
def test_another_format_is_told_and_no_failure(
    answer: Any, audit: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "answer").write_text(json.dumps(answer))
    assert audit.main() == 0
    assert "pip-audit: not checked: it answers in another format: " in capsys.readouterr().out


@pytest.mark.parametrize(("fixed_in", "status"), [(["2"], 1), ([], 0)])
def test_a_vulnerability_with_a_remedy_is_a_failure(
    fixed_in: list[str], status: int, audit: ModuleType, tmp_path: Path
) -> None:
    package = {"name": "x", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": fixed_in}]}
    (tmp_path / "answer").write_text(json.dumps({"dependencies": [package]}))
    assert audit.main() == status
