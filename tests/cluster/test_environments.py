"""Modules and containers on the nodes of a real Slurm."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig

import pytest

MODULE = "#%Module1.0\nprepend-path PATH {bin}\nsetenv OMP_OF_MODULE yes\n"
PYTHON_3_11 = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="PyTorch here is not for the image's Python")


def site(cluster, name, environment):
    return cluster.site(name, scheduler="slurm", environments={"pytorch": environment, "command": environment})


@pytest.fixture
def modules(cluster, module_packages, tmp_path):
    """The cluster, and a module `our-python` for the job to find."""
    programs, file = tmp_path / "programs", tmp_path / "modulefiles" / "our-python" / "1.0"
    for folder in (programs, file.parent):
        folder.mkdir(parents=True)
    (programs / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "python3").chmod(0o755)
    file.write_text(MODULE.format(bin=programs))
    cluster.environment["MODULEPATH"] = str(tmp_path / "modulefiles")
    return cluster


@pytest.fixture
def charliecloud(container_image):
    """A container as a site file has it. The host's PyTorch is lent to the Python of the image."""
    packages = sysconfig.get_path("purelib")
    container = {"runtime": "charliecloud", "image": str(container_image), "mounts": [f"{packages}:/mnt/0"]}
    return {"container": container, "env": {"PYTHONPATH": "/mnt/0", "OMP_MINE": "a b"}}


def test_a_case_runs_with_the_python_that_a_module_brings(modules):
    file = site(modules, "modules", {"modules": ["our-python/1.0"]})
    modules("sweep", modules.experiment(), "--site", file, "--wait")
    (record,) = modules.records()
    assert record["environment"]["LOADEDMODULES"] == "our-python/1.0"
    assert record["environment"]["OMP_OF_MODULE"] == "yes"


def test_a_module_that_does_not_exist_is_named_in_a_record_with_what_module_says(modules):
    file = site(modules, "modules", {"modules": ["our-python", "foo/1.2"]})
    modules("sweep", modules.experiment(), "--site", file, "--wait", expect=1)
    (record,) = modules.records()
    assert record["status"] == "failed"
    assert record["error"]["type"] == "setup"
    assert record["error"]["message"].startswith("module load foo/1.2 failed: ")
    assert any("foo/1.2" in line for line in record["error"]["last_lines"])
    assert "module load foo/1.2 failed" in modules("status").stdout


@PYTHON_3_11
def test_training_runs_across_two_nodes_in_containers(cluster, charliecloud):
    parameters = {"strategy": "ddp", "nodes": 2, "intra_op_threads": 1}
    experiment = cluster.experiment(parameters=parameters)
    cluster("sweep", experiment, "--site", site(cluster, "containers", charliecloud), "--wait")
    (record,) = cluster.records()
    assert [rank["status"] for rank in record["ranks"]] == ["completed", "completed"]
    assert record["slurm"]["job_num_nodes"] == "2"
    assert record["executable"] == "/usr/bin/python3"
    assert record["environment"]["OMP_MINE"] == "a b"


def test_a_command_in_a_container_sees_the_task_that_it_is(cluster, charliecloud):
    content = {
        "name": "ranks",
        "parameters": {
            "framework": "command",
            "command": 'echo "task $SLURM_PROCID of $SLURM_NTASKS on Debian $(cat /etc/debian_version)" '
            '> "task-$SLURM_PROCID"',
            "nodes": 2,
        },
        "measure": {"repetitions": 1},
        "slurm": {"time": "00:02:00", "mem": "500M"},
    }
    (cluster.workspace / "ranks.yaml").write_text(json.dumps(content))
    cluster("sweep", "ranks.yaml", "--site", site(cluster, "containers", charliecloud), "--wait")
    told = [(cluster.workspace / f"task-{rank}").read_text() for rank in (0, 1)]
    assert [line.split(" on ")[0] for line in told] == ["task 0 of 2", "task 1 of 2"]
    assert all(" on Debian 12." in line for line in told)


def test_an_image_that_no_node_has_is_told_in_the_runtime_s_own_words(cluster, charliecloud):
    charliecloud["container"]["image"] = "/no/such/image"
    cluster("sweep", cluster.experiment(), "--site", site(cluster, "containers", charliecloud), "--wait", expect=1)
    (record,) = cluster.records()
    assert record["status"] == "failed"
    assert "the log ends: ch-run" in record["error"]["message"]
    assert "/no/such/image" in record["error"]["message"]


def test_the_options_of_pyxis_reach_an_srun_that_does_not_know_them(cluster):
    """There is no Pyxis here: this Slurm says so itself, and the record is written outside all the same."""
    has_pyxis = "--container-image" in subprocess.run(["srun", "--help"], capture_output=True, text=True).stdout
    if has_pyxis:
        pytest.skip("this Slurm has Pyxis")
    environment = {"container": {"runtime": "pyxis", "image": "nvcr.io#nvidia/pytorch:24.12-py3"}}
    cluster("sweep", cluster.experiment(), "--site", site(cluster, "pyxis", environment), "--wait", expect=1)
    (record,) = cluster.records()
    assert record["status"] == "failed"
    assert any("--container-image=nvcr.io#nvidia/pytorch:24.12-py3" in line for line in record["error"]["last_lines"])
