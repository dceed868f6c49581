"""Functions of the user: where they are searched, and what an error says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbench.node.errors import BadModel
from hpcbench.node.workload.user_code import function


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_function_of_the_workspace_is_found(workspace: Path) -> None:
    (workspace / "nets_here").mkdir()
    (workspace / "nets_here" / "small.py").write_text("class Nets:\n    @staticmethod\n    def build(): return 7\n")
    assert function("nets_here.small:Nets.build", "model")() == 7


def test_a_module_that_is_not_found_names_the_folders_that_were_searched(workspace: Path) -> None:
    with pytest.raises(BadModel) as error:
        function("no_such_nets.small:build", "model")
    message = str(error.value)
    assert message.startswith(f"model: module 'no_such_nets' not found by {sys.executable}; searched in: {workspace}")


def test_a_module_that_fails_has_the_end_of_its_traceback(workspace: Path) -> None:
    (workspace / "nets_broken.py").write_text("import no_such_package\n")
    with pytest.raises(BadModel) as error:
        function("nets_broken:build", "loss")
    failed = "importing nets_broken failed: ModuleNotFoundError: No module named 'no_such_package'"
    assert str(error.value).startswith(f"loss: {failed} in {sys.executable}; searched in: {workspace}, ")
    assert any("nets_broken.py" in line for line in error.value.last_lines)
    (workspace / "nets_typo.py").write_text("from sys import no_such_name\n")
    with pytest.raises(BadModel, match=r"importing nets_typo failed: ImportError: cannot import [^;]*$"):
        function("nets_typo:build", "model")
    (workspace / "nets_exits.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(BadModel, match="importing nets_exits failed: SystemExit: 3"):
        function("nets_exits:build", "model")


def test_a_missing_function_has_the_nearest_name(workspace: Path) -> None:
    (workspace / "nets_near.py").write_text("def build_net(): pass\nSIZE = 3\n")
    with pytest.raises(BadModel, match=r"step: 'build_nets' not found in .*nets_near.py; did you mean build_net\?"):
        function("nets_near:build_nets", "step")
    with pytest.raises(BadModel, match="model: 'nets_near:SIZE' is an object of type int, not a function"):
        function("nets_near:SIZE", "model")


def test_a_function_with_wrong_arguments_is_an_error_that_names_the_parameter(workspace: Path) -> None:
    (workspace / "nets_loss.py").write_text("def loss(output): ...\ndef good(output, targets, weight=1): ...\n")
    assert function("nets_loss:good", "loss_function", ("output", "targets"))
    with pytest.raises(BadModel) as error:
        function("nets_loss:loss", "loss_function", ("output", "targets"))
    assert str(error.value) == (
        "loss_function: 'nets_loss:loss' cannot be called with (output, targets); its signature is (output)"
    )
    assert function("builtins:print", "loss_function", ("output", "targets")) is print
