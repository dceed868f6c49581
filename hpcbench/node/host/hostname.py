"""The name of this node, for monitors and ranks."""

import os
from typing import Mapping


def name(environment: Mapping[str, str]) -> str:
    """Return Slurm's name of the node, otherwise its host name: one machine may be several nodes of Slurm."""
    return environment.get("SLURMD_NODENAME") or os.uname().nodename
