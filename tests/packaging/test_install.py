"""hpcbench as users install it: from a wheel, from a copy of the source tree, and with uv; without any extra."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.pip

REPOSITORY = Path(__file__).parents[2]
IN_WHEEL = ("hpcbench", "configs", "probe", "templates", "pyproject.toml", "README.md", "LICENSE")
# Quotas in home directories are of this order; pip itself does not count.
MOST_MB, MOST_FILES = 250, 6500
EXTRAS = ("altair", "optuna", "pyarrow", "scipy", "vl_convert")
OFFLINE = ("No matching distribution found", "Could not fetch URL", "Failed to fetch", "dns error")
TINY = """
name: tiny
parameters: {framework: command, command: "echo rate {{ 10 * batch_size }}.$RANDOM"}
matrix: {batch_size: [1, 2]}
metrics:
  rate: {regex: 'rate (?P<value>[0-9.]+)', unit: it/s, better: higher}
measure: {repetitions: 3}
"""
STEPS = "from hpcbench_probe import probe; print(len([each for each in probe(range(20), items=2)]), 'steps')"

COMMANDS = {
    ("--help",): "sweep",
    ("sweep", "tiny", "--dry-run"): "2 cases",
    ("sweep", "tiny", "--local"): "6/6",
    ("status",): "6 completed",
    ("resume", "latest"): "0 runs to resume",
    ("report",): "batch_size=2",
    ("report", "--csv", "-"): "time_median_s",
    ("history", "tiny", "--on-inconclusive", "pass"): "1 sweep",
    ("run", "--local", "--repetitions", "1", "--", "python3", "-c", STEPS): "samples/s",
}
REQUIRED = {
    "--html": "altair and vl-convert-python, which are not installed",
    "--parquet": "pyarrow, which is not installed",
}


class Size(NamedTuple):
    """The disk space in MB (10 ** 6 bytes, in whole blocks) and the number of files of an environment."""

    megabytes: float
    files: int

    @property
    def is_small(self) -> bool:
        return self.megabytes < MOST_MB and self.files < MOST_FILES


class Installed(NamedTuple):
    """An installed command, and the workspace in which it runs."""

    command: Path
    workspace: Path

    def runs(self, *arguments: str, shown: str) -> None:
        self._ends(0, arguments, shown)

    def refuses(self, *arguments: str, shown: str) -> None:
        self._ends(2, arguments, shown, "pip install '.[report]'")

    def _ends(self, status: int, arguments: Sequence[str], *shown: str) -> None:
        """Run the command, which may keep the bytecode of what it imports."""
        self.workspace.mkdir(exist_ok=True)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        words = [str(self.command), *arguments]
        done = subprocess.run(words, cwd=self.workspace, env=variables, capture_output=True, text=True, timeout=120)
        output = done.stdout + done.stderr
        assert done.returncode == status, (arguments, output)
        assert all(each in output for each in shown), (arguments, shown, output)


def size_of(folder: Path) -> Size:
    files = [file for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
    return Size(sum(file.stat().st_blocks * 512 for file in files) / 1e6, len(files))


def install(*words: str | Path) -> None:
    """Run an installer. Without a package index, skip the test, except in CI."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300)
    message = done.stderr + done.stdout
    if done.returncode and os.environ.get("CI") != "true" and any(each in message for each in OFFLINE):
        pytest.skip(f"a package cannot be downloaded: {message.strip().splitlines()[-1]}")
    assert done.returncode == 0, message


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of what a wheel is built from."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in IN_WHEEL:
        if (REPOSITORY / name).is_dir():
            shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(REPOSITORY / name, folder)
    return folder


def test_pip_installs_the_source_tree_and_the_core_runs_without_the_extras(source: Path, tmp_path: Path) -> None:
    environment, workspace = tmp_path / "environment", tmp_path / "workspace"
    venv.create(environment)
    install(sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "--no-compile", source)
    core, new = Installed(environment / "bin" / "hpcbench", workspace), size_of(environment)
    assert [name for name in EXTRAS if list(environment.glob(f"lib/python*/site-packages/{name}"))] == []
    core.runs("init", ".", shown="next:")
    (workspace / "configs" / "experiments" / "tiny.yaml").write_text(TINY)
    for arguments, shown in COMMANDS.items():
        core.runs(*arguments, shown=shown)
    for option, packages in REQUIRED.items():
        core.refuses("report", option, "target", shown=f"{option} target requires {packages}")
    assert not (workspace / "target").exists()
    used = size_of(environment)
    assert used.files > new.files, "the bytecode of what the commands import"
    assert new.is_small, new
    assert used.is_small, used


def test_pip_installs_the_probe_alone_which_does_nothing_without_hpcbench(source: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment)
    python = environment / "bin" / "python"
    install(sys.executable, "-m", "pip", "--python", python, "install", source / "probe")
    done = subprocess.run([python, "-c", STEPS], cwd=tmp_path, env={}, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("20 steps\n", "")
    packages = [path.name for path in environment.glob("lib/python*/site-packages/*") if path.suffix != ".dist-info"]
    assert packages == ["hpcbench_probe"]


def test_uv_installs_a_wheel_as_a_tool(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if uv is None:
        pytest.skip("uv is not installed: pip install uv")
    monkeypatch.setenv("UV_TOOL_DIR", str(tmp_path / "tools"))
    monkeypatch.setenv("UV_TOOL_BIN_DIR", str(tmp_path / "bin"))
    install(uv, "build", "--wheel", "--python", sys.executable, "--out-dir", tmp_path / "wheels", source)
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    data = [file for file in (source / "configs" / "data").rglob("*") if file.is_file()]
    assert {f"hpcbench/{file.relative_to(source)}" for file in data} <= set(zipfile.ZipFile(wheel).namelist())
    install(uv, "tool", "install", "--python", sys.executable, wheel)
    assert size_of(tmp_path / "tools").is_small
    tool = Installed(tmp_path / "bin" / "hpcbench", tmp_path / "workspace")
    tool.runs("init", ".", shown="next:")
    assert (tool.workspace / "configs" / "experiments" / "quickstart.yaml").exists()
    tool.refuses(
        "report",
        "--html",
        "target",
        shown="--html target requires altair and vl-convert-python, which are not installed",
    )
