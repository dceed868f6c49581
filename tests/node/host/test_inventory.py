"""What a node is made of, on machines that are laid out as files; the Slurm and the GPUs are made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node.host import inventory, slurm_config
from hpcbench.node.host.sysfs import System, this_system

Lay = Callable[..., System]
TOPOLOGY = "sys/devices/system/cpu/cpu{}/topology/"
# Two sockets of two cores each, with two threads to a core: CPUs 0-3 and 4-7 are the same cores.
CPUS = {
    TOPOLOGY.format(cpu) + name: text
    for cpu in range(8)
    for name, text in (
        ("physical_package_id", str(cpu % 4 // 2)),
        ("thread_siblings_list", f"{cpu % 4},{cpu % 4 + 4}"),
    )
}
NUMA = {
    "sys/devices/system/node/node0/cpulist": "0-1,4-5",
    "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       1024 kB\nNode 0 MemFree: 1 kB\n",
    "sys/devices/system/node/node10/cpulist": "",
    "sys/devices/system/node/node2/cpulist": "2-3,6-7",
}
GPU = "Model: \t\t NVIDIA H100\nIRQ: 1\nGPU UUID: x\n"
NVIDIA = {
    "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54\nGCC version: 12\n",
    "proc/driver/nvidia/gpus/0000:01:00.0/information": GPU,
    "proc/driver/nvidia/gpus/0000:02:00.0/information": GPU,
}


def described(system: System, folder: Path, *places: str, **environment: str) -> dict[str, Any]:
    return inventory.describe("n1", str(folder), system, places, environment)


def test_sockets_cores_and_domains_are_counted(lay: Lay, tmp_path: Path) -> None:
    hardware = described(lay({**CPUS, **NUMA}), tmp_path)["hardware"]
    reply = {name: hardware[name] for name in ("cpus_online", "sockets", "cores", "threads_per_core")}
    assert reply == {"cpus_online": "0-7", "sockets": 2, "cores": 4, "threads_per_core": 2}
    assert hardware["numa"] == [
        {"domain": 0, "cpus": "0-1,4-5", "memory_bytes": 1048576},
        {"domain": 2, "cpus": "2-3,6-7", "memory_bytes": None},
        {"domain": 10, "cpus": "", "memory_bytes": None},
    ]


def test_gpus_are_told_by_the_kernels_driver_that_is_made_up(lay: Lay, tmp_path: Path) -> None:
    reply = described(lay(NVIDIA), tmp_path)["gpus"]
    assert reply["models"] == ["NVIDIA H100", "NVIDIA H100"]
    assert reply["driver"].endswith("550.54")


def test_of_a_machine_that_tells_nothing_nothing_is_made_up(lay: Lay, tmp_path: Path) -> None:
    reply = described(lay({}), tmp_path, "/somewhere")
    assert [reply["hardware"][name] for name in ("sockets", "cores", "numa")] == [None, None, []]
    assert (reply["distribution"], reply["gpus"]["driver"], reply["mounts"]) == (None, None, {"/somewhere": None})


def test_a_folder_lies_on_the_last_mount_of_the_longest_path(lay: Lay, tmp_path: Path) -> None:
    mounts = [
        "/dev/vda / ext4 rw 0 0",
        "old /scratch nfs ro 0 0",
        "fs@o2ib:/a\\040b /scratch lustre rw,flock,password=hunter22 0 0",
        "x /scratch/other tmpfs rw 0 0",
        "y /scr tmpfs rw 0 0",
        "half",
    ]
    system = lay({"proc/self/mounts": "\n".join(mounts)})
    found = described(system, tmp_path, "/scratch/me/jobs", "/home")["mounts"]
    assert found["/scratch/me/jobs"] == {
        "device": "fs@o2ib:/a b",
        "at": "/scratch",
        "type": "lustre",
        "options": "rw,flock,password=[redacted]",
    }
    assert found["/home"]["at"] == "/"


def test_nodes_share_one_file_of_slurms_configuration_that_is_made_up(
    lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        slurm_config, "query", lambda name, environment: slurm_config.ScontrolReply("A = 1\n", f"NodeName={name}")
    )
    for name in ("n1", "n2"):
        inventory.save(str(tmp_path), lay({}), [], {"SLURMD_NODENAME": name})
    (kept,) = (tmp_path / "slurm").iterdir()
    assert kept.read_text() == "A = 1\n"
    nodes = [json.loads(file.read_text()) for file in sorted(tmp_path.glob("??/*.json"))]
    assert {node["slurm"]["node"] for node in nodes} == {"NodeName=n1", "NodeName=n2"}
    assert {node["slurm"]["config"] for node in nodes} == {f"slurm/{kept.name}"}


def test_this_machine_can_be_told(tmp_path: Path) -> None:
    reply = described(this_system(), tmp_path, str(tmp_path))
    assert reply["hardware"]["cores"] >= 1
    assert reply["mounts"][str(tmp_path)]["type"]
    assert reply["slurm"]["reason"] == "not a Slurm job"
