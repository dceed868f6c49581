"""Environment variables that change a measurement: the one list for records, warnings and comparisons."""

import re
from typing import Dict, Iterable, List, Mapping, Optional

from ..redaction import is_secret

# Patterns of names, by the effect of the variables; the first match decides.
_EFFECTS = {
    "thread count": (
        r"\w+THREADS|OMP_(?:DYNAMIC|NESTED|THREAD_LIMIT|MAX_ACTIVE_LEVELS)|MKL_DYNAMIC|BLIS_[IJ][CR]_NT|GOMAXPROCS"
        r"|TOKENIZERS_PARALLELISM"
    ),
    "CPU binding": (
        r"OMP_PROC_BIND|OMP_PLACES|KMP_AFFINITY|KMP_HW_SUBSET|GOMP_CPU_AFFINITY|I_MPI_PIN\w*"
        r"|MV2_(?:ENABLE_AFFINITY|CPU_\w+)"
    ),
    "OpenMP runtime": r"(?:OMP|KMP|GOMP)_\w+",
    "arithmetic precision": (
        r"NVIDIA_TF32_OVERRIDE|TORCH_ALLOW_TF32_CUBLAS_OVERRIDE|ONEDNN_DEFAULT_FPMATH_MODE|JAX_ENABLE_X64"
        r"|JAX_DEFAULT_MATMUL_PRECISION"
    ),
    "math libraries": r"(?:MKL|OPENBLAS|GOTO|BLIS|VECLIB|NUMEXPR|DNNL)_\w+|\w*(?:ONEDNN|MKLDNN)_\w+",
    "memory allocation": (
        r"(?:MALLOC|MIMALLOC|TCMALLOC|XLA_PYTHON_CLIENT)_\w+|GLIBC_TUNABLES|PYTHONMALLOC|\w+_ALLOC_CONF"
        r"|TF_FORCE_GPU_ALLOW_GROWTH|TF_GPU_ALLOCATOR"
    ),
    "preloaded libraries": r"LD_PRELOAD",
    "GPU": r"(?:CUDA|CUBLAS|CUDNN|HIP|HSA|ROCR|ROCBLAS|MIOPEN)_\w+|GPU_MAX_HW_QUEUES",
    "communication": r"(?:NCCL|RCCL|GLOO|UCX|HOROVOD|OMPI_MCA|I_MPI|MV2|MPICH|FI)_\w+",  # FI: libfabric
    "framework": (
        r"(?:TORCH|PYTORCH|TORCHINDUCTOR|TORCHDYNAMO|TRITON|XLA|JAX|KERAS|MXNET)_\w+"
        r"|TF_(?:NUM|XLA|GPU|FORCE|ENABLE|DISABLE|USE|CUDNN)_\w+"
    ),
}
_NAMES = {effect: re.compile(names) for effect, names in _EFFECTS.items()}
# Names that match above, but give only a location, a version or the visible devices. The record has the devices
# themselves. Slurm gives each job a key for Open MPI.
_PLACES = re.compile(
    r"\w+_(?:HOME|PATH|ROOT|DIR|DIRECTORY|CACHE|VERSION|BUILD_NUMBER|ARCH_LIST|VISIBLE_DEVICES|PMI_LIBRARY)"
    r"|OMPI_MCA_orte_precondition_transports"
)
SET_UP = "HPCBENCH_SET_UP"  # set by the job script: the names of the variables that its modules and `setup` have set
_ALSO_RECORDED = re.compile(r"LOADEDMODULES|LD_LIBRARY_PATH|PYTHONHASHSEED|NVIDIA_\w+|\w+_VISIBLE_DEVICES")


def effect(name: str) -> Optional[str]:
    """Return what a variable changes in a measurement, e.g. `thread count`, or None."""
    return None if _PLACES.fullmatch(name) else _family(name)


def is_recorded(name: str) -> bool:
    """Return whether records have the value of a variable."""
    return _family(name) is not None or _ALSO_RECORDED.fullmatch(name) is not None


def allowed_variables(environment: Mapping[str, str]) -> Dict[str, str]:
    """Return the environment variables that a record may contain, sorted by name: no secrets."""
    names = [name for name in sorted(environment) if is_recorded(name) and not is_secret(name)]
    return {name: environment[name] for name in names}


def of(environment: Mapping[str, str]) -> Dict[str, str]:
    """Return the variables that change a measurement, sorted by name."""
    return {name: value for name, value in sorted(environment.items()) if effect(name)}


def outside(environment: Mapping[str, str], own: Iterable[str], set_up: str) -> List[str]:
    """Return the names of the variables that change a measurement, and that came from outside.

    Outside is the submitting shell, a hook of the site or the image of a container. `own` are the names that the
    parameters of the case set; `set_up` has those that modules and `setup` of the environment have set, separated by
    spaces or newlines.
    """
    return [name for name in of(environment) if name not in {*own, *set_up.split()}]


def warning(variables: Mapping[str, str]) -> str:
    """Return a warning about variables from outside, with what they change."""
    return "set outside the experiment and the site file: %s" % assigned(variables)


def assigned(variables: Mapping[str, str]) -> str:
    """Return `OMP_NUM_THREADS=1 (thread count), LD_PRELOAD=/x.so (preloaded libraries)`."""
    return ", ".join("%s=%s (%s)" % (name, value, effect(name)) for name, value in variables.items())


def _family(name: str) -> Optional[str]:
    return next((changed for changed, names in _NAMES.items() if names.fullmatch(name)), None)
