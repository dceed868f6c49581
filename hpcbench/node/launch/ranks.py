"""The rank of this process among the tasks of a run, from the variables of srun or the local launcher.

Variables of srun: sbatch(1) and srun(1), OUTPUT ENVIRONMENT VARIABLES.
"""

import re
from typing import Mapping, NamedTuple

from ..host import hostname as host


class Ranks(NamedTuple):
    """The rank of a process, and where rank 0 listens: at `address`, on a port near place `meeting` of the range."""

    rank: int
    size: int
    address: str = "127.0.0.1"
    meeting: int = 0
    token: str = ""  # unique to the run
    host: str = ""  # Slurm's name of the node, otherwise its host name
    bound: bool = False  # started by srun, which may give each task its own devices


def from_environment(environment: Mapping[str, str]) -> Ranks:
    """Return the rank by the local launcher's variables, otherwise by srun's, otherwise that of a single process."""
    if "HPCBENCH_RANK" in environment:
        launcher = environment["HPCBENCH_LAUNCHER"]
        return Ranks(
            rank=int(environment["HPCBENCH_RANK"]),
            size=int(environment["HPCBENCH_RANKS"]),
            meeting=int(launcher.partition(".")[0]),
            token="local-" + launcher,
            host=host.name(environment),
        )
    if "SLURM_PROCID" in environment and "SLURM_STEP_ID" in environment:
        job, step = int(environment.get("SLURM_JOB_ID", 0)), int(environment["SLURM_STEP_ID"])
        size = int(environment.get("SLURM_STEP_NUM_TASKS") or environment.get("SLURM_NTASKS") or 1)
        return Ranks(
            rank=int(environment["SLURM_PROCID"]),
            size=size,
            address=_first_address(environment) if size > 1 else "127.0.0.1",
            meeting=job * _STEPS + step,
            token="slurm-%s-%d.%d" % (environment.get("SLURM_CLUSTER_NAME", ""), job, step),
            host=host.name(environment),
            bound=True,
        )
    return Ranks(0, 1, host=host.name(environment))


_STEPS = 101  # distance between the first ports that consecutive jobs try


def _first_address(environment: Mapping[str, str]) -> str:
    """Return the first node of the step or, if its name does not resolve, its address as the node of srun."""
    import socket

    name = first_host(environment.get("SLURM_STEP_NODELIST", ""))
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return environment.get("SLURM_LAUNCH_NODE_IPADDR", name)
    return name


def first_host(node_list: str) -> str:
    """Return `n3` for Slurm's `n[3-5,9],m1`, and `rack1-n07` for `rack[1-2]-n[07-12]`."""
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", node_list).split(",")[0]
