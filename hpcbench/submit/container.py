"""The command line of a container of the site file. Pure.

In the container, a case sees the folders of its sweep, writable and at their own paths, works in the workspace, and has
the variables that Slurm, the launcher and the site set. There is one function per runtime, with its documentation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hpcbench.config.container import Container
from hpcbench.errors import UserError
from hpcbench.util.home import expanded


@dataclass(frozen=True)
class ContainerNeeds:
    """The requirements of a case that runs in a container."""

    folders: tuple[str, ...]  # the workspace first, which is the working directory
    variables: Mapping[str, str]  # of the site's environment
    gpus: bool


@dataclass(frozen=True)
class ContainerCommand:
    """The options and variables with which a script starts a container."""

    prefix: tuple[str, ...] = ()  # before the Python
    srun: tuple[str, ...] = ()  # more options of srun
    variables: Mapping[str, str] = field(default_factory=dict)  # to export first


def container_command(container: Container, needs: ContainerNeeds) -> ContainerCommand:
    """Return how a script starts a container. Raise UserError if the path of a folder cannot be mounted."""
    for folder in needs.folders:
        if ":" in folder or "," in folder:
            raise UserError(
                "a path with a colon or a comma cannot be mounted in a container",
                where=folder,
                hint="use a path of letters, digits and . _ -",
            )
    return _RUNTIMES[container.runtime](container, needs)


def _apptainer(container: Container, needs: ContainerNeeds) -> ContainerCommand:
    """Follow https://apptainer.org/docs/user/latest/ : bind_paths_and_mounts, gpu, environment_and_metadata (1.5).

    The container has the host's variables, but those of the image override them. APPTAINERENV_NAME overrides both; its
    value is evaluated once more, as in double quotes.
    """
    return _exec_in_image(container, needs, "APPTAINERENV_")


def _singularity(container: Container, needs: ContainerNeeds) -> ContainerCommand:
    """Follow https://docs.sylabs.io/guides/latest/user-guide/ : the pages as for Apptainer (SingularityCE 4.3)."""
    return _exec_in_image(container, needs, "SINGULARITYENV_")


def _exec_in_image(container: Container, needs: ContainerNeeds, variable: str) -> ContainerCommand:
    binds = [f"--bind={source}:{target}" for source, target in _mounts(container, needs)]
    options = [f"--pwd={needs.folders[0]}", *_gpu_options(container, needs, ["--nv"]), *container.options]
    image = container.image
    if "://" not in image and not image.startswith(("/", "~", ".")):
        image = f"./{image}"
    return ContainerCommand(
        prefix=(container.runtime, "exec", *binds, *options, _in_workspace(image, needs)),
        variables={f"{variable}{name}": _unevaluated(value) for name, value in needs.variables.items()},
    )


def _unevaluated(value: str) -> str:
    for special in ("\\", "$", "`"):
        value = value.replace(special, "\\" + special)
    return value


def _charliecloud(container: Container, needs: ContainerNeeds) -> ContainerCommand:
    """Follow https://hpc.github.io/charliecloud/ch-run.html (0.31 to 0.38).

    It passes all variables on. A mounted folder must exist in the image, unless the options contain --write-fake. The
    user installs the GPU driver in the image once: ch-fromhost --nvidia IMAGE.
    """
    binds = [f"--bind={source}:{target}" for source, target in _mounts(container, needs)]
    gpus = _gpu_options(container, needs, [])
    image = _in_workspace(container.image, needs)
    return ContainerCommand(("ch-run", *binds, f"--cd={needs.folders[0]}", *gpus, *container.options, image, "--"))


# Variables that Slurm and the launchers set, and that affect the speed of frameworks (core/variables/performance.py).
PASSED_BY_PODMAN = (
    *("SLURM*", "HPCBENCH_*", "PMI*", "OMPI_*", "UCX_*", "FI_*", "NCCL_*", "GLOO_*", "HOROVOD_*", "DMLC_*"),
    *("MPICH_*", "MV2_*", "I_MPI_*", "PSM2_*"),
    *("OMP_*", "KMP_*", "GOMP_*", "MKL_*", "OPENBLAS_*", "BLIS_*", "NUMEXPR_*", "ONEDNN_*", "DNNL_*", "MALLOC_*"),
    *("CUDA_*", "CUBLAS_*", "CUDNN_*", "NVIDIA_*", "ROCR_*", "HIP_*", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"),
    *("TORCH*", "PYTORCH_*", "TF_*", "XLA_*", "JAX_*", "KERAS_*", "MXNET_*", "PYTHONHASHSEED"),
)


def _podman(container: Container, needs: ContainerNeeds) -> ContainerCommand:
    """Follow https://docs.podman.io/en/latest/markdown/podman-run.1.html (5.8; tested with 4.3).

    Without its own cgroup, a container stays in that of Slurm's job, and so within its limits; podman then requires a
    PID namespace of its own. The container has only the named variables. SELinux would hide the mounted folders. Like
    the other runtimes, podman ignores the entry point of the image here. GPUs use the Container Device Interface:
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
    """
    as_on_the_host = ("--network=host", "--ipc=host", "--userns=keep-id", "--cgroups=disabled", "--ulimit=host")
    names = [f"--env={name}" for name in (*PASSED_BY_PODMAN, *needs.variables)]
    volumes = [f"--volume={source}:{target}" for source, target in _mounts(container, needs)]
    gpus = _gpu_options(container, needs, ["--device=nvidia.com/gpu=all"])
    start = ("podman", "run", "--rm", "--entrypoint=", *as_on_the_host, "--security-opt=label=disable")
    work = f"--workdir={needs.folders[0]}"
    return ContainerCommand(
        (*start, *names, *volumes, work, *gpus, *container.options, _in_workspace(container.image, needs))
    )


def _pyxis(container: Container, needs: ContainerNeeds) -> ContainerCommand:
    """Follow https://github.com/NVIDIA/pyxis (0.24; tested with Enroot 4.1): srun itself starts the container.

    The container has the host's variables, but those of the image override them, unless --container-env names them.
    Enroot's hook gives GPUs to containers with NVIDIA_VISIBLE_DEVICES, which images for GPUs set:
    https://github.com/NVIDIA/enroot/blob/master/doc/standard-hooks.md
    """
    mounts = ",".join(f"{source}:{target}" for source, target in _mounts(container, needs))
    options = [
        f"--container-image={_in_workspace(container.image, needs)}",
        f"--container-mounts={mounts}",
        f"--container-workdir={needs.folders[0]}",
    ]
    if needs.variables:
        options.append(f"--container-env={','.join(needs.variables)}")
    gpus = _gpu_options(container, needs, [])
    default_gpus = needs.gpus and container.gpu_options is None
    shown = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"} if default_gpus else {}
    return ContainerCommand(srun=(*options, *gpus, *container.options), variables=shown)


_RUNTIMES: dict[str, Callable[[Container, ContainerNeeds], ContainerCommand]] = {
    "apptainer": _apptainer,
    "singularity": _singularity,
    "charliecloud": _charliecloud,
    "podman": _podman,
    "pyxis": _pyxis,
}


def _mounts(container: Container, needs: ContainerNeeds) -> list[tuple[str, str]]:
    """Return the site's mounts, then the sweep's folders that they do not contain."""
    mounts = [(_at_home(source), _at_home(target)) for source, target in container.mounted]
    shown = [source for source, target in mounts if source == target]
    for folder in needs.folders:
        if not any(_holds(outer, folder) for outer in shown):
            mounts.append((folder, folder))
            shown.append(folder)
    return mounts


def _holds(outer: str, folder: str) -> bool:
    return os.path.commonpath([outer, folder]) == os.path.normpath(outer)


def _gpu_options(container: Container, needs: ContainerNeeds, usual: list[str]) -> list[str]:
    if not needs.gpus:
        return []
    return usual if container.gpu_options is None else container.gpu_options


def _in_workspace(image: str, needs: ContainerNeeds) -> str:
    """Return the full path of an image that begins with `.` or `~/`; others may be names of images."""
    if image.startswith("."):
        return os.path.normpath(Path(needs.folders[0], image))
    return _at_home(image)


def _at_home(path: str) -> str:
    return str(expanded(path)) if path.startswith("~/") else path
