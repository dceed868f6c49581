"""A case in a real container of Podman, run by a user without rights, as on a cluster."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

USER, IMAGE = "hpcbench-podman", "localhost/hpcbench-test:1"
# A machine as Podman wants it: crun does not know cgroups of both versions side by side.
PREPARED = """
set -e
[ ! -d /sys/fs/cgroup/unified ] || umount -l /sys/fs/cgroup/unified
mkdir -p /dev/mqueue; mount -t mqueue mqueue /dev/mqueue
STORAGE_DRIVER=overlay exec su "$1" -s /bin/bash -c "$2"
"""
COMMAND = """
echo "user: $(id -u)"
cat /proc/self/cgroup > cgroups-inside
cat /etc/debian_version > debian
[ "$OMP_MINE" = "a 'b' \\$x" ]
[ "$HPCBENCH_RANK" = 0 ]
[ -z "$SOME_TOKEN" ]
readlink /proc/self/ns/net /proc/self/ns/ipc > namespaces-inside
"""


@pytest.fixture
def podman_user(command_line, container_image) -> Iterator[Path]:
    """The workspace of a user who may run containers and has the image. The command line works in it, as root."""
    if os.geteuid() != 0:
        pytest.skip("a user for the test can be made by root only")
    tool = Path(__file__).parents[2] / "tools" / "podman"
    installed = subprocess.run([tool], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    subprocess.run(["userdel", "--force", "--remove", USER], capture_output=True)  # what a killed run left
    subprocess.run(["useradd", "--create-home", USER], check=True, capture_output=True)
    workspace = Path(tempfile.mkdtemp(prefix="hpcbench-podman-", dir="/var/tmp"))
    try:
        archive = workspace / "image.tar"
        left_out = [f"--exclude=./{folder}/*" for folder in ("dev", "var/cache", "var/lib", "usr/share")]
        subprocess.run(["tar", "-C", container_image, "-cf", archive, *left_out, "."], check=True)
        command_line.workspace = workspace
        give(workspace)
        simplest = f"podman run --rm --network=host --cgroups=disabled {IMAGE} true"
        tried = as_user(f"podman import --quiet {archive} {IMAGE} && {simplest}")
        if tried.returncode and os.environ.get("CI") != "true":
            pytest.skip(f"podman runs no container here: {tried.stderr.strip()}")
        assert tried.returncode == 0, tried.stderr
        yield workspace
    finally:
        as_user("podman system migrate; podman image rm --all --force")
        subprocess.run(["userdel", "--force", "--remove", USER], capture_output=True)
        shutil.rmtree(workspace)


def give(workspace: Path) -> None:
    subprocess.run(["chown", "--recursive", f"{USER}:", workspace], check=True)
    workspace.chmod(0o755)


def as_user(command: str) -> subprocess.CompletedProcess[str]:
    words = ["unshare", "--mount", "bash", "-c", PREPARED, "bash", USER, f"cd /; {command}"]
    return subprocess.run(words, capture_output=True, text=True, timeout=300)


def test_a_case_runs_in_a_container_of_podman(command_line, podman_user):
    environment = {
        "container": {"runtime": "podman", "image": IMAGE},
        "env": {"OMP_MINE": "a 'b' $x"},
    }
    content = {
        "name": "podman",
        "parameters": {"framework": "command", "command": COMMAND},
        "metrics": {"user": {"regex": r"user: (\d+)"}},
        "measure": {"repetitions": 1},
    }
    (podman_user / "podman.yaml").write_text(json.dumps(content))
    site = command_line.site(environments={"command": environment})
    script = command_line("sweep", "podman.yaml", "--site", site, "--render-only").stdout.strip()
    give(podman_user)
    outside = "cat /proc/self/cgroup; readlink /proc/self/ns/net /proc/self/ns/ipc"
    done = as_user(f"{outside}; SOME_TOKEN=hunter2 bash {script} 0")
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = command_line.records()
    assert record["status"] == "completed"
    assert record["metrics"]["user"]["value"] == (podman_user / "debian").stat().st_uid, "files belong to the user"
    assert (podman_user / "debian").read_text().startswith("12.")
    inside = (podman_user / "cgroups-inside").read_text() + (podman_user / "namespaces-inside").read_text()
    assert done.stdout.startswith(inside), "Slurm's limits hold inside, and tasks reach each other"
