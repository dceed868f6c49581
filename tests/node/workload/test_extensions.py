"""The folder in which the processes of a node build C++ extensions."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

import pytest

from hpcbench.node.errors import Unsupported
from hpcbench.node.workload.extensions import shared_folder, what_is_missing


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR", raising=False)
    return tmp_path


def test_the_folder_is_private_and_set_during_the_import_only(temporary: Path) -> None:
    with shared_folder("axpy.py"):
        folder = Path(os.environ["TORCH_EXTENSIONS_DIR"])
        assert os.environ["PATH"].startswith(f"{Path(sys.executable).parent}{os.pathsep}")
    assert "TORCH_EXTENSIONS_DIR" not in os.environ
    assert folder.is_relative_to(temporary)
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    with shared_folder("other.py"):
        assert os.environ["TORCH_EXTENSIONS_DIR"] != str(folder)


def test_the_folder_of_the_user_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "own"))
    with shared_folder("axpy.py"):
        pass
    assert os.environ["TORCH_EXTENSIONS_DIR"] == str(tmp_path / "own")


def test_what_a_killed_build_has_left_is_removed() -> None:
    with shared_folder("axpy.py"):
        left = Path(os.environ["TORCH_EXTENSIONS_DIR"]) / "axpy" / "lock"
        left.parent.mkdir()
        left.touch()
    with shared_folder("axpy.py"):
        assert not left.exists()


def _build(folder: str, log: str) -> None:
    tempfile.tempdir = folder
    with shared_folder("axpy.py"):
        for word in ("begin", "end"):
            with Path(log).open("a") as file:
                file.write(f"{word}\n")
            time.sleep(0.05)


def test_processes_build_one_after_the_other(temporary: Path) -> None:
    log = temporary / "log"
    processes = [multiprocessing.Process(target=_build, args=(str(temporary), str(log))) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert log.read_text().split() == ["begin", "end"] * 4


def test_a_folder_that_others_can_write_to_is_refused(temporary: Path) -> None:
    folder = temporary / f"hpcbench-extensions-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(Unsupported, match="is not a directory of this user alone"), shared_folder("axpy.py"):
        pass


def test_a_missing_compiler_is_named_if_the_program_builds_extensions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.delitem(sys.modules, "torch.utils.cpp_extension", raising=False)
    assert what_is_missing() is None
    monkeypatch.setitem(sys.modules, "torch.utils.cpp_extension", ModuleType("of a double"))
    assert what_is_missing() == "'no-such-compiler', which builds C++ extensions, was not found in PATH"
