"""A container of the site file as words of a job script. Pure.

Inside, a case sees the folders of its sweep, writable and at their own paths; works in the workspace; and has the
variables that Slurm, the launcher and the site set. Each runtime is one function here, with the page that it follows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hpcbench.config.container import Container
from hpcbench.errors import UserError


@dataclass(frozen=True)
class Needs:
    """What a case has to find inside."""

    folders: tuple[str, ...]  # the workspace first, where the case works
    variables: Mapping[str, str]  # of the site's environment
    gpus: bool


@dataclass(frozen=True)
class Words:
    """A container as a script writes it."""

    prefix: tuple[str, ...] = ()  # before the Python
    srun: tuple[str, ...] = ()  # more options of srun
    variables: Mapping[str, str] = field(default_factory=dict)  # exported before either


def words(container: Container, needs: Needs) -> Words:
    """How a script starts this container. Raises UserError for a workspace that it cannot see."""
    for folder in needs.folders:
        if ":" in folder or "," in folder:
            raise UserError(
                "the path contains a colon or a comma, and so cannot be seen inside a container",
                where=folder,
                hint="use a folder with plain letters, digits and . _ - in its path",
            )
    return _RUNTIMES[container.runtime](container, needs)


def _apptainer(container: Container, needs: Needs) -> Words:
    """https://apptainer.org/docs/user/latest/ : bind_paths_and_mounts, gpu, environment_and_metadata (read for 1.5).

    The host's variables are seen inside, but those of the image win: APPTAINERENV_NAME wins over them. Its value is
    evaluated once more, as in double quotes.
    """
    return _exec_in_image(container, needs, "APPTAINERENV_")


def _singularity(container: Container, needs: Needs) -> Words:
    """https://docs.sylabs.io/guides/latest/user-guide/ : the same pages (read for SingularityCE 4.3)."""
    return _exec_in_image(container, needs, "SINGULARITYENV_")


def _exec_in_image(container: Container, needs: Needs, variable: str) -> Words:
    binds = [f"--bind={source}:{target}" for source, target in _mounts(container, needs)]
    options = [f"--pwd={needs.folders[0]}", *_gpu_options(container, needs, ["--nv"]), *container.options]
    image = container.image
    if "://" not in image and not image.startswith(("/", "~", ".")):
        image = f"./{image}"
    return Words(
        prefix=(container.runtime, "exec", *binds, *options, _in_workspace(image, needs)),
        variables={f"{variable}{name}": _unevaluated(value) for name, value in needs.variables.items()},
    )


def _unevaluated(value: str) -> str:
    for special in ("\\", "$", "`"):
        value = value.replace(special, "\\" + special)
    return value


def _charliecloud(container: Container, needs: Needs) -> Words:
    """https://hpc.github.io/charliecloud/ch-run.html (read for 0.31 to 0.38).

    It passes all variables on. A folder that is mounted must exist in the image, or --write-fake be among the
    options. The driver of GPUs is put into the image, once: ch-fromhost --nvidia IMAGE.
    """
    binds = [f"--bind={source}:{target}" for source, target in _mounts(container, needs)]
    gpus = _gpu_options(container, needs, [])
    image = _in_workspace(container.image, needs)
    return Words(("ch-run", *binds, f"--cd={needs.folders[0]}", *gpus, *container.options, image, "--"))


# What Slurm and the launchers set, and what changes how fast a framework runs; see also core/redaction.py.
PASSED_BY_PODMAN = (
    *("SLURM*", "HPCBENCH_*", "PMI*", "OMPI_*", "UCX_*", "FI_*", "NCCL_*", "GLOO_*", "HOROVOD_*", "DMLC_*"),
    *("MPICH_*", "MV2_*", "I_MPI_*", "PSM2_*"),
    *("OMP_*", "KMP_*", "GOMP_*", "MKL_*", "OPENBLAS_*", "BLIS_*", "NUMEXPR_*", "ONEDNN_*", "DNNL_*", "MALLOC_*"),
    *("CUDA_*", "CUBLAS_*", "CUDNN_*", "NVIDIA_*", "ROCR_*", "HIP_*", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"),
    *("TORCH*", "PYTORCH_*", "TF_*", "XLA_*", "JAX_*", "KERAS_*", "MXNET_*", "PYTHONHASHSEED"),
)


def _podman(container: Container, needs: Needs) -> Words:
    """https://docs.podman.io/en/latest/markdown/podman-run.1.html (read for 5.8, tried with 4.3).

    Without a cgroup of its own a container stays in the one of Slurm's job, and so within its limits; podman then
    insists on a PID namespace of its own. Of the variables, only those that are named get in. SELinux would hide the
    mounted folders. The image's own entry point is left out, as the other runtimes do. GPUs come by the
    Container Device Interface:
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
    """
    as_on_the_host = ("--network=host", "--ipc=host", "--userns=keep-id", "--cgroups=disabled", "--ulimit=host")
    names = [f"--env={name}" for name in (*PASSED_BY_PODMAN, *needs.variables)]
    volumes = [f"--volume={source}:{target}" for source, target in _mounts(container, needs)]
    gpus = _gpu_options(container, needs, ["--device=nvidia.com/gpu=all"])
    start = ("podman", "run", "--rm", "--entrypoint=", *as_on_the_host, "--security-opt=label=disable")
    work = f"--workdir={needs.folders[0]}"
    return Words((*start, *names, *volumes, work, *gpus, *container.options, _in_workspace(container.image, needs)))


def _pyxis(container: Container, needs: Needs) -> Words:
    """https://github.com/NVIDIA/pyxis (read for 0.24, tried with Enroot 4.1): srun itself starts the container.

    The host's variables are seen inside, but those of the image win, unless --container-env names them. Enroot's hook
    gives GPUs to what has NVIDIA_VISIBLE_DEVICES, and images that were made for GPUs set it:
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
    ask = needs.gpus and container.gpu_options is None
    shown = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"} if ask else {}
    return Words(srun=(*options, *gpus, *container.options), variables=shown)


_RUNTIMES: dict[str, Callable[[Container, Needs], Words]] = {
    "apptainer": _apptainer,
    "singularity": _singularity,
    "charliecloud": _charliecloud,
    "podman": _podman,
    "pyxis": _pyxis,
}


def _mounts(container: Container, needs: Needs) -> list[tuple[str, str]]:
    """The site's mounts, then the sweep's folders, as far as no mount shows them already."""
    mounts = [(_at_home(source), _at_home(target)) for source, target in container.mounted]
    shown = [source for source, target in mounts if source == target]
    for folder in needs.folders:
        if not any(_holds(outer, folder) for outer in shown):
            mounts.append((folder, folder))
            shown.append(folder)
    return mounts


def _holds(outer: str, folder: str) -> bool:
    return os.path.commonpath([outer, folder]) == os.path.normpath(outer)


def _gpu_options(container: Container, needs: Needs, usual: list[str]) -> list[str]:
    if not needs.gpus:
        return []
    return usual if container.gpu_options is None else container.gpu_options


def _in_workspace(image: str, needs: Needs) -> str:
    """A path that begins with `.` or `~/` in full; anything else may be a name that the runtime knows."""
    if image.startswith("."):
        return os.path.normpath(Path(needs.folders[0], image))
    return _at_home(image)


def _at_home(path: str) -> str:
    return str(Path(path).expanduser()) if path.startswith("~/") else path
