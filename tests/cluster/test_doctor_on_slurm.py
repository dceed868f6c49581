"""hpcbench doctor on a real Slurm: what it says of the cluster, and its small jobs on each partition."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

from hpcbench.store.machine_peaks import read_peaks
from hpcbench.store.workspace import Workspace

QUICK = ("doctor", "--seconds", "3", "--no-peaks")
MINE = {"mine": {"python": sys.executable}}
several_cpus = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="a node has one CPU, and so one task")


def places(command_line: Any, *arguments: str, expect: int, **sections: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """What is found, by place and subject; `sections` are those of the site file."""
    site = command_line.site("cluster", scheduler="slurm", environments=MINE, **sections)
    told = json.loads(command_line(*QUICK, "--site", site, "--json", *arguments, expect=expect).stdout)
    return {place["place"]: {finding["subject"]: finding for finding in place["findings"]} for place in told["places"]}


def level(found: dict[str, dict[str, Any]], subject: str) -> str:
    return str(found[subject]["level"])


@pytest.mark.versions("doctor")
def test_a_cluster_is_told_from_its_login_node(cluster):
    found = places(cluster, expect=0)
    site, machine = found["site"], found["this machine"]
    assert "cluster accounting" in site["Slurm"]["found"]
    assert site["usable nodes"]["found"] == "cpu 4 of 4, gpu 2 of 2, debug 4 of 4, low 4 of 4"
    assert site["accounting"]["found"].startswith("sacct responds")
    assert site["MaxArraySize"]["found"] == "10001"
    assert level(site, "shared nodes") == "note"
    assert level(site, "mine") == "ok"
    assert "--on-node` checks a node" in machine["login node"]["action"]


def test_a_site_file_that_disagrees_with_the_cluster_is_a_problem(cluster):
    sections = {"limits": {"max_array_size": 50000}, "partitions": {"fat": {}}}
    site = places(cluster, expect=1, **sections)["site"]
    assert site["MaxArraySize"]["found"] == "10001, and 50000 in the site file"
    assert site["partitions"]["found"] == "the site names 'fat', which Slurm does not have"


@pytest.mark.versions("without accounting")
def test_a_cluster_without_accounting_is_told(bare_cluster):
    site = places(bare_cluster, expect=0)["site"]
    assert (level(site, "accounting"), site["accounting"]["found"]) == ("note", "none")
    assert site["MaxSubmitJobs"]["found"] == "no limit (no accounting)"


@pytest.mark.versions("doctor")
@several_cpus
def test_a_node_of_each_partition_is_looked_at_by_a_small_job(cluster, slurm):
    """The GPUs of this cluster are made up, and a job that gets one finds that out."""
    sections = {"partitions": {"debug": {"cpus_per_node": 2, "gpus_per_node": 0}, "gpu": {}}}
    found = places(cluster, "--on-node", expect=1, **sections)
    assert list(found) == ["site", "debug", "gpu"]
    for name in ("debug", "gpu"):
        node = found[name]
        assert level(node, "CPU binding") == "ok"
        assert node["CPU binding"]["found"].endswith("given: 0 and 1, not shared")
        assert {"timer", "governor", "SMT", "CPU quota", "background load", "noise floor"} <= set(node)
    assert "GPU binding" not in found["debug"]
    assert level(found["gpu"], "GPU binding") == "problem"
    assert "requested: 2 GPUs; given: 0,1 and 0,1; the driver shows 0 GPUs" in found["gpu"]["GPU binding"]["found"]
    assert slurm("squeue", "--noheader", "--name=hpcbench-doctor") == ""
    assert not (cluster.workspace / "jobs").exists()


def test_a_job_measures_what_its_node_can_do_at_most(cluster):
    sections = {"partitions": {"debug": {"cpus_per_node": 2, "gpus_per_node": 0}}}
    found = places(cluster, "--on-node", "--whole-node", "--peaks", expect=0, **sections)["debug"]
    assert level(found, "CPU peaks") in ("ok", "warning"), "other tests may disturb it"
    (machine,) = read_peaks(Workspace(cluster.workspace), pytest.fail)
    numbers = {f"cpu_{peak.cpus}_float32_flops_per_s": peak.flops_per_s for peak in machine.measurements}
    assert numbers.items() <= found["CPU peaks"]["numbers"].items()
    assert found["peaks"]["found"].startswith("saved in results/.machines/")


@pytest.mark.versions("doctor")
def test_the_speed_of_each_node_is_measured_by_a_job_on_it(cluster, slurm):
    site = cluster.site("cluster", scheduler="slurm", environments=MINE)
    slurm("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=test")
    try:
        words = ("doctor", "--no-peaks", "--site", site, "--each-node", "--partition", "debug", "--json")
        found = json.loads(cluster(*words, expect=0).stdout)
    finally:
        slurm("scontrol", "update", "NodeName=n4", "State=RESUME")
    assert [node["host"] for node in found["nodes"]] == ["n1", "n2", "n3"]
    for node in found["nodes"]:
        kernels = {rate["kernel"]: rate for rate in node["rates"]}
        assert kernels["float32 products"]["value"] > 1e8
        assert kernels["float32 products"]["measured_by"].startswith("numpy ")
    nodes = found["places"][-1]
    assert (nodes["place"], nodes["machine"]) == ("nodes", "3 of 4 nodes measured")
    (drained,) = [finding for finding in nodes["findings"] if finding["subject"] == "not available"]
    assert drained["found"] in ("n4: drained: test", "n4: draining: test")
    assert slurm("squeue", "--noheader", "--name=hpcbench-doctor") == ""
    assert not (cluster.workspace / "jobs").exists()


@several_cpus
def test_tasks_that_are_not_bound_are_a_problem(cluster):
    sections = {"launcher": {"srun": ["--cpu-bind=none"]}}
    found = places(cluster, "--on-node", "--partition", "cpu", expect=1, **sections)
    assert level(found["cpu"], "CPU binding") == "problem"
    assert "each other's CPUs" in found["cpu"]["CPU binding"]["means"]


def test_a_job_that_does_not_start_is_told_and_cancelled(cluster, slurm):
    sections = {"slurm": {"options": {"begin": "now+1hour"}}}
    found = places(cluster, "--on-node", "--partition", "debug", "--timeout", "2", expect=0, **sections)
    assert level(found["debug"], "job") == "warning"
    assert "the job did not start in 2 s; cancelled" in found["debug"]["job"]["found"]
    assert slurm("squeue", "--noheader", "--name=hpcbench-doctor") == ""


@pytest.mark.versions("doctor")
def test_a_job_that_is_refused_is_a_problem(cluster):
    found = places(cluster, "--on-node", "--partition", "cpu", expect=1, slurm={"nodelist": "n99"})
    assert level(found["cpu"], "job") == "problem"
    assert "Invalid node name" in found["cpu"]["job"]["found"]


def test_a_partition_that_is_not_there_is_a_mistake(cluster):
    done = cluster("doctor", "--on-node", "--partition", "gpus", expect=2)
    assert "partition 'gpus' not found" in done.stderr
    assert "did you mean 'gpu'?" in done.stderr
