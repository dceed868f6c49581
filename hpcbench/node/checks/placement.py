"""The placement of one task of a job: its CPUs, their cores, and its GPUs."""

from typing import Any, Dict, Mapping

from ..host import gpus, hostname
from ..host.sysfs import System
from ..host.topology import core_of
from ..monitor.sources.gpu import VISIBLE


def placement(system: System, environment: Mapping[str, str]) -> Dict[str, Any]:
    """Return the placement as JSON data. A core is the list of the CPUs on it."""
    return {
        "rank": int(environment.get("SLURM_PROCID", 0)),
        "host": hostname.name(environment),
        "cpus": system.cpus,
        "cores": sorted({core_of(system, cpu) for cpu in system.cpus}),
        "visible_gpus": next((environment[name] for name in VISIBLE if name in environment), None),
        "gpus": [gpus.identity(index) or str(index) for index in range(gpus.count())],
    }
