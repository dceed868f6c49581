"""What is installed in a Python, asked of itself."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from hpcbench.core import packages


def test_each_package_has_its_version_under_its_normalized_name() -> None:
    told = packages.installed()
    assert told["packages"]["hpcbench-dl"] == metadata.version("hpcbench-dl")
    assert told["packages"]["typing-extensions"] == metadata.version("typing_extensions")
    assert told["executable"] == sys.executable
    assert list(told["packages"]) == sorted(told["packages"])


def test_of_two_versions_it_is_the_one_that_is_imported(tmp_path: Path) -> None:
    for folder, version in (("first", "2.0"), ("second", "1.0")):
        info = tmp_path / folder / f"odd_Name-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: odd_Name\nVersion: {version}\n")
    broken = tmp_path / "first" / "gone-1.0.dist-info"
    broken.mkdir()
    code = Path(packages.__file__).read_text()
    path = f"{tmp_path / 'first'}:{tmp_path / 'second'}"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, check=True)
    told = json.loads(done.stdout)["packages"]
    assert told["odd-name"] == "2.0"
    assert "gone" not in told, "unknown"
