"""The devices of JAX, and its threads. Both must be chosen before JAX opens its first device."""

import glob
import os
from typing import Any, List, Optional

import jax

from ...errors import Unsupported
from ...host import gpus, hardware, topology
from ...host.sysfs import System
from ...workload.problem import Problem
from .. import capabilities

_POOL = "tf_XLAEigen"  # XLA's name of the threads that share the work of one operation
_CPUS_OF_TASK: List[int] = []  # those before any restriction


def restrict_cpus(intra_op: Optional[int]) -> None:
    """Restrict this process to `intra_op` CPUs, since XLA starts one thread per usable CPU and has no setting for it.

    Raise Unsupported if there are fewer CPUs.
    """
    cpus = hardware.usable_cpus()
    _CPUS_OF_TASK[:] = cpus
    if intra_op is None:
        return
    if intra_op > len(cpus):
        raise Unsupported("JAX uses one thread per CPU: it cannot use %d on %d" % (intra_op, len(cpus)))
    placed = topology.cores_first(topology.read(System(cpus)))
    os.sched_setaffinity(0, [cpu.number for cpu in placed[:intra_op]])


def cpus_of_task() -> List[int]:
    """Return the CPUs that the process could use before `restrict_cpus`."""
    return _CPUS_OF_TASK or hardware.usable_cpus()


def pool_size() -> Optional[int]:
    """Return the number of threads in XLA's pool; None if XLA has not started one."""
    return sum(name.startswith(_POOL) for name in _thread_names()) or None


def choose_gpu(problem: Problem) -> None:
    """Make the rank's GPU the only one that JAX sees, since JAX takes memory on all. Raise Unsupported."""
    seen = [gpus.name(index) or "a GPU" for index in range(gpus.count())]  # JAX itself would open them
    capabilities.check_gpus(problem, seen, "JAX %s" % jax.__version__)
    own = capabilities.own_gpu(problem, len(seen))
    capabilities.check_gpu_dtype(problem, gpus.capability(own), seen[own])
    jax.config.update("jax_cuda_visible_devices", str(own))
    jax.config.update("jax_rocm_visible_devices", str(own))


def own(platform: str) -> jax.Device:
    """Return the device of this rank; `platform` is cpu or gpu. Raise Unsupported if this JAX lacks the platform."""
    try:
        return jax.local_devices(backend=platform)[0]
    except RuntimeError as error:
        if "Unknown backend" not in str(error):
            raise
        raise Unsupported("a GPU is requested, but JAX %s is built for the CPU only" % jax.__version__) from error


def multiplies_in(dtype: Any) -> bool:
    """Return whether XLA multiplies matrices of this 16-bit dtype without a conversion to float32."""
    matrix = jax.ShapeDtypeStruct((256, 256), dtype)
    return "f32[256,256]" not in jax.jit(jax.numpy.matmul).lower(matrix, matrix).compile().as_text()


def _thread_names() -> List[str]:
    names = []
    for path in glob.glob("/proc/self/task/*/comm"):
        try:
            with open(path) as file:
                names.append(file.read())
        except OSError:  # the thread has ended
            continue
    return names
