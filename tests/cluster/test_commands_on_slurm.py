"""Any program as a case of a sweep on a real Slurm: MPI between two nodes, torchrun, and how such a case ends."""

from __future__ import annotations

import subprocess

import pytest
import yaml

from hpcbench.node.job.launcher import SHARES_NODES, slurm_version
from hpcbench.util.package_data import shipped

SITE = shipped("configs") / "sites" / "local-slurm.yaml"
ONCE = ("--set", "measure.repetitions=1", "--set", "measure.retries=0")


@pytest.fixture
def study(cluster):
    """The command line in a workspace as `hpcbench init` makes it, on the cluster."""
    cluster("init", "study")
    cluster.workspace /= "study"
    return cluster


@pytest.mark.parametrize(("compiler", "speaks"), [("mpicc.mpich", "pmi2"), ("mpicc.openmpi", "pmix")])
def test_a_message_goes_to_and_fro_between_two_nodes_as_shipped(compiler, speaks, study, mpi_compilers):
    """The shipped experiment and site; only how srun speaks to Open MPI must be said."""
    source = study.workspace / "configs" / "programs" / "mpi-ping.c"
    subprocess.run([mpi_compilers / compiler, "-O2", "-o", study.workspace / "mpi-ping", source], check=True)
    site = yaml.safe_load(SITE.read_text())
    assert site["environments"]["command"]["env"] == {"SLURM_MPI_TYPE": "pmi2"}
    site["environments"]["command"]["env"] = {"SLURM_MPI_TYPE": speaks}
    site["slurm_conf"] = study.environment["SLURM_CONF"]
    (study.workspace / "site.yaml").write_text(yaml.safe_dump(site))
    study("sweep", "mpi-ping", "--site", "site.yaml", *ONCE, "--wait")
    rows = {row["param_message_bytes"]: row for row in study.report()}
    assert set(rows) == {"1", "1024", "1048576"}
    for row in rows.values():
        assert float(row["metric_latency_us"]) > 0
        assert int(row["param_message_bytes"]) / float(row["metric_latency_us"]) == pytest.approx(
            float(row["metric_bandwidth_MB_per_s"]), rel=0.5
        ), "each is a median of its own"
    for record in study.records():
        assert record["slurm"]["job_num_nodes"] == "2"
        assert [rank["status"] for rank in record["ranks"]] == ["completed", "completed"]


def test_ranks_that_do_not_find_each_other_are_a_failure_and_not_two_results(study, mpi_compilers):
    """Where srun speaks no MPI, each rank is a world of its own."""
    source = study.workspace / "configs" / "programs" / "mpi-ping.c"
    subprocess.run([mpi_compilers / "mpicc.mpich", "-o", study.workspace / "mpi-ping", source], check=True)
    study("sweep", "mpi-ping", "--set", "message_bytes=1", *ONCE, "--wait", expect=1)
    (record,) = study.records()
    assert record["status"] == "failed"
    assert "mpi-ping needs two ranks, not 1" in record["error"]["message"]


def test_torchrun_starts_workers_inside_a_task(study):
    study("sweep", "torchrun-train", *ONCE, "--wait")
    rows = study.report()
    assert {row["param_workers"] for row in rows} == {"1", "2"}
    assert all(float(row["metric_rate_samples_per_s"]) > 0 for row in rows)


WITH_PROBE = """
import os, time
from hpcbench_probe import probe

for batch in probe(range(60), items=16):
    time.sleep(0.02 + 0.01 * (int(os.environ["{rank}"]) == 3))
"""
PROBED = ("--repetitions", "1", "--nodes", "2", "--tasks-per-node", "2", "--set", "measure.retries=0")


@pytest.mark.versions("several nodes")
@pytest.mark.parametrize(
    ("options", "command", "rank"),
    [
        ((), ["python3", "train.py"], "SLURM_PROCID"),
        pytest.param(
            ("--launch", "torchrun", "--environment", "pytorch"),
            ["python3", "train.py"],
            "RANK",
            marks=pytest.mark.long,
        ),
    ],
)
def test_the_steps_of_the_ranks_of_two_nodes_are_merged(options, command, rank, study, monkeypatch):
    (study.workspace / "train.py").write_text(WITH_PROBE.format(rank=rank))
    study("run", *PROBED, *options, "--", *command)
    (record,) = study.records()
    assert (record["probe"]["processes"], record["probe"]["steps"], record["work"]["items_per_step"]) == (4, 60, 64)
    assert min(record["measurements"]["times_s"]) >= 0.03, "a step takes the time of its slowest rank"
    monkeypatch.setenv("SLURM_CONF", study.environment["SLURM_CONF"])  # which srun reads
    version, _ = slurm_version()
    assert version
    both = version >= SHARES_NODES
    assert len(record["monitors"]) == (2 if both else 1)
    # Each node is monitored in the windows of its own clock. If a node has no monitor, the verdict cannot be "clean".
    impossible = "unmonitored" if both else "clean"
    assert record["interference"]["verdict"] != impossible


FAILS_ON_RANK_1 = """
if [ "$SLURM_PROCID" = 0 ]; then touch "$HPCBENCH_RUN/started"; sleep 600; fi
until [ -e "$HPCBENCH_RUN/started" ]; do sleep 0.1; done
echo no fuel >&2
exit 7
"""


@pytest.mark.versions("several nodes")
def test_a_rank_that_fails_ends_the_others_and_is_named(study):
    content = {"name": "trial", "parameters": {"framework": "command", "command": FAILS_ON_RANK_1, "nodes": 2}}
    content["measure"] = {"repetitions": 1}
    (study.workspace / "trial.yaml").write_text(yaml.safe_dump(content))
    study("sweep", "trial.yaml", "--wait", expect=1)
    (record,) = study.records()
    assert record["error"]["rank"] == 1
    assert record["error"]["message"] == "the command exited with 7: no fuel"
    assert [rank["stopped_by"] for rank in record["ranks"]] == ["SIGTERM", None]


WORKERS_ADD_UP = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("sum=%g on node %s\\n" % (total.item(), os.environ["SLURMD_NODENAME"]), end="", flush=True)
dist.destroy_process_group()
"""


def test_torchrun_starts_workers_that_meet_on_two_nodes(study):
    (study.workspace / "ddp.py").write_text(WORKERS_ADD_UP)
    resources = ("--nodes", "2", "--tasks-per-node", "2", "--launch", "torchrun", "--environment", "pytorch")
    options = ("--repetitions", "1", "--extract", "sum:higher=sum=([0-9]+)", *ONCE[2:])
    study("run", *resources, *options, "--", "python", "ddp.py")
    (record,) = study.records()
    assert record["metrics"]["sum"]["value"] == 4
    assert len({rank["host"] for rank in record["ranks"]}) == len(record["ranks"]) == 2
    (log,) = study.workspace.glob("jobs/*/logs/*/*.out")
    assert log.read_text().count("sum=4 on node") == 4


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_mpirun_starts_tasks_on_two_nodes(mpi, study, mpi_compilers, tmp_path):
    source = study.workspace / "configs" / "programs" / "mpi-ping.c"
    subprocess.run([mpi_compilers / f"mpicc.{mpi}", "-O2", "-o", study.workspace / "mpi-ping", source], check=True)
    programs = tmp_path / "programs"
    programs.mkdir()
    # Not a link: mpirun of MPICH looks for its other programs in the folder from which it was started.
    (programs / "mpirun").write_text(f'#!/bin/sh\nexec {mpi_compilers / f"mpirun.{mpi}"} "$@"\n')
    (programs / "mpirun").chmod(0o755)
    site = yaml.safe_load(SITE.read_text())
    site["slurm_conf"] = study.environment["SLURM_CONF"]
    site["environments"]["command"] = {
        "setup": [f"export PATH={programs}:$PATH"],
        "env": {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    }
    (study.workspace / "site.yaml").write_text(yaml.safe_dump(site))
    asked = ("--site", "site.yaml", "--nodes", "2", "--launch", "mpirun", "--repetitions", "1", *ONCE[2:])
    study("run", *asked, "--extract", r"latency:lower=latency: (\S+) us", "--", "./mpi-ping", "1024", "10")
    (record,) = study.records()
    assert record["metrics"]["latency"]["value"] > 0
    assert len(record["ranks"]) == 1, "mpirun runs once"
