"""What this node is called, by monitors and ranks alike."""

import os
from typing import Mapping


def name(environment: Mapping[str, str]) -> str:
    """As Slurm names it, else as it names itself: a machine may be several of Slurm's nodes."""
    return environment.get("SLURMD_NODENAME") or os.uname().nodename
