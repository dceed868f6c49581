"""Two real clusters on this machine, started for the tests and stopped after them: with accounting and without."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import pytest

from tests.cluster.polling import ask_often

TOOL = Path(__file__).parents[2] / "tools" / "cluster"
FAULTS = Path(__file__).parent / "faults"
# The Slurm release, set by tools/slurm_versions.py: its clusters may run next to those of the installed Slurm.
RELEASE = os.environ.get("CLUSTER_RELEASE", "")
# Of a case that may run anything: no framework, whose import would take seconds.
PROGRAM = {"framework": "command", "command": "true", "model": None, "model_options": {}}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/cluster/"):
            item.add_marker(pytest.mark.slurm)
            item.user_properties += [("feature", mark.args[0]) for mark in item.iter_markers("versions")]


def start_cluster(name: str, port: int, accounting: str, **more: str) -> Iterator[dict[str, str]]:
    """The variables that point the Slurm commands, and tools/cluster, at a fresh cluster."""
    settings = {
        "CLUSTER_DIR": f"/var/lib/hpcbench-tests-{name}{RELEASE}",
        "CLUSTER_PORT": str(port + 8000 if RELEASE else port),
        "CLUSTER_ACCOUNTING": accounting,
        "CLUSTER_ENFORCE": accounting,
        "CLUSTER_NAME": name,
        **more,
    }
    environment = {**os.environ, **settings}
    with (Path(gettempdir()) / f"hpcbench-{os.getuid()}-{name}{RELEASE}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # "down" would end the cluster of another run of the tests
        subprocess.run([TOOL, "down"], env=environment, capture_output=True)  # what a killed run left
        started = subprocess.run([TOOL, "up"], env=environment, capture_output=True, text=True)
        if started.returncode:
            reason = f"no Slurm could be started here: {started.stderr.strip()}"
            if os.environ.get("CI") == "true":
                pytest.fail(reason)
            pytest.skip(reason)
        try:
            yield {"SLURM_CONF": f"{settings['CLUSTER_DIR']}/slurm.conf", **settings}
        finally:
            subprocess.run([TOOL, "down"], env=environment, capture_output=True)


@pytest.fixture(scope="session")
def accounting_cluster(mpi_compilers: Path) -> Iterator[dict[str, str]]:
    """Its slurmd finds PMIx's library, which comes with an MPI, only where that is there when it starts."""
    yield from start_cluster("accounting", 13000, "yes")


@pytest.fixture(scope="session")
def plain_cluster() -> Iterator[dict[str, str]]:
    yield from start_cluster("plain", 14000, "no")


@pytest.fixture(scope="session")
def other_cluster(accounting_cluster: dict[str, str]) -> Iterator[dict[str, str]]:
    """A second cluster, `other`, with the slurmdbd of the cluster with accounting: `-M other` reaches it from there."""
    yield from start_cluster("other", 12000, "yes", CLUSTER_DBD=accounting_cluster["CLUSTER_DIR"], CLUSTER_NODES="1")


@pytest.fixture
def cluster(command_line, accounting_cluster):
    """The command line on the cluster with accounting."""
    return on(command_line, accounting_cluster)


@pytest.fixture
def bare_cluster(command_line, plain_cluster):
    """The command line on the cluster without accounting."""
    return on(command_line, plain_cluster)


def on(command_line, variables):
    environments = {
        "pytorch": {},
        "faulty": {"env": {"PYTHONPATH": str(FAULTS)}},
        "vanishing": {"setup": ["kill -9 $$"]},
    }
    # Records are on a local disk here: they are visible at once.
    command_line.limits = {"record_delay_s": 1}
    file = command_line.site("cluster", scheduler="slurm", environments=environments)
    command_line.environment = {**variables, "HPCBENCH_SITE": str(command_line.workspace / file)}
    command_line.before = ask_often
    return command_line


@pytest.fixture
def slurm(cluster):
    """Run a Slurm command on the cluster with accounting; return what it prints."""

    def run(*command: str) -> str:
        done = subprocess.run(command, env=cluster.variables, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def remove_user(cluster, wait_until):
    """Remove a user from an account, when slurmdbd has heard that the user's jobs there have ended."""

    def removed(user: str, account: str) -> None:
        command = ["sacctmgr", "-i", "remove", "user", user, "where", f"account={account}"]
        wait_until(lambda: subprocess.run(command, env=cluster.variables, capture_output=True).returncode == 0)

    return removed
