"""A sweep on a real Slurm with misleading output: no run starts twice, is lost, or counts as ended while it is active.

Wrappers of Slurm's commands simulate a site: hidden partitions, which root would see, users without a name, and
greetings. A background process simulates a network file system.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

CASES = 3
# What squeue and sinfo print to an ordinary user if the partition is hidden, unless --all is given.
HIDES = 'case " $* " in *" --all "*) ;; *) exit 0;; esac'
# What squeue does if the directory service has no name for the UID: status 0, and no jobs.
NO_NAME = """for word; do
  case $word in --user=*[0-9]*) echo "squeue: error: Invalid user: ${word#--user=}" >&2; exit 0;; esac
done"""
GREETS = r"printf 'squeue: Gr\374\337e vom Betrieb\n' >&2"
# Records of a job become visible some seconds after they were written.
LATE = """
import os, sys, time
from pathlib import Path
root, delay_s, end = Path(sys.argv[1]), float(sys.argv[2]), time.monotonic() + 60
away = root.parent / "away"
away.mkdir(parents=True, exist_ok=True)
hidden, shown = {}, set()
while time.monotonic() < end:
    for path in root.glob("records/*/*.jsonl"):
        if path not in shown and path.name != "reconciled.jsonl" and path.read_bytes().endswith(b"\\n"):
            hidden[path] = away / str(len(shown)), time.monotonic()
            shown.add(path)
            os.rename(path, hidden[path][0])
    for path, (copy, since) in list(hidden.items()):
        if time.monotonic() - since > delay_s:
            os.rename(copy, path)
            del hidden[path]
    time.sleep(0.02)
"""


class Three:
    """A sweep of three commands that each leave a line in a file of their own."""

    def __init__(self, cluster, tmp_path):
        self.cluster = cluster
        self.tools = tmp_path / "site commands"
        self.tools.mkdir()

    def wrap(self, **wrappers: str) -> None:
        """Put a wrapper of a command first in PATH, which runs shell code before the command."""
        for name, text in wrappers.items():
            real = subprocess.check_output(["which", name], text=True).strip()
            (self.tools / name).write_text(f'#!/bin/bash\n{text}\nexec {real} "$@"\n')
            (self.tools / name).chmod(0o755)
        path = f"{self.tools}:{os.environ['PATH']}"
        self.cluster.environment = {**self.cluster.environment, "PATH": path}

    def sweep(self, *options: str, waits: bool = False, **slurm: str) -> None:
        """Submit the sweep. With `waits`, its commands run until `release`."""
        rest = "; until [ -e released ]; do sleep 0.1; done" if waits else ""
        content = {
            "name": "three",
            "parameters": {"framework": "command", "command": f"echo run >> ran-{{{{ n }}}}.txt{rest}"},
            "user_parameters": ["n"],
            "matrix": {"n": list(range(CASES))},
            "measure": {"repetitions": 1, "retries": 0},
            "slurm": {"time": "00:02:00", "mem": "200M", **slurm},
        }
        (self.cluster.workspace / "three.yaml").write_text(json.dumps(content))
        self.cluster("sweep", "three.yaml", "--name", "three", *options)

    def release(self) -> None:
        (self.cluster.workspace / "released").touch()

    def await_states(self, **states: int) -> None:
        end = time.monotonic() + 60
        while self.cluster.states() != states:
            assert time.monotonic() < end, self.cluster.states()
            time.sleep(0.2)

    @property
    def ran(self) -> list[str]:
        """Return how often each case ran."""
        files = sorted(self.cluster.workspace.glob("ran-*.txt"))
        return [file.read_text() for file in files]


@pytest.fixture
def three(cluster, tmp_path):
    return Three(cluster, tmp_path)


@pytest.fixture
def bare_three(bare_cluster, tmp_path):
    return Three(bare_cluster, tmp_path)


@pytest.mark.parametrize("accounting", ["three", "bare_three"])
@pytest.mark.parametrize("wrapper", [HIDES, NO_NAME], ids=["a hidden partition", "a user without a name"])
def test_jobs_that_squeue_lists_only_by_id_run_once_with_a_wrapper_of_squeue(request, accounting, wrapper):
    three = request.getfixturevalue(accounting)
    three.wrap(squeue=wrapper)
    three.sweep(waits=True)
    three.await_states(running=CASES)
    assert "0 runs to resume" in three.cluster("resume", "three").stderr
    three.cluster("status")
    three.release()
    assert three.cluster("resume", "three", "--wait").returncode == 0
    assert three.ran == ["run\n"] * CASES
    assert three.cluster.states() == {"completed": CASES}


def test_pending_jobs_of_a_hidden_partition_are_cancelled_with_a_wrapper_of_squeue(three):
    three.wrap(squeue=HIDES)
    three.sweep("--set", "slurm.options={begin: now+1hour}")
    assert three.cluster.states() == {"pending": CASES}
    assert f"cancelled {CASES} runs" in three.cluster("cancel", "three").stderr
    assert three.cluster.states() == {"cancelled": CASES}
    assert three.ran == []


def test_a_sweep_of_another_cluster_is_left_alone(three, plain_cluster):
    three.sweep(waits=True)
    there = three.cluster.environment
    three.await_states(running=CASES)
    three.cluster.environment = {**there, "SLURM_CONF": plain_cluster["SLURM_CONF"]}
    words = "sweep 'three' belongs to cluster 'accounting', but the Slurm commands here reach cluster 'plain'"
    assert words in three.cluster("status").stderr
    assert words in three.cluster("report", expect=1).stderr
    for command in ("resume", "cancel"):
        done = three.cluster(command, "three", expect=2)
        assert words in done.stderr
        assert "run hpcbench on a login node of 'accounting'" in done.stderr
    three.cluster.environment = there
    three.release()
    assert three.cluster("resume", "three", "--wait").returncode == 0
    assert three.ran == ["run\n"] * CASES


def test_late_records_are_waited_for_with_a_background_process(three, tmp_path):
    results = three.cluster.workspace / "results" / "three"
    late = subprocess.Popen([sys.executable, "-c", LATE, str(results), "4"])
    try:
        three.sweep("--wait")
        assert "0 runs to resume" in three.cluster("resume", "three").stderr
    finally:
        late.kill()
        late.wait()
    assert three.ran == ["run\n"] * CASES
    assert [record["status"] for record in three.cluster.records()] == ["completed"] * CASES


def test_greetings_that_are_not_utf_8_change_nothing_with_wrappers_of_slurms_commands(three):
    three.wrap(squeue=GREETS, sbatch=r"printf 'Gr\374\337e vom Betrieb\n'", scontrol=r"printf 'Gr\374\337e\n'")
    three.sweep("--wait")
    assert three.cluster.states() == {"completed": CASES}
    assert three.ran == ["run\n"] * CASES


@pytest.mark.parametrize(
    "says", ['printf "%s\\nINFO: 12 of 100 hours\\n" "$id"', 'echo "Submitted batch job ${id%%;*}"']
)
def test_the_id_of_a_job_is_found_wherever_it_stands_with_a_wrapper_of_sbatch(three, says):
    three.wrap(sbatch="")
    real = subprocess.check_output(["which", "sbatch"], text=True).strip()
    (three.tools / "sbatch").write_text(f'#!/bin/bash\nid=$({real} "$@") || exit\n{says}\n')
    three.sweep("--wait")
    assert three.ran == ["run\n"] * CASES


def test_jobs_are_charged_to_the_account_of_the_shell(three, slurm, remove_user):
    slurm("sacctmgr", "-i", "add", "account", "other")
    slurm("sacctmgr", "-i", "add", "user", "root", "account=other")
    try:
        three.cluster.environment = {**three.cluster.environment, "SBATCH_ACCOUNT": "other"}
        dry = three.cluster("sweep", three.cluster.experiment("dry"), "--dry-run", "--show-script")
        assert "SBATCH_ACCOUNT=other is the default of slurm.account" in dry.stderr
        assert "#SBATCH --account=other" in dry.stdout
        three.sweep("--wait")
        job = three.cluster.records()[0]["slurm"]["array_job_id"]
        accounts = slurm("sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", "--format=Account")
        assert set(accounts.split()) == {"other"}
    finally:
        remove_user("root", "other")
        slurm("sacctmgr", "-i", "delete", "account", "other")


def test_a_request_above_the_limit_of_its_qos_never_starts(three, slurm):
    slurm("sacctmgr", "-i", "add", "qos", "tiny", "set", "GrpTRES=cpu=1")
    slurm("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=tiny")
    try:
        three.sweep("--set", "cpus_per_task=2", qos="tiny")
        done = three.cluster("resume", "three", "--wait", expect=1)
        assert "never_started" in done.stderr
        words = "it requests cpu=2, but QOS tiny allows cpu=1 for all jobs together (QOSGrpCpuLimit)"
        told = three.cluster("status").stdout
        assert words in told
        assert "other jobs under this limit" not in told
        three.cluster("cancel", "three")
    finally:
        slurm("sacctmgr", "-i", "modify", "user", "root", "set", "qos-=tiny")
        slurm("sacctmgr", "-i", "delete", "qos", "tiny")


def test_a_run_of_unknown_state_is_repeated_only_with_force_with_a_wrapper_of_squeue(three):
    three.sweep("--set", "slurm.options={begin: now+1hour}")
    three.wrap(squeue="exit 0", scontrol='case "$*" in *"show job"*) exit 0;; esac', sacct="exit 0")
    assert three.cluster.states() == {"unknown": CASES}
    told = three.cluster("resume", "three").stderr
    assert "0 runs to resume" in told
    assert f"not rerun: {CASES} runs, state unknown since " in told
    assert "`scontrol show job" in told
    three.cluster("resume", "three", "--force")
    journal = (three.cluster.workspace / "jobs/three/journal.jsonl").read_text()
    (given_up,) = [json.loads(line) for line in journal.splitlines() if '"given up"' in line]
    assert given_up["indices"] == "0-2"
    three.cluster.environment = {**three.cluster.environment, "PATH": os.environ["PATH"]}
    three.cluster("cancel", "three")
