"""The words of each container runtime. Charliecloud and Podman are also run, see tests/commands/test_containers.py."""

from __future__ import annotations

import fnmatch
import pwd
import subprocess
from pathlib import Path

import pytest

from hpcbench.config.container import Container
from hpcbench.errors import UserError
from hpcbench.submit.container import PASSED_BY_PODMAN, ContainerCommand, ContainerNeeds, container_command

WORKSPACE = "/home/me/study"


def rendered(
    runtime: str,
    image: str = "/images/torch",
    *,
    gpus: bool = False,
    folders: tuple[str, ...] = (WORKSPACE,),
    variables: dict[str, str] | None = None,
    **more: list[str],
) -> ContainerCommand:
    container = Container.model_validate({"runtime": runtime, "image": image, **more})
    return container_command(container, ContainerNeeds(folders, variables or {}, gpus))


@pytest.mark.parametrize("runtime", ["apptainer", "singularity"])
def test_the_words_of_apptainer_and_singularity_which_are_not_run_here(runtime: str) -> None:
    made = rendered(runtime, "/images/torch.sif", mounts=["/data", "/scratch/me:/mnt"], options=["--no-home"])
    assert made.prefix == (
        *(runtime, "exec", "--bind=/data:/data", "--bind=/scratch/me:/mnt"),
        *(f"--bind={WORKSPACE}:{WORKSPACE}", f"--pwd={WORKSPACE}", "--no-home", "/images/torch.sif"),
    )
    assert made.srun == ()
    assert made.variables == {}


@pytest.mark.parametrize(("runtime", "prefix"), [("apptainer", "APPTAINERENV_"), ("singularity", "SINGULARITYENV_")])
def test_a_variable_wins_over_that_of_an_image_of_apptainer_which_is_not_run_here(runtime: str, prefix: str) -> None:
    made = rendered(runtime, variables={"A": "1", "B": r"$HOME `x` \ " + '"q"'})
    assert made.variables == {f"{prefix}A": "1", f"{prefix}B": r"\$HOME \`x\` \\ " + '"q"'}


@pytest.mark.parametrize("value", ["$HOME", "`id`", "$(id)", "a\\b", "\\", "it's", 'say "a"', "$", "\\$"])
def test_what_apptainer_evaluates_once_is_the_value_again_with_bash_as_its_evaluator(value: str) -> None:
    """Apptainer writes a value between double quotes, escapes those in it, and lets a shell evaluate that."""
    (given,) = rendered("apptainer", variables={"A": value}).variables.values()
    program = 'export A="{}"\nprintf %s "$A"'.format(given.replace('"', '\\"'))
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == value


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("torch.sif", f"{WORKSPACE}/torch.sif"),
        ("images/torch.sif", f"{WORKSPACE}/images/torch.sif"),
        ("../torch.sif", "/home/me/torch.sif"),
        ("~/torch.sif", f"{Path.home()}/torch.sif"),
        ("docker://pytorch/pytorch:2.6.0", "docker://pytorch/pytorch:2.6.0"),
    ],
)
def test_an_image_file_of_apptainer_is_found_from_the_workspace(image: str, full: str) -> None:
    assert rendered("apptainer", image).prefix[-1] == full


def test_a_home_that_is_unknown_is_an_error_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """HOME is not set, and the number of the user has no name, as in some containers."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    with pytest.raises(UserError, match=r"~/torch\.sif: home directory not found"):
        rendered("apptainer", "~/torch.sif")


@pytest.mark.parametrize(
    ("runtime", "image", "full"),
    [
        ("podman", "docker.io/pytorch/pytorch:2.6.0", "docker.io/pytorch/pytorch:2.6.0"),
        ("charliecloud", "torch", "torch"),
        ("charliecloud", "./torch", f"{WORKSPACE}/torch"),
    ],
)
def test_elsewhere_only_what_begins_like_a_path_is_one(runtime: str, image: str, full: str) -> None:
    assert full in rendered(runtime, image).prefix


def test_the_words_of_charliecloud() -> None:
    made = rendered("charliecloud", mounts=["/data:/mnt/0"], options=["--write-fake"])
    assert made.prefix == (
        *("ch-run", "--bind=/data:/mnt/0", f"--bind={WORKSPACE}:{WORKSPACE}", f"--cd={WORKSPACE}"),
        *("--write-fake", "/images/torch", "--"),
    )
    assert made == ContainerCommand(made.prefix), "it passes all variables on, and needs no more of srun"


def test_the_words_of_podman() -> None:
    made = rendered("podman", "pytorch:2.6", mounts=["/data"], options=["--memory=8g"], variables={"MINE": "a b"})
    first, last = made.prefix.index("--env=SLURM*"), made.prefix.index("--env=MINE")
    assert made.prefix[:first] == (
        *(
            "podman",
            "run",
            "--rm",
            "--entrypoint=",
            "--network=host",
            "--ipc=host",
            "--userns=keep-id",
            "--cgroups=disabled",
        ),
        *("--ulimit=host", "--security-opt=label=disable"),
    )
    assert made.prefix[last + 1 :] == (
        *("--volume=/data:/data", f"--volume={WORKSPACE}:{WORKSPACE}", f"--workdir={WORKSPACE}"),
        *("--memory=8g", "pytorch:2.6"),
    )
    assert made.variables == {}, "a value stands in no list of processes: podman takes it from its own environment"


@pytest.mark.parametrize(
    "name",
    [
        *("SLURM_PROCID", "SLURMD_NODENAME", "HPCBENCH_RANK", "PMI_RANK", "PMIX_RANK", "OMP_NUM_THREADS"),
        *("CUDA_VISIBLE_DEVICES", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TORCH_LOGS", "TF_NUM_INTEROP_THREADS"),
        *("XLA_FLAGS", "JAX_PLATFORMS", "MXNET_CPU_WORKER_NTHREADS", "KMP_BLOCKTIME", "MKL_NUM_THREADS"),
    ],
)
def test_podman_is_told_of_every_variable_that_matters(name: str) -> None:
    assert any(fnmatch.fnmatchcase(name, pattern) for pattern in PASSED_BY_PODMAN)


@pytest.mark.parametrize("name", ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "PATH", "LD_LIBRARY_PATH"])
def test_podman_is_told_of_no_secret_and_of_no_path_of_the_host(name: str) -> None:
    assert not any(fnmatch.fnmatchcase(name, pattern) for pattern in PASSED_BY_PODMAN)


def test_the_options_of_srun_for_pyxis_which_is_not_run_here() -> None:
    image = "nvcr.io#nvidia/pytorch:25.01-py3"
    made = rendered("pyxis", image, mounts=["/data:/mnt"], options=["--no-container-mount-home"], variables={"A": "1"})
    assert made.srun == (
        f"--container-image={image}",
        f"--container-mounts=/data:/mnt,{WORKSPACE}:{WORKSPACE}",
        f"--container-workdir={WORKSPACE}",
        "--container-env=A",
        "--no-container-mount-home",
    )
    assert made.prefix == ()
    assert made.variables == {}


@pytest.mark.parametrize(
    ("runtime", "usual", "shown"),
    [
        ("apptainer", ["--nv"], {}),
        ("singularity", ["--nv"], {}),
        ("podman", ["--device=nvidia.com/gpu=all"], {}),
        ("charliecloud", [], {}),
        ("pyxis", [], {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}),
    ],
)
def test_a_case_with_gpus_gets_the_options_for_them_and_no_other_does_with_no_gpu_here(
    runtime: str, usual: list[str], shown: dict[str, str]
) -> None:
    def options(made: ContainerCommand) -> list[str]:
        return [*made.prefix, *made.srun]

    without, given = rendered(runtime), rendered(runtime, gpus=True)
    assert [word for word in options(given) if word not in options(without)] == usual
    assert given.variables == shown
    amd = rendered(runtime, gpus=True, gpu_options=["--rocm"])
    assert [word for word in options(amd) if word not in options(without)] == ["--rocm"]
    assert amd.variables == {}
    assert rendered(runtime, gpu_options=["--rocm"]) == without


@pytest.mark.parametrize("runtime", ["apptainer", "charliecloud", "podman", "pyxis"])
def test_a_folder_that_a_mount_shows_already_is_not_mounted_again(runtime: str) -> None:
    made = rendered(runtime, mounts=["/home/me"], folders=(WORKSPACE, "/home/me/other", "/scratch/me/results"))
    text = " ".join([*made.prefix, *made.srun])
    assert "/home/me:/home/me" in text
    assert f"{WORKSPACE}:" not in text
    assert "/home/me/other" not in text
    assert "/scratch/me/results:/scratch/me/results" in text


def test_a_mount_elsewhere_or_of_a_similar_name_shows_no_workspace() -> None:
    made = rendered("podman", mounts=["/home/me:/mnt", "/home/me/stu"])
    assert f"--volume={WORKSPACE}:{WORKSPACE}" in made.prefix


@pytest.mark.parametrize("folder", ["/home/me/a:b", "/home/me/a,b"])
def test_a_workspace_that_no_runtime_can_mount_is_refused(folder: str) -> None:
    with pytest.raises(UserError, match="colon or a comma") as caught:
        rendered("apptainer", folders=(folder,))
    assert caught.value.where == folder
