"""All checks of this very machine; taking turns; and what a task was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hpcbench.core.check_result import LEVELS, OK, WARNING
from hpcbench.node.checks import noise_floor, run_checks, turbo
from hpcbench.node.checks.node_lock import node_lock
from hpcbench.node.checks.placement import placement
from hpcbench.node.host.sysfs import this_system

pytestmark = pytest.mark.integration

SUBJECTS = {"timer", "governor", "SMT", "NUMA", "huge pages", "GPUs", "CPU quota", "background load", "noise floor"}


def checked(zipapp: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", str(zipapp), "checkup", "--seconds", "3", "--turns", str(folder)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def test_a_machine_is_looked_at_by_the_code_that_nodes_get(zipapp: Path, tmp_path: Path) -> None:
    done = checked(zipapp, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    node, *found = map(json.loads, done.stdout.splitlines())
    assert node["cpu_count"] == os.cpu_count()
    assert {finding["subject"] for finding in found} >= SUBJECTS
    for finding in found:
        assert finding["level"] in LEVELS
        if finding["level"] != OK:
            assert finding["means"].endswith(".")
            assert finding["action"]
    assert not any("the check failed" in finding["found"] for finding in found)
    assert list(tmp_path.iterdir()) == []


def test_a_check_that_stumbles_does_not_cost_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(system: object) -> None:
        raise ValueError("what is this")

    monkeypatch.setattr(turbo, "check", stumble)
    monkeypatch.setattr(noise_floor, "check", lambda *arguments: [])
    found = {finding.subject: finding for _, finding in run_checks.run(this_system())}
    assert found["turbo"].level == WARNING
    assert found["turbo"].found == "the check failed: ValueError: what is this"
    assert {"timer", "CPU quota"} <= set(found)


def test_two_on_one_machine_take_turns(tmp_path: Path) -> None:
    code = "import sys, time; from hpcbench.node.checks.node_lock import node_lock\n"
    code += "with node_lock(sys.argv[1]): print(time.monotonic(), flush=True); time.sleep(0.5); print(time.monotonic())"
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    (first_from, first_to), (then_from, then_to) = sorted(
        tuple(map(float, process.communicate(timeout=60)[0].split())) for process in both
    )
    assert first_from < first_to <= then_from < then_to
    assert list(tmp_path.iterdir()) == []


def test_one_that_was_killed_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    with node_lock(str(tmp_path)):
        start = time.monotonic()
        with node_lock(str(tmp_path), timeout_s=0.3):
            assert time.monotonic() - start >= 0.3
        assert len(list(tmp_path.iterdir())) == 1, "the turn of another is left to it"
    assert list(tmp_path.iterdir()) == []


def test_a_task_tells_what_it_was_given(lay) -> None:
    shared = {f"sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list": "0-1" for n in (0, 1)}
    variables = {"SLURM_PROCID": "3", "SLURMD_NODENAME": "n7", "CUDA_VISIBLE_DEVICES": "2"}
    told = placement(lay(shared), variables)
    assert (told["rank"], told["host"], told["cpus"], told["cores"]) == (3, "n7", [0, 1], ["0-1"])
    assert told["visible_gpus"] == "2"
    assert placement(lay({}), {})["visible_gpus"] is None


def test_the_placement_of_this_process_is_a_line_of_json(zipapp: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    words = ["taskset", "-c", str(cpu), sys.executable, "-I", str(zipapp), "placement"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout)["cpus"] == [cpu]
