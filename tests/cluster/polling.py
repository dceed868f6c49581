"""How often hpcbench asks Slurm: on the small clusters of the tests an answer costs little, and jobs last a second."""

from __future__ import annotations

from hpcbench.commands.shared import watch
from hpcbench.doctor import node_jobs


def ask_often() -> None:
    """Replace the seconds between two questions, which are meant for a Slurm that many users share."""
    watch.FIRST_S, watch.LONGEST_S = 0.2, 1.0
    node_jobs.POLL_S = 0.2
