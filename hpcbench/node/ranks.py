"""Who this process is among the tasks of a case, from what srun (or the local launcher) gives.

Variables of srun: sbatch(1) and srun(1), OUTPUT ENVIRONMENT VARIABLES.
"""

import re
import socket
from typing import Mapping, NamedTuple

# Below Linux's ephemeral ports (32768 and up), above what services use.
FIRST_PORT, PORTS = 20000, 12000
STEPS = 101  # has no divisor in common with PORTS


class Ranks(NamedTuple):
    """`address` and `port` are where rank 0 listens, the same on every rank."""

    rank: int
    size: int
    local_rank: int
    address: str
    port: int
    bound: bool = False  # started by srun, which may give each task devices of its own


def from_environment(environment: Mapping[str, str]) -> Ranks:
    """The local launcher's variables where it set them, else those of srun, else a single process."""
    if "HPCBENCH_RANK" in environment:
        rank, size = int(environment["HPCBENCH_RANK"]), int(environment["HPCBENCH_RANKS"])
        return Ranks(rank, size, rank, "127.0.0.1", int(environment["HPCBENCH_PORT"]))
    if "SLURM_PROCID" in environment and "SLURM_STEP_ID" in environment:
        return Ranks(
            rank=int(environment["SLURM_PROCID"]),
            size=int(environment.get("SLURM_STEP_NUM_TASKS") or environment.get("SLURM_NTASKS") or 1),
            local_rank=int(environment.get("SLURM_LOCALID", 0)),
            address=_first_address(environment),
            port=_port(environment),
            bound=True,
        )
    return Ranks(0, 1, 0, "127.0.0.1", FIRST_PORT)


def _first_address(environment: Mapping[str, str]) -> str:
    """The first node of the step; where its name does not resolve, the node that srun ran on, which is the same one."""
    name = first_host(environment.get("SLURM_STEP_NODELIST", ""))
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return environment.get("SLURM_LAUNCH_NODE_IPADDR", name)
    return name


def first_host(node_list: str) -> str:
    """`n3` of Slurm's `n[3-5,9],m1`; `rack1-n07` of `rack[1-2]-n[07-12]`."""
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", node_list).split(",")[0]


def _port(environment: Mapping[str, str]) -> int:
    """Different for each job and step, among 12,000 jobs that follow each other and 101 steps of each."""
    job, step = int(environment.get("SLURM_JOB_ID", 0)), int(environment["SLURM_STEP_ID"])
    return FIRST_PORT + (job * STEPS + step) % PORTS
