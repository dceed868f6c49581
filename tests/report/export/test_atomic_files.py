"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.report.export.atomic_files import check_target


@pytest.mark.parametrize("exists", [False, True])
def test_a_target_in_a_read_only_folder_is_refused_by_a_simulated_answer_of_the_system(
    exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write to any folder, so the permission is made up."""
    target = tmp_path / "gate.md"
    if exists:
        target.touch()
    check_target(str(target))
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError, match="cannot be written: Permission denied"):
        check_target(str(target))
    check_target(os.devnull)  # a device is not replaced


@pytest.mark.parametrize(("target", "why"), [("no/a.csv", "No such file or directory"), (".", "is a directory")])
def test_a_target_that_cannot_exist_is_refused(target: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=why):
        check_target(str(tmp_path / target))
