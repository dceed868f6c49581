"""The node code runs in each framework's own Python, which may be as old as 3.8."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.metrics import Metric
from hpcbench.core.rank_command import PROBE
from hpcbench.node.results.probe_files import read_all
from hpcbench.submit.zipapp import PARTS
from hpcbench.util.package_data import PACKAGE, shipped


@lru_cache(maxsize=1)
def python_3_8() -> str | None:
    """A real interpreter: pyenv's shim of this name may stand on PATH with nothing behind it."""
    found = [shutil.which("python3.8"), *sorted(map(str, Path.home().glob(".pyenv/versions/3.8.*/bin/python3.8")))]
    for candidate in filter(None, found):
        said = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        if said.stdout.startswith("Python 3.8."):
            return candidate
    return None


@pytest.fixture
def old_python() -> str:
    found = python_3_8()
    if found is None:
        pytest.skip("no Python 3.8 here; not run: node.pyz --help, rank and record under a real Python 3.8")
    return found


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_a_python_that_is_too_old_is_named_with_the_one_that_is_needed(version: str, zipapp: Path) -> None:
    """And the job is known to have given up, where it is its driver's."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} here; not run: node.pyz under it")
    done = subprocess.run([str(found[0]), str(zipapp), "job"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    exactly = found[0].parents[1].name
    assert done.stderr == f"hpcbench: gave up: Python 3.8 or newer is required; {found[0]} is {exactly}\n"


@pytest.mark.integration
def test_the_node_code_uses_nothing_that_python_3_8_lacks() -> None:
    vermin = Path(sys.executable).with_name("vermin")
    carried = [*(str(PACKAGE / part) for part in PARTS), str(shipped("probe"))]
    words = [str(vermin), "-t=3.8-", "--no-tips", "--eval-annotations", "--violations", *carried]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_zipapp_shows_its_commands_under_python_3_8(
    old_python: str, zipapp: Path, clean_environment: dict[str, str]
) -> None:
    words = [old_python, str(zipapp), "--help"]
    done = subprocess.run(words, capture_output=True, text=True, env=clean_environment, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert {"job", "monitor", "rank", "work"} <= set(done.stdout.replace(",", " ").replace("{", " ").split())


def test_a_node_is_watched_under_python_3_8(
    old_python: str, zipapp: Path, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    words = [old_python, "-W", "error", str(zipapp), "monitor"]
    begin = json.dumps({"do": "begin", "number": 1, "folder": str(tmp_path / "mark")}).encode() + b"\n"
    done = subprocess.run(words, input=begin, capture_output=True, env=clean_environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    (file,) = (tmp_path / "mark").iterdir()
    header, *_, ended = map(json.loads, file.read_text().splitlines())
    assert {"cpu", "own", "memory"} <= header["sources"].keys()
    assert ended["failed"] == {}
    assert not [reason for reason in header["absent"].values() if "it failed" in reason]
    judge = "; ".join(
        [
            f"import sys; sys.path.insert(0, {str(zipapp)!r})",
            "from hpcbench_carried.node.results import monitor_summary",
            "measurements = {'times_s': [1.0], 'windows': [[0.0, 1.0, 1]]}",
            f"ranks = [{{'host': {header['host']!r}, 'facts': {{'measurements': measurements}}}}]",
            f"seen = monitor_summary.of_run(ranks, {str(tmp_path / 'mark')!r}, True)",
            "print(seen.interference.windows, len(seen.nodes))",
        ]
    )
    done = subprocess.run([old_python, "-c", judge], capture_output=True, env=clean_environment, timeout=60)
    assert (done.stdout, done.stderr) == (b"[None] 1\n", b"")


def test_steps_are_recorded_under_python_3_8(
    old_python: str, zipapp: Path, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    program = "from hpcbench_probe import probe\nfor i in probe([1, 2], items=3): probe.log(i=i)"
    with zipfile.ZipFile(zipapp) as archive:
        probe = archive.extract(PROBE, tmp_path)
    environment = {**clean_environment, "PYTHONPATH": probe, "HPCBENCH_RUN": str(tmp_path / "run")}
    words = [old_python, "-W", "error", "-c", program]
    done = subprocess.run(words, capture_output=True, env=environment, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    (process,), _ = read_all(str(tmp_path))
    assert (process.items.tolist(), list(process.logs["i"])) == ([3, 3], [(0, 1.0), (1, 2.0)])


def test_a_run_becomes_a_record_under_python_3_8(
    old_python: str, make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    """By the driver of its job. There is no framework in that Python, and the record has to say just that."""
    folder = make_folder()
    described = json.loads((folder.folder / "sweep.json").read_text())
    jobs = {"job-1": {"environment": "pytorch", "width": 1}}
    (folder.folder / "sweep.json").write_text(json.dumps({**described, "jobs": jobs}))
    files = [str(folder.job_file), "0", "--results", str(folder.folder / "results"), "--batch", "job-1"]
    words = [old_python, "-W", "error", str(folder.zipapp), "job", *files, "--limit", "60", "--python", old_python]
    done = subprocess.run(words, capture_output=True, text=True, env=clean_environment, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    folder.records = folder.folder / "results" / "records" / "job-1" / "local.jsonl"
    record = json.loads(folder.records.read_text())
    assert record["status"] == "failed"
    assert record["error"]["type"] == "ModuleNotFoundError"
    assert "`hpcbench env build pytorch`" in record["error"]["message"]
    assert record["python"].startswith("3.8.")


def test_a_command_and_its_metrics_become_a_record_under_python_3_8(
    old_python: str, make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    folder = make_folder(framework="command", model=None, command='echo \'{"a": [{"b": 5}]}\'; echo took 3 ms')
    metrics = {"b": {"json": "a[*].b"}, "time": {"regex": r"took (?P<value>\S+) (?P<unit>\S+)", "unit": "us"}}
    specs = {name: Metric.model_validate(given).model_dump(mode="json") for name, given in metrics.items()}
    description = folder.folder / "sweep.json"
    sweep = json.loads(description.read_text())
    experiment = {**sweep["experiment"], "metrics": specs, "expect": ["took"]}
    description.write_text(json.dumps({**sweep, "experiment": experiment}))
    for words in (
        folder.words("rank", python=old_python),
        folder.record_words(0, python=old_python),
    ):
        done = subprocess.run(words, capture_output=True, text=True, env=clean_environment, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
    record = json.loads(folder.records.read_text())
    assert {name: found["value"] for name, found in record["metrics"].items()} == {"b": 5.0, "time": 3000.0}
    assert record["python"].startswith("3.8.")
