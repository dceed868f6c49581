"""A cluster that tests may damage, and that notices soon that a node has died. Beside the others, on another worker."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import on, start_cluster


@pytest.fixture(scope="session")
def dying_cluster() -> Iterator[dict[str, str]]:
    yield from start_cluster("dying", 15000, "yes", CLUSTER_TIMEOUT="3")


@pytest.fixture
def cluster(command_line, dying_cluster, wait_until):
    """The command line on that cluster, without jobs or drained nodes that an earlier test left."""
    command = on(command_line, dying_cluster)

    def slurm(*words: str) -> bytes:
        return subprocess.run(words, env=command.variables, capture_output=True).stdout

    slurm("scancel", "--user=root")
    wait_until(lambda: not slurm("squeue", "--noheader"))
    slurm("scontrol", "update", "NodeName=ALL", "State=RESUME")
    return command
