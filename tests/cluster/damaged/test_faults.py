"""What a cluster does to a sweep, done to a real one: every run ends with one result.

Each test says how the fault is told, and leaves it to `settle` that nothing is lost, double or hung.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import forked

TOOL = Path(__file__).parents[3] / "tools" / "cluster"
PATIENCE_S = 150
# Of a run: it sleeps until it is ended. Runs that start once `mended` exists end at once; `asleep` says that it sleeps.
ASLEEP = "[ -e mended ] || { touch asleep; sleep 300; }"


@pytest.fixture
def fault(cluster):
    """Do something to the cluster: stop, kill, start or blind one of its daemons. Everything is mended at the end."""
    done = set()

    def inject(verb, *words):
        done.add(words[0])
        command = [TOOL, verb, *map(str, words)]
        told = subprocess.run(command, env=cluster.variables, capture_output=True, text=True, timeout=90)
        assert told.returncode == 0, told.stderr

    yield inject
    for name in done:
        for verb in ("stop", "start") if name.startswith("n") else ("start",):
            subprocess.run([TOOL, verb, name], env=cluster.variables, capture_output=True, timeout=90)


@pytest.fixture
def sweep(cluster):
    """Submit a sweep of a shell command for each seed; return its name."""

    def submit(line, seeds=(1, 2), name="fault", **sections):
        content = {
            "name": name,
            "measure": {"repetitions": 1, "retries": 0},
            **sections,
            "matrix": {"seed": list(seeds)},
            "parameters": {"framework": "command", "command": line},
            "slurm": {"time": "00:05:00", "mem": "200M", **sections.get("slurm", {})},
        }
        (cluster.workspace / f"{name}.yaml").write_text(json.dumps(content))
        cluster("sweep", f"{name}.yaml", "--name", name)
        return name

    return submit


@pytest.fixture
def settle(cluster, record_property):
    """Resume a sweep until it has ended; count what is lost (no result), double (two), hung (no end)."""

    def end(name, resumes=1):
        hung = 0
        for _ in range(resumes):
            try:
                patiently(cluster, "resume", name, "--wait")
            except subprocess.TimeoutExpired:
                hung += 1
        planned = sum(len(path.read_text().splitlines()) for path in paths(cluster, "jobs", name, "job-*.jsonl"))
        completed = Counter((r["job"], r["element"]) for r in records(cluster, name) if r["status"] == "completed")
        tally = {
            "runs": planned,
            "lost": planned - len(completed),
            "double": sum(completed.values()) - len(completed),
            "hung": hung,
        }
        record_property("fault", tally)
        assert (tally["lost"], tally["double"], tally["hung"]) == (0, 0, 0), cluster("status", name).stdout

    return end


def patiently(cluster, *words):
    """A command of hpcbench, which is given up after PATIENCE_S."""
    return forked.hpcbench(words, cluster.workspace, cluster.variables, PATIENCE_S, cluster.before)


def paths(cluster, kind, name, pattern):
    return sorted((cluster.workspace / kind / name).glob(pattern))


def records(cluster, name):
    files = paths(cluster, "results", name, "records/**/*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def statuses(cluster, name):
    return Counter(record["status"] for record in records(cluster, name))


def asleep(cluster):
    """Whether a run sleeps: Slurm calls a job running before it has begun."""
    return (cluster.workspace / "asleep").exists


def states(cluster, name="latest"):
    return json.loads(cluster("status", name, "--json").stdout)["states"]


@pytest.mark.versions("slurmctld or slurmdbd down")
def test_slurmctld_that_stops_in_the_middle(cluster, sweep, fault, slurm, settle, wait_until):
    """What runs goes on; srun starts nothing meanwhile, and what is left of a pack must not fail for that."""
    first = "[ -e asleep ] || { touch asleep; sleep 3; }"
    name = sweep(first, seeds=range(6), slurm={"pack_walltime": "00:30:00"})
    wait_until(asleep(cluster))
    fault("stop", "slurmctld")
    (log,) = paths(cluster, "jobs", name, "logs/*/*_log.out")
    if slurm("sinfo", "--version").split()[1] < "26":  # since 26.05, a step ends only when slurmctld has noted its end
        wait_until(lambda: "slurmctld does not respond; this run was not started" in log.read_text())
    told = cluster("status")
    assert "Unable to contact slurm controller" in told.stderr
    assert "only the records are counted" in told.stderr
    assert "Unable to contact slurm controller" in cluster("resume", name, expect=2).stderr
    with ThreadPoolExecutor() as beside:
        waiting = beside.submit(patiently, cluster, "status", name, "--watch")
        fault("start", "slurmctld")
    assert waiting.result().returncode == 0, waiting.result().stdout
    settle(name)
    assert statuses(cluster, name) == {"completed": 6}


@pytest.mark.versions("slurmctld or slurmdbd down")
def test_slurmdbd_that_is_down(cluster, sweep, fault, settle):
    fault("stop", "slurmdbd")
    name = sweep("true")
    cluster("resume", name, "--wait")
    assert statuses(cluster, name) == {"completed": 2}
    fault("start", "slurmdbd")
    settle(name)


@pytest.mark.versions("node failure")
def test_a_node_that_dies_is_replaced_by_slurm(cluster, sweep, fault, slurm, settle, wait_until):
    name = sweep(ASLEEP, seeds=[1], slurm={"nodelist": "n1"})
    wait_until(asleep(cluster))
    (cluster.workspace / "mended").touch()
    fault("kill", "n1")
    fault("start", "n1")
    patiently(cluster, "status", name, "--watch")
    assert statuses(cluster, name) == {"node_failure": 1, "completed": 1}
    assert {record["slurm"].get("restart_count") for record in records(cluster, name)} == {"1"}
    settle(name)


@pytest.mark.long
def test_a_node_that_dies_is_a_node_failure_where_nothing_is_retried(cluster, sweep, fault, settle, wait_until):
    name = sweep(ASLEEP, seeds=[1], slurm={"nodelist": "n1"}, retry={"max": 0})
    wait_until(asleep(cluster))
    fault("kill", "n1")
    fault("start", "n1")
    wait_until(lambda: states(cluster) == {"node_failure": 1})
    (cluster.workspace / "mended").touch()
    settle(name)
    assert statuses(cluster, name) == {"node_failure": 1, "completed": 1}


def test_a_job_that_outlives_its_slurmd_is_started_anew(cluster, sweep, fault, settle, wait_until):
    """srun ends it, with status 0, as soon as slurmctld calls the node down."""
    name = sweep(f"echo $SLURMD_NODENAME >> ran; {ASLEEP}", seeds=[1])
    wait_until(asleep(cluster))
    (cluster.workspace / "mended").touch()
    (first,) = (cluster.workspace / "ran").read_text().split()
    fault("stop", first)
    patiently(cluster, "status", name, "--watch")
    fault("start", first)
    assert statuses(cluster, name) == {"node_failure": 1, "completed": 1}
    assert "Node failure" in next(r["error"]["message"] for r in records(cluster, name) if r["error"])
    settle(name)


@pytest.mark.versions("cancel")
def test_scancel_from_outside(cluster, sweep, slurm, settle, wait_until):
    """Of a running job, and of single elements that wait, of which Slurm keeps nothing."""
    name = sweep(ASLEEP, seeds=range(4), slurm={"max_running": 1})
    wait_until(asleep(cluster))
    assert states(cluster) == {"pending": 3, "running": 1}
    (array,) = {line.split("_")[0] for line in slurm("squeue", "--noheader", "--format=%F_%K").splitlines()}
    slurm("scancel", f"{array}_2", f"{array}_3")
    slurm("scancel", f"{array}_0")
    (cluster.workspace / "mended").touch()
    wait_until(lambda: states(cluster) == {"cancelled": 3, "completed": 1})
    cluster("status", name, "--watch", expect=1)
    messages = {record["error"]["message"] for record in records(cluster, name) if record["error"]}
    assert "cancelled before it started" in messages
    settle(name)


@pytest.mark.versions("preemption")
@pytest.mark.long
def test_preemption(cluster, sweep, slurm, settle, wait_until):
    """Jobs of the partition low give way to those of any other, and start anew."""
    name = sweep(ASLEEP, seeds=[1], slurm={"partition": "low", "nodelist": "n2", "exclusive": True})
    wait_until(asleep(cluster))
    (cluster.workspace / "mended").touch()
    slurm("sbatch", "--partition=cpu", "--nodelist=n2", "--exclusive", "--output=/dev/null", "--wrap=sleep 5")
    patiently(cluster, "status", name, "--watch")
    assert statuses(cluster, name) == {"preempted": 1, "completed": 1}
    settle(name)


@pytest.mark.versions("preemption")
def test_preemption_with_a_time_of_grace_of_which_only_the_tasks_are_told(cluster, sweep, slurm, settle, wait_until):
    """And yet the job waits to be started anew, and its next run does not begin."""
    slurm("scontrol", "update", "PartitionName=low", "GraceTime=8")
    try:
        low = {"partition": "low", "nodelist": "n2", "exclusive": True, "pack_walltime": "00:20:00"}
        name = sweep(ASLEEP, seeds=[1, 2], slurm=low)
        wait_until(asleep(cluster))
        (cluster.workspace / "mended").touch()
        slurm("sbatch", "--partition=cpu", "--nodelist=n2", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
        patiently(cluster, "status", name, "--watch")
    finally:
        slurm("scontrol", "update", "PartitionName=low", "GraceTime=0")
    assert statuses(cluster, name) == {"preempted": 1, "completed": 2}
    assert {record["slurm"].get("restart_count") for record in records(cluster, name)} == {None, "1"}
    settle(name)


@pytest.mark.long
def test_preemption_where_nothing_is_retried(cluster, sweep, slurm, settle, wait_until):
    low = {"partition": "low", "nodelist": "n2", "exclusive": True}
    name = sweep(ASLEEP, seeds=[1], slurm=low, retry={"max": 0})
    wait_until(asleep(cluster))
    (cluster.workspace / "mended").touch()
    slurm("sbatch", "--partition=cpu", "--nodelist=n2", "--exclusive", "--output=/dev/null", "--wrap=sleep 5")
    wait_until(lambda: states(cluster) == {"preempted": 1})
    cluster("status", name, "--watch", expect=1)
    assert statuses(cluster, name) == {"preempted": 1}
    settle(name)


@pytest.mark.versions("requeue")
def test_a_pack_that_is_requeued_goes_on_where_it_was(cluster, sweep, slurm, settle, wait_until):
    name = sweep(f"[ {{{{ seed }}}} != 2 ] || {{ {ASLEEP}; }}", seeds=[1, 2, 3], slurm={"pack_walltime": "00:20:00"})
    wait_until(asleep(cluster))
    (cluster.workspace / "mended").touch()
    slurm("scontrol", "requeue", slurm("squeue", "--noheader", "--format=%A").strip())
    patiently(cluster, "status", name, "--watch")
    by_seed = Counter((record["parameters"]["seed"], record["status"]) for record in records(cluster, name))
    assert by_seed == {(1, "completed"): 1, (2, "preempted"): 1, (2, "completed"): 1, (3, "completed"): 1}
    settle(name)


@pytest.mark.versions("held jobs")
def test_a_job_that_is_held_ends_no_waiting_for_ever(cluster, sweep, slurm, settle, wait_until):
    name = sweep("true", seeds=[1, 2, 3, 4], slurm={"options": {"hold": True}})
    told = cluster("resume", name, "--wait", expect=1)
    assert "0 runs to resume" in told.stderr
    assert states(cluster) == {"never_started": 4}
    assert "scontrol release" in cluster("status").stdout
    slurm("scontrol", "release", slurm("squeue", "--noheader", "--format=%F").split()[0])
    wait_until(lambda: states(cluster) == {"completed": 4})
    settle(name)


def test_a_node_that_is_drained(cluster, sweep, slurm, settle, wait_until):
    slurm("scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=test")
    try:
        name = sweep("true", slurm={"nodelist": "n3"})
        wait_until(lambda: "drained" in cluster("status").stdout)
        assert states(cluster) == {"pending": 2}
    finally:
        slurm("scontrol", "update", "NodeName=n3", "State=RESUME")
    settle(name)


def test_a_node_that_does_not_see_the_workspace_is_named_at_once(cluster, sweep, fault, settle, wait_until):
    fault("stop", "n4")
    fault("blind", "n4", cluster.workspace)
    name = sweep("true", slurm={"nodelist": "n4"})
    wait_until(lambda: states(cluster) == {"node_failure": 2}, seconds=20)
    told = cluster("status").stdout
    assert "n4 could not write" in told
    fault("stop", "n4")
    fault("start", "n4")
    settle(name)


CLOCK = """import datetime, os, time
if os.environ.get("SLURMD_NODENAME") == "n1":
    of_all, right = time.time, datetime.datetime
    time.time = lambda: of_all() + 7200

    class Ahead(right):
        @classmethod
        def now(cls, tz=None):
            return right.now(tz) + datetime.timedelta(hours=2)

    datetime.datetime = Ahead
"""


def test_clocks_that_differ_where_that_of_one_node_is_faked(cluster, sweep, slurm, settle, tmp_path):
    """What n1 wrote two hours ahead is not taken for later than what n2 did after it."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(CLOCK)
    site = json.loads(Path(cluster.environment["HPCBENCH_SITE"]).read_text())
    python = tmp_path / "clock" / "python"  # the driver, which dates the record, passes PYTHONPATH over
    python.write_text(f'#!/bin/sh\n[ "$1" != -Es ] || shift\nPYTHONPATH={python.parent} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    site["environments"]["command"] = {"python": str(python)}
    Path(cluster.environment["HPCBENCH_SITE"]).write_text(json.dumps(site))
    name = sweep('echo "$SLURMD_NODENAME"; [ "$SLURMD_NODENAME" != n1 ]', seeds=[1], slurm={"nodelist": "n1"})
    patiently(cluster, "status", name, "--watch")
    (script,) = paths(cluster, "jobs", name, "job-001.sh")
    script.write_text(script.read_text().replace("nodelist=n1", "nodelist=n2"))
    settle(name)
    first, second = sorted(records(cluster, name), key=lambda record: record["ended_at"], reverse=True)
    assert (first["status"], second["status"]) == ("failed", "completed"), "the failed one has the later time"
    assert states(cluster) == {"completed": 1}


@pytest.fixture
def small_results(cluster):
    """The folder of results is a file system of its own, of so many kB."""
    folder = cluster.workspace / "results"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr}")

    def remount(options):
        subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)

    yield remount
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_results_on_a_full_file_system(cluster, small_results, sweep, settle, wait_until):
    folder = cluster.workspace / "results"
    name = sweep(
        "[ -e mended ] || head -c 200000 /dev/zero > results/filled; true", seeds=[1, 2, 3], slurm={"max_running": 1}
    )
    wait_until(lambda: not {"pending", "running", "unknown"} & states(cluster).keys())
    told = cluster("status")
    assert "No space left on device" in told.stdout + told.stderr
    small_results("size=10M")
    (folder / "filled").unlink()
    (cluster.workspace / "mended").touch()
    settle(name)


@pytest.mark.long
def test_results_that_cannot_be_written(cluster, small_results, sweep, settle, wait_until):
    """From the moment on in which the job starts: what became of it is told all the same."""
    small_results("size=10M")
    name = sweep("true", slurm={"options": {"begin": "now+10"}})
    small_results("ro")
    wait_until(lambda: states(cluster) == {"failed": 2})
    told = cluster("status")
    assert "cannot write to" in told.stdout
    assert "2 runs ended without a record" in told.stderr
    assert "Read-only file system" in cluster("status", "--watch", expect=1).stdout
    assert cluster.report(name, expect=1)[0]["status"] == "failed"
    small_results("rw")
    settle(name)


def test_results_that_somebody_removed(cluster, sweep, settle, wait_until):
    name = sweep("sleep 2", seeds=range(4), slurm={"max_running": 2})
    wait_until(lambda: "running" in states(cluster))
    shutil.rmtree(cluster.workspace / "results", ignore_errors=True)
    patiently(cluster, "status", name, "--watch")
    ended = states(cluster, name)
    assert sum(ended.values()) == 4
    assert ended.keys() <= {"completed", "failed"}
    assert ended["completed"] >= 2, "those that had not started then leave their records"
    settle(name)


def test_two_people_who_resume_at_the_same_time(cluster, sweep, slurm, settle):
    name = sweep("[ -e mended ]", seeds=range(4))
    patiently(cluster, "status", name, "--watch")
    assert states(cluster) == {"failed": 4}
    (cluster.workspace / "mended").touch()
    with ThreadPoolExecutor(6) as people:
        several = list(people.map(lambda _: patiently(cluster, "resume", name), range(6)))
    assert all(done.returncode in (0, 2) for done in several), several
    assert all("has been working on this sweep" in done.stderr for done in several if done.returncode)
    settle(name)
    assert statuses(cluster, name) == {"failed": 4, "completed": 4}


@pytest.mark.long
def test_several_who_watch_at_the_same_time_save_each_outcome_once(cluster, sweep, slurm, settle, wait_until):
    name = sweep(ASLEEP, seeds=range(4))
    wait_until(lambda: "running" in states(cluster))
    slurm("scancel", "--signal=KILL", "--full", slurm("squeue", "--noheader", "--format=%F").split()[0])
    (cluster.workspace / "mended").touch()
    wait_until(lambda: not slurm("squeue", "--noheader", "--states=RUNNING,COMPLETING,PENDING", "--format=%A").split())
    with ThreadPoolExecutor(4) as people:
        watched = list(people.map(lambda _: patiently(cluster, "status", name, "--watch"), range(4)))
    assert not [done.stderr for done in watched if "Traceback" in done.stderr]
    concluded = Counter(
        (record["job"], record["element"]) for record in records(cluster, name) if record["attempt"] is None
    )
    assert set(concluded.values()) <= {1}
    settle(name)
