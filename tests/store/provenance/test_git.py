"""What differs from the commit of a workspace, in a real git."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.store.provenance import git
from tests.store.provenance.conftest import run


def test_a_folder_that_is_no_checkout_has_no_changes(tmp_path: Path) -> None:
    assert git.changes(tmp_path) is None
    assert git.git_state(tmp_path) is None


def test_a_clean_checkout_has_no_diff(checkout: Path) -> None:
    assert git.changes(checkout) == git.Changes("", False, 0, (), 0)
    state = git.git_state(checkout)
    assert state is not None
    assert state == {"commit": run(checkout, "rev-parse", "HEAD").strip(), "dirty": False}


def test_the_diff_makes_the_same_files_again(checkout: Path, tmp_path: Path) -> None:
    (checkout / "below").mkdir()
    (checkout / "code.py").write_bytes("zweite Zeile: \xfc\n".encode("latin-1"))
    (checkout / "staged.py").write_text("new\n")
    run(checkout, "add", "staged.py")
    found = git.changes(checkout / "below")  # a workspace may lie anywhere in it
    assert found is not None
    diff = tmp_path / "workspace.diff"
    diff.write_text(found.diff, encoding="utf-8", errors="surrogateescape")
    again = tmp_path / "again"
    run(tmp_path, "clone", "-q", str(checkout), str(again))
    run(again, "apply", str(diff))
    assert (again / "code.py").read_bytes() == (checkout / "code.py").read_bytes()
    assert (again / "staged.py").read_text() == "new\n"


def test_secrets_are_not_in_it(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "t0ken-of-mine")
    (checkout / "code.py").write_text("API_KEY=abcdefgh\ncurl t0ken-of-mine\n")
    found = git.changes(checkout)
    assert found is not None
    assert "abcdefgh" not in found.diff
    assert "t0ken-of-mine" not in found.diff
    assert found.redacted == 2


def test_a_large_diff_is_cut_at_a_line(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "code.py").write_text("".join(f"line {number}\n" for number in range(10_000)))
    monkeypatch.setattr(git, "MAX_BYTES", 5000)
    found = git.changes(checkout)
    assert found is not None
    assert found.cut
    assert len(found.diff) <= 5000
    assert found.diff.endswith("\n")


def test_a_git_that_takes_too_long_is_not_waited_for(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "code.py").write_text("again\n")  # as long as before: it has to be looked at
    run(checkout, "config", "filter.slow.clean", "sleep 5; cat")
    (checkout / ".gitattributes").write_text("code.py filter=slow\n")
    monkeypatch.setattr(git, "TIMEOUT_S", 0.5)
    found = git.changes(checkout)
    assert found is not None
    assert (found.diff, found.cut) == ("", True)
    state = git.git_state(checkout)
    assert state is not None
    assert state["dirty"] is None, "nobody knows"


def test_untracked_files_are_named_and_not_read(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / ".gitignore").write_text("ignored\n")
    for name in ("ignored", "a file", "notes", "data/one", "data/two"):
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).write_text("content")
    found = git.changes(checkout)
    assert found is not None
    assert found.untracked == (".gitignore", "a file", "data/", "notes")
    assert "content" not in found.diff
    monkeypatch.setattr(git, "MAX_NAMES", 3)
    found = git.changes(checkout)
    assert found is not None
    assert (len(found.untracked), found.more_untracked) == (3, 1)


def test_nothing_of_the_users_settings_runs_for_a_diff(checkout: Path, tmp_path: Path) -> None:
    (checkout / "code.py").write_text("second\n")
    run(checkout, "config", "diff.external", f"touch {tmp_path}/pwned #")
    run(checkout, "config", "color.ui", "always")
    found = git.changes(checkout)
    assert found is not None
    assert "+second" in found.diff.splitlines()
    assert not (tmp_path / "pwned").exists()
