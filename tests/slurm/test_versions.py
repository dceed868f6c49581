"""What hpcbench makes of the output of each version of Slurm: recorded, or reconstructed (samples/README.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.site import Site
from hpcbench.slurm import cluster_query
from hpcbench.slurm.cluster_query import Cluster, Nodes
from hpcbench.slurm.queue import find_by_name
from hpcbench.slurm.submit_limits import exceeded_limit

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).parent / "samples"
REPLAY = Path(__file__).parent / "replay.py"
VERSIONS = sorted(folder.name for folder in SAMPLES.iterdir() if folder.is_dir())
COMMANDS = ("sbatch", "squeue", "sacct", "scontrol", "sinfo", "sacctmgr", "srun", "scancel")


def base(version: str) -> Path:
    """The folder of the recorded version that a version differs from."""
    marker = SAMPLES / version / "based-on"
    return SAMPLES / marker.read_text().strip() if marker.exists() else SAMPLES / version


def read(version: str, name: str) -> str:
    own = SAMPLES / version / name
    return (own if own.exists() else base(version) / name).read_text()


def messages(version: str) -> dict[str, str]:
    """What each failing command printed, on either stream."""
    rows = [row.split("|") for row in read(base(version).name, "messages.txt").splitlines()]
    return {name: f"{output}{errors}" for name, _, output, errors in rows}


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def slurm(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recorded Slurm of a version, on the PATH."""
    folder = tmp_path / "slurm"
    (folder / "commands").mkdir(parents=True)
    (folder / "sample").symlink_to(SAMPLES / version)
    (folder / "base").symlink_to(base(version))
    for name in COMMANDS:
        (folder / "commands" / name).symlink_to(REPLAY)
    monkeypatch.setenv("PATH", f"{folder / 'commands'}:{os.environ['PATH']}")
    return folder


def test_a_cluster_is_described(version: str, slurm: Path) -> None:
    assert cluster_query.slurm_responds()
    found = cluster_query.query_cluster()
    assert found.config["SLURM_VERSION"] == version
    assert found.site.limits.max_array_size == 10001
    assert {name: partition.gpus_per_node for name, partition in found.site.partitions.items()} == {
        "cpu": 2,
        "gpu": 2,
        "debug": 2,
        "low": 2,
    }
    assert found.nodes["cpu"] == Nodes(4, 4, "NO")
    assert (found.has_accounting, found.enforces("limits")) == (True, True)
    assert {each.account for each in found.associations or ()} == {"root", "lab"}
    assert found.qos_limits == {"few": 2}


def remove_accounting(version: str, slurm: Path) -> None:
    """Let the recorded Slurm be one without accounting."""
    config = slurm / "config"
    config.mkdir()
    (config / "config.txt").write_text(read(version, "no-accounting.txt"))
    (slurm / "sample").unlink()
    (slurm / "sample").symlink_to(config)


def test_a_cluster_without_accounting_is_told_from_one_with(version: str, slurm: Path) -> None:
    remove_accounting(version, slurm)
    assert not Cluster(cluster_query.query_config(), Site(name="here", scheduler="slurm")).has_accounting


@pytest.mark.parametrize("accounting", [True, False], ids=["accounting", "no accounting"])
@pytest.mark.parametrize("version", [each for each in VERSIONS if base(each).name == each], indirect=True)
def test_each_job_of_a_sweep_has_its_state(version: str, accounting: bool, slurm: Path, invoke: Any) -> None:
    """Arrays of three, five and one tasks: running, two pending; held, two cancelled; failed; no memory; cancelled.

    squeue has no index for the last one, and scontrol does not find it: its array has no other task that waits.
    """
    if not accounting:
        remove_accounting(version, slurm)
    cpus = [1] * 3 + [2] * 5 + [3, 4, 5]
    axes = [{"seed": list(range(len(cpus))), "cpus_per_task": cpus}]
    program: dict[str, Any] = {"framework": "command", "command": "true", "model": None, "model_options": {}}
    invoke.environment["PATH"] = os.environ["PATH"]
    site = invoke.site(scheduler="slurm", environments={})
    invoke("sweep", invoke.experiment(parameters=program, zip=axes), "--site", site)
    assert invoke.states() == {
        "running": 1,
        "pending": 2,
        "never_started": 3,
        "cancelled": 3,
        "failed": 1,
        "out_of_memory": 1,
    }


def test_a_job_of_a_user_without_a_name_is_found(slurm: Path) -> None:
    """Slurm 22.05 to 24.11 reject the number of such a user: squeue lists nothing, and its status is 0."""
    (slurm / "uid").write_text("54321")
    assert find_by_name("study-1.job-002.dd", 54321, None)
    assert find_by_name("study-1.job-002.dd", 54322, None) is None


def test_refusals_for_too_many_jobs_are_told_from_others(version: str) -> None:
    limits = {name: exceeded_limit(text) for name, text in messages(version).items() if exceeded_limit(text)}
    assert set(limits) == {
        "AssocMaxSubmitJobLimit",
        "MaxJobCount",
        "MaxJobCount-timeout",
        "MaxSubmitJobsPerAccount",
        "QOSGrpSubmitJobsLimit",
        "QOSMaxSubmitJobPerUserLimit",
    }
    assert all(text.endswith(f"({name.removesuffix('-timeout')})") for name, text in limits.items())
