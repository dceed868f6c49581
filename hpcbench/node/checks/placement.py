"""What one task of a job was given: CPUs, the cores that they are on, and GPUs."""

from typing import Any, Dict, Mapping

from ..host import gpus, hostname
from ..host.sysfs import System
from ..host.topology import core_of
from ..monitor.sources.gpu import VISIBLE


def placement(system: System, environment: Mapping[str, str]) -> Dict[str, Any]:
    """As one line of JSON can carry it. A core is the list of the CPUs on it."""
    return {
        "rank": int(environment.get("SLURM_PROCID", 0)),
        "host": hostname.name(environment),
        "cpus": system.cpus,
        "cores": sorted({core_of(system, cpu) for cpu in system.cpus}),
        "visible_gpus": next((environment[name] for name in VISIBLE if name in environment), None),
        "gpus": [gpus.identity(index) or str(index) for index in range(gpus.count())],
    }
