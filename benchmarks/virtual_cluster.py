"""A real Slurm of virtual nodes on this machine, for as long as a benchmark needs it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measuring import ROOT, Variables, put_first

TOOL = ROOT / "tools" / "cluster"
ANSWERING = ("munged", "slurmctld", "slurmdbd", "mariadbd")


class NoSlurmError(Exception):
    """No Slurm could be started here."""


@contextmanager
def virtual_cluster(directory: str, port: int, environment: Variables, **settings: str) -> Iterator[dict[str, str]]:
    """The variables by which commands find it. Raises NoSlurmError where none can be started.

    What answers commands runs before its nodes, which share this machine's cores.
    """
    own = {f"CLUSTER_{name.upper()}": value for name, value in settings.items()}
    variables = {**environment, **own, "CLUSTER_DIR": directory, "CLUSTER_PORT": str(port)}
    started = subprocess.run([TOOL, "up"], env=variables, capture_output=True, text=True)
    if started.returncode:
        raise NoSlurmError(" ".join(started.stderr.split()[-20:]))
    try:
        for name in ANSWERING:
            put_first(int(Path(directory, "run", f"{name}.pid").read_text()))
        yield {**variables, "SLURM_CONF": f"{directory}/slurm.conf"}
    finally:
        subprocess.run([TOOL, "down"], env=variables, capture_output=True)


def partition(state: str, cluster: Variables) -> None:
    """Jobs of a partition that is DOWN wait until it is UP."""
    subprocess.run(["scontrol", "update", "PartitionName=cpu", f"State={state}"], env=cluster, check=True)


def wait_until_left(most: int, cluster: Variables, limit_s: float) -> int:
    """Wait until so many jobs have not ended, each element of an array counted, or until the time is over. How many
    that are then."""
    end = time.monotonic() + limit_s
    while (left := in_queue(cluster)) > most and time.monotonic() < end:
        time.sleep(0.5)
    return left


def in_queue(cluster: Variables) -> int:
    """How many jobs have not ended."""
    states = "pending,configuring,running,completing,suspended"
    words = ["squeue", "--noheader", "--array", f"--states={states}", "--format=%i"]
    return len(subprocess.run(words, env=cluster, check=True, capture_output=True, text=True).stdout.split())
