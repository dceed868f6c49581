"""The cluster to which a sweep belongs: job IDs are valid only there.

Some centres mount one home directory on the login nodes of several clusters, each of which numbers its jobs from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hpcbench.errors import UserError
from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.cluster_config import config_of

if TYPE_CHECKING:
    from hpcbench.store.journal import Journal
    from hpcbench.store.sweep import Sweep


def check_cluster(sweep: Sweep, journal: Journal) -> Mapping[str, str]:
    """Return the configuration of the cluster of a sweep, as `scontrol show config` prints it.

    Raise NoAnswerError if Slurm does not respond, and UserError if its commands reach another cluster than the one to
    which the sweep, or its first job, was submitted.
    """
    config = config_of(sweep.other_cluster)
    here, own = config.get("ClusterName"), sweep.cluster or journal.cluster
    if here is None:
        raise NoAnswerError("scontrol show config does not print ClusterName")
    if own is not None and here.lower() != own.lower():  # the accounting has it in lower case
        name = sweep.paths.name
        raise UserError(
            f"sweep '{name}' belongs to cluster '{own}', but the Slurm commands here reach cluster '{here}'",
            hint=f"run hpcbench on a login node of '{own}'",
        )
    return config
