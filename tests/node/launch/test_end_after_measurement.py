"""A worker that dies after its measurement: real processes, and a stand-in of a few lines for the framework."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.node.conftest import SweepFolder

pytestmark = pytest.mark.integration

# The command `work` of the zipapp, with a framework whose profile runs the code in WORKER_DIES.
WORKER = """
import os, signal, sys, time
from hpcbench.node import frameworks
from hpcbench.node.cli import main
from tests.node.worker.test_worker import Stand
class Dying(Stand):
    def profile(self, *_):
        print("in the profile", flush=True)
        exec(os.environ["WORKER_DIES"])
frameworks.load = lambda framework: Dying()
main()
"""
SUPERVISOR = """
import os, sys
from hpcbench.core.rank_command import RankTask
from hpcbench.core.run_spec import read
from hpcbench.node.launch.ranks import from_environment
from hpcbench.node.launch.supervisor import supervise
job_file, scratch, worker = sys.argv[1:]
os.makedirs(scratch)
task = RankTask("", job_file, 0, scratch, "", 60.0)
words = [sys.executable, "-c", worker, "work", job_file, "0", "--profile", os.path.join(scratch, "operators.jsonl")]
sys.exit(supervise(read(job_file, 0), from_environment(os.environ), words, ".", task, ["a warning of the node"]))
"""
AFTER = "after its measurement, the process of a rank %s: what follows the measurement is incomplete"
KILL = "os.kill(os.getpid(), signal.{})"
AT_LIMIT = "os.kill(os.getppid(), signal.SIGALRM); time.sleep(600)"  # the timer of the supervisor


@pytest.fixture
def start(
    make_folder: Callable[..., SweepFolder], clean_environment: dict[str, str]
) -> Callable[..., tuple[SweepFolder, subprocess.Popen[str], dict[str, str]]]:
    """A supervisor whose worker runs this code after its measurement."""

    def make(code: str) -> tuple[SweepFolder, subprocess.Popen[str], dict[str, str]]:
        folder = make_folder()
        folder.measure(profile={"power": "off"})
        environment = {**clean_environment, "WORKER_DIES": code, "PYTHONPATH": str(Path(__file__).parents[3])}
        words = [sys.executable, "-c", SUPERVISOR, str(folder.job_file), str(folder.scratch), WORKER]
        process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
        return folder, process, environment

    return make


@pytest.mark.parametrize(
    ("code", "how"),
    [
        (KILL.format("SIGKILL"), "was killed by SIGKILL"),
        (KILL.format("SIGSEGV"), "was killed by SIGSEGV"),
        ("os._exit(7)", "exited with 7"),
        (AT_LIMIT, "reached the time limit per run"),
    ],
)
def test_the_measurement_stays_with_a_warning(start: Any, code: str, how: str) -> None:
    folder, process, environment = start(code)
    process.communicate(timeout=60)
    assert process.returncode == 0, "the launcher would end other ranks"
    ended = folder.rank_file()
    record = folder.record(process.returncode, environment)
    assert (record["status"], record["error"]) == ("completed", None)
    assert len(record["measurements"]["times_s"]) >= 2
    assert (record["ranks"][0]["signal"], record["ranks"][0]["exit_code"]) == (ended["signal"], ended["exit_code"])
    reason = "profile: the process of the rank ended before it was complete"
    assert {AFTER % how, reason, "a warning of the node"} <= set(record["warnings"])


def test_a_run_that_is_stopped_after_its_measurement_is_cancelled(start: Any) -> None:
    folder, process, environment = start("time.sleep(600)")
    assert process.stdout.readline() == "in the profile\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    record = folder.record(process.returncode, environment, stopped="TERM", elapsed=5)
    assert (record["status"], record["measurements"]) == ("cancelled", None)
