"""The inventory of a node: its hardware, and Slurm's configuration as seen from it, once per node and sweep."""

import datetime
import hashlib
import os
import re
from typing import Any, Dict, List, Mapping, Sequence

from ...core import ranges
from ...core.files import keep_once, write_whole
from ...core.redaction import without_secrets
from ...core.run_spec import SLURM_CONFIGURATIONS
from . import gpus, hardware, hostname, slurm_config
from .inventory_file import path_of
from .sysfs import System
from .topology import core_of

SCHEMA = 1
_NVIDIA, _AMD = "proc/driver/nvidia/", "sys/module/amdgpu/version"


def save(folder: str, system: System, places: Sequence[str], environment: Mapping[str, str]) -> None:
    """Write FOLDER/XX/HOST.json for this node, unless it exists. The mounts of the folders `places` are included."""
    name = hostname.name(environment)
    keep_once(path_of(folder, name), lambda: describe(name, folder, system, places, environment))


def describe(
    name: str, folder: str, system: System, places: Sequence[str], environment: Mapping[str, str]
) -> Dict[str, Any]:
    """Return the inventory of this node; what cannot be read is null, or missing."""
    return {
        "schema": SCHEMA,
        "host": name,
        "seen_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "hardware": {**hardware.describe(), **_processors(system), "numa": _domains(system)},
        "distribution": _distribution(system),
        "gpus": _gpus(system),
        "mounts": {place: _mount(system, place, environment) for place in places},
        "slurm": _slurm(name, folder, environment),
    }


def _processors(system: System) -> Dict[str, Any]:
    """Return the CPUs that are online, whether or not this process may use them."""
    cpus = _numbers(system.matching("sys/devices/system/cpu/cpu[0-9]*/topology"))  # an offline CPU has no topology
    packages = {system.text("sys/devices/system/cpu/cpu%d/topology/physical_package_id" % cpu) for cpu in cpus}
    cores = {core_of(system, cpu) for cpu in cpus}
    return {
        "cpus_online": ranges.compact(cpus) or None,
        "sockets": len(packages) or None,
        "cores": len(cores) or None,
        "threads_per_core": max((len(ranges.expand(core)) for core in cores), default=None),
    }


def _domains(system: System) -> List[Dict[str, Any]]:
    found = []
    for number in _numbers(system.matching("sys/devices/system/node/node[0-9]*")):
        node = "sys/devices/system/node/node%d" % number
        total = re.search(r"MemTotal:\s*(\d+) kB", system.text(node + "/meminfo") or "")
        memory_bytes = int(total.group(1)) * 1024 if total else None
        found.append({"domain": number, "cpus": system.text(node + "/cpulist"), "memory_bytes": memory_bytes})
    return found


def _numbers(paths: List[str]) -> List[int]:
    """Return the last number in each path, in order."""
    return sorted(int(re.findall(r"\d+", path)[-1]) for path in paths)


def _distribution(system: System) -> Any:
    name = re.search(r'^PRETTY_NAME="?(.*?)"?$', system.text("etc/os-release") or "", re.MULTILINE)
    return name.group(1) if name else None


def _gpus(system: System) -> Dict[str, Any]:
    """Return driver and models from the kernel, otherwise from CUDA or ROCm: nvidia-smi would initialize each GPU."""
    information = [_fields(system.text(path) or "") for path in system.matching(_NVIDIA + "gpus/*/information")]
    models = [gpu.get("Model") for gpu in information] or [gpus.name(index) for index in range(gpus.count())]
    versions = [*system.lines(_NVIDIA + "version")[:1], *system.lines(_AMD)[:1]]
    return {"driver": versions[0] if versions else None, "models": models}


def _fields(text: str) -> Dict[str, str]:
    parts = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in parts}


def _mount(system: System, place: str, environment: Mapping[str, str]) -> Any:
    """Return the file system of a folder: of the longest mount point that contains it, the last one mounted."""
    path, best = os.path.realpath(place), None
    for line in system.lines("proc/self/mounts"):
        words = [_unescaped(word) for word in line.split(" ")]
        inside = len(words) >= 4 and (path + "/").startswith(words[1].rstrip("/") + "/")
        if inside and (best is None or len(words[1]) >= len(best[1])):
            best = words
    if best is None:
        return None
    options = without_secrets(best[3], environment)[0]
    return {"device": best[0], "at": best[1], "type": best[2], "options": options}


def _unescaped(word: str) -> str:
    r"""Return the word with octal escapes decoded: the kernel writes a blank as \040."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), word)


def _slurm(name: str, folder: str, environment: Mapping[str, str]) -> Dict[str, Any]:
    """Return Slurm's description of the node, and write its configuration to a file named by content."""
    reply = slurm_config.query(name, environment)
    if reply.config is None:
        return {"reason": reply.reason, "config": None, "node": reply.node}
    kept = "%s/%s.txt" % (SLURM_CONFIGURATIONS, hashlib.sha256(reply.config.encode()).hexdigest()[:12])
    path = os.path.join(folder, kept)
    if not os.path.exists(path):
        write_whole(path, reply.config)
    return {"reason": reply.reason, "config": kept, "node": reply.node}
