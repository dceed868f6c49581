"""What starts the processes of a command: the words of srun, and the launcher in the script."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.errors import UserError
from hpcbench.plan.packing import Resources
from hpcbench.store.sweep import Sweep
from hpcbench.submit.script import srun_command

SITE = Site.model_validate({"name": "cluster", "scheduler": "slurm", "launcher": {"srun": ["--mpi=pmix"]}})


def resources(launch: str, gpus: int = 0, option: str = "gres") -> Resources:
    return Resources(2, 4, 3, gpus, "command", SlurmOptions(gpu_option=option), launch)


def test_srun_starts_each_task_and_torchrun_once_on_each_node_with_all_its_cpus() -> None:
    assert srun_command(resources("srun"), SITE) == [
        *("srun", "--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--cpus-per-task=3"),
        *("--kill-on-bad-exit=1", "--mpi=pmix"),
    ]
    assert srun_command(resources("torchrun"), SITE) == [
        *("srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--cpus-per-task=12"),
        *("--kill-on-bad-exit=1", "--mpi=pmix"),
    ]


@pytest.mark.parametrize(("option", "word"), [("gres", "--gres=gpu:4"), ("gpus-per-task", "--gpus-per-task=4")])
def test_torchrun_has_the_gpus_of_all_workers_of_its_node(option: str, word: str) -> None:
    assert word in srun_command(resources("torchrun", 1, option), SITE)


@pytest.mark.parametrize("launch", ["mpirun", "none"])
def test_without_srun_the_script_starts_the_command(launch: str) -> None:
    assert srun_command(resources(launch), SITE) == []


@pytest.mark.parametrize(
    ("launch", "launcher"),
    [("srun", None), ("none", None), ("mpirun", "mpirun --map-by 'a b'"), ("torchrun", "torchrun")],
)
def test_the_script_has_the_launcher_with_the_arguments_of_the_site(
    launch: str, launcher: str | None, make_sweep: Callable[..., Sweep]
) -> None:
    site = "{}\nlauncher: {mpirun: [--map-by, 'a b']}"
    sweep = make_sweep(f"  launch: {launch}\n", command="true", site=site)
    text = sweep.paths.script("job-001").read_text()
    words = shlex.split(text[text.index('exec "$python"') :].replace("\\\n", ""))
    assert (words[words.index("--launcher") + 1] if launcher else "--launcher" not in words) == (launcher or True)
    assert "--srun" in words, "in a Slurm job, also if srun does not start the tasks"


def test_a_framework_has_no_launcher(make_sweep: Callable[..., Sweep]) -> None:
    with pytest.raises(UserError, match="launch: torchrun requires framework: command"):
        make_sweep("  launch: torchrun\n")


@pytest.mark.parametrize("launch", ["mpirun", "none"])
def test_a_container_of_pyxis_needs_srun(launch: str, make_sweep: Callable[..., Sweep]) -> None:
    site = "container: {runtime: pyxis, image: x}"
    with pytest.raises(UserError, match=f"requires srun, and launch: {launch} does not use it"):
        make_sweep(f"  launch: {launch}\n  environment: pytorch\n", command="true", site=site)
