"""The script of the job that submits the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hpcbench
from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit import continuation_job
from hpcbench.submit.template import Template
from hpcbench.util.locking.lease import Lease
from hpcbench.util.package_data import shipped

SITE = Site.model_validate(
    {
        "name": "cluster",
        "scheduler": "slurm",
        "partitions": {
            "short": {"default": True, "max_time": "00:05:00"},
            "long": {"max_time": "1-00:00:00"},
            "endless": {},
        },
    }
)


@pytest.mark.integration
def test_it_runs_nothing_of_the_folder_where_the_sweep_was_submitted(tmp_path: Path) -> None:
    for name in ("json", "click", "pkgutil", "runpy", "hpcbench"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')")
    script = Template(shipped("templates") / "follow-on.sh.j2").render(
        version=hpcbench.__version__, options=[], sweep="--help", python=sys.executable, workspace=tmp_path
    )
    done = subprocess.run(
        ["bash", "-c", f"sleep() {{ exit 3; }}\n{script}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert " resume " in done.stdout


@pytest.mark.integration
@pytest.mark.parametrize(("restarts", "requeues"), [("", True), ("19", True), ("20", False)])
def test_if_the_sweep_stays_locked_slurm_starts_it_again_later(tmp_path: Path, restarts: str, requeues: bool) -> None:
    script = Template(shipped("templates") / "follow-on.sh.j2").render(
        version=hpcbench.__version__, options=[], sweep="study-1", python="/bin/false", workspace=tmp_path
    )
    scontrol = tmp_path / "scontrol"
    scontrol.write_text('#!/bin/sh\necho "scontrol $@"\n')
    scontrol.chmod(0o755)
    job = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_ID": "42", "SLURM_RESTART_COUNT": restarts}
    done = subprocess.run(["bash", "-c", f"sleep() {{ :; }}\n{script}"], env=job, capture_output=True, text=True)
    assert done.stdout.count("trying again in") == 5
    assert ("scontrol requeue 42" in done.stdout, done.returncode) == (requeues, 0 if requeues else 1)


@pytest.mark.parametrize(
    ("partition", "time"),
    [
        (None, "0:05:00"),
        ("long", "0:30:00"),
        ("endless", "0:30:00"),
        ("elsewhere", "0:30:00"),
        ("long,short", "0:05:00"),
    ],
)
def test_it_asks_for_no_more_time_than_its_partition_gives(tmp_path: Path, partition: str | None, time: str) -> None:
    workspace = Workspace(tmp_path)
    script = continuation_job.render(workspace, workspace.paths("study-1"), SlurmOptions(partition=partition), SITE)
    assert f"#SBATCH --time={time}\n" in script


def test_symbolic_links_of_other_users_are_not_followed(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    paths = workspace.paths("study-1")
    paths.jobs.mkdir(parents=True)
    (tmp_path / "target").write_text("kept")
    (paths.jobs / "follow-on.sh").symlink_to(tmp_path / "target")
    held = Lease(paths.jobs / ".lock", "this sweep", 0, None)
    sweep = Sweep(paths, {"site": SITE.model_dump()})
    with pytest.raises(OSError, match="symbolic links"):
        continuation_job.submit(sweep, workspace, SlurmOptions(), held)
    assert (tmp_path / "target").read_text() == "kept"
