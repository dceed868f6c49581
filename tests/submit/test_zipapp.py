from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from hpcbench.core.rank_command import PROBE
from hpcbench.submit.zipapp import is_of_this_code, node_zipapp


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
    for arguments in (["--help"], ["job", "--help"], ["rank", "--help"], ["monitor", "--help"]):
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


def test_each_folder_of_the_zipapp_is_a_package() -> None:
    """Python finds no folder in a zip file that lacks `__init__.py`."""
    names = zipfile.ZipFile(io.BytesIO(node_zipapp())).namelist()
    folders = {name.rpartition("/")[0] for name in names if "/" in name}
    assert [folder for folder in folders if f"{folder}/__init__.py" not in names] == []


def test_the_zipapp_holds_the_node_code_and_the_probe_and_nothing_else() -> None:
    names = zipfile.ZipFile(io.BytesIO(node_zipapp())).namelist()
    assert {"__main__.py", "hpcbench_carried/node/cli.py", "hpcbench_carried/node/monitor/timeline.py"} <= set(names)
    assert [name for name in names if not name.startswith(("__main__.py", "hpcbench_carried/"))] == [PROBE]
    assert all(name.endswith((".py", ".pyc")) for name in names if name != PROBE)
    assert {name.removesuffix("c") for name in names} <= set(names), "no bytecode without its source"
    assert not [name for name in names if name.startswith("hpcbench_carried/node/frameworks/") and name.endswith("c")]


def test_the_probe_is_a_small_zip_file_of_its_own() -> None:
    with zipfile.ZipFile(io.BytesIO(node_zipapp())) as archive, archive.open(PROBE) as file:
        names = zipfile.ZipFile(file).namelist()
    assert {"hpcbench_probe/__init__.py", "hpcbench_probe/probe.py", "hpcbench_probe/probe.pyc"} <= set(names)
    assert len(names) < 30


def changed(file: Path, ending: str, change: Callable[[bytes], bytes]) -> Path:
    """The node code with some of its files changed."""
    with zipfile.ZipFile(io.BytesIO(node_zipapp())) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name.endswith(ending) else old.read(name))
    return file


def without_one_file(archive: bytes) -> bytes:
    fewer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(fewer, "w") as new:
        for name in old.namelist():
            if name != "hpcbench_probe/probe.py":
                new.writestr(name, old.read(name))
    return fewer.getvalue()


def helped(file: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", "-W", "error", str(file), "job", "--help"]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_python_that_made_the_bytecode_compiles_nothing(tmp_path: Path) -> None:
    done = helped(changed(tmp_path / "node.pyz", ".py", lambda source: b"raise SystemExit('compiled')"))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_python_of_another_version_passes_the_bytecode_over(tmp_path: Path) -> None:
    """Its first four bytes are the version: these are Python 3.8's."""
    assert importlib.util.MAGIC_NUMBER != b"\x55\x0d\r\n"
    done = helped(changed(tmp_path / "node.pyz", ".pyc", lambda code: b"\x55\x0d\r\n" + code[4:-9] + b"\0" * 9))
    assert (done.returncode, done.stderr) == (0, "")


def test_other_sources_are_other_code_and_other_bytecode_is_not(tmp_path: Path) -> None:
    assert is_of_this_code(changed(tmp_path / "same.pyz", ".pyc", lambda code: b"of another Python"))
    assert not is_of_this_code(changed(tmp_path / "other.pyz", "cli.py", lambda source: source + b"\n"))
    assert not is_of_this_code(changed(tmp_path / "probe.pyz", PROBE, without_one_file))
    (tmp_path / "odd.pyz").write_bytes(b"no zip file")
    assert not is_of_this_code(tmp_path / "odd.pyz")
