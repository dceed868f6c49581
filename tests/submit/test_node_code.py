from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

from hpcbench.submit.node_code import node_zipapp


def test_the_same_code_gives_the_same_bytes() -> None:
    first = node_zipapp()
    node_zipapp.cache_clear()
    assert node_zipapp() == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:  # zip keeps times in steps of 2 s: two calls would agree
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_node_code_runs_alone_in_a_bare_interpreter(tmp_path: Path) -> None:
    """No site-packages, no PYTHONPATH, nothing but the one file: as in a framework's own environment."""
    file = tmp_path / "node.pyz"
    file.write_bytes(node_zipapp())
    for arguments in (["--help"], ["record", "--help"], ["rank", "--help"], ["spawn", "--help"]):
        done = subprocess.run(
            [sys.executable, "-S", "-s", "-I", "-W", "error", str(file), *arguments],
            cwd=tmp_path,
            env={},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("usage: node.pyz")


def test_the_zipapp_holds_the_node_code_and_nothing_else() -> None:
    names = zipfile.ZipFile(io.BytesIO(node_zipapp())).namelist()
    assert {"__main__.py", "hpcbench_carried/node/cli.py", "hpcbench_carried/monitor/timeline.py"} <= set(names)
    assert all(name == "__main__.py" or name.startswith("hpcbench_carried/") for name in names)
    assert all(name.endswith(".py") for name in names)
