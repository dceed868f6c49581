"""Environment variables of a worker. Frameworks read them at import, so they must be set before the process starts."""

from typing import Any, Dict, Mapping, Optional, Sequence

PCI_BUS_ID = "PCI_BUS_ID"  # the CUDA_DEVICE_ORDER of NVML, nvidia-smi and Slurm; CUDA's default is FASTEST_FIRST
RETAIN = "glibc-retain"  # the allocator that retains the memory which a program frees: node/launch/allocator.py
RETAINING = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "-1"}


def for_worker(
    parameters: Mapping[str, Any], environment: Mapping[str, str], preloaded: Sequence[str] = ()
) -> Dict[str, str]:
    """Return the environment of a worker process, based on its supervisor's. `preloaded` are paths of libraries."""
    changed = dict(environment)
    framework = parameters["framework"]
    if parameters["intra_op_threads"] is not None:  # OpenMP sizes its pool at import, before any setter can be called
        changed["OMP_NUM_THREADS"] = str(parameters["intra_op_threads"])
    if preloaded:  # before the user's libraries: the first definition of a symbol is used
        changed["LD_PRELOAD"] = ":".join([*preloaded, *filter(None, [environment.get("LD_PRELOAD")])])
    if parameters["allocator"] == RETAIN:
        changed.update(RETAINING)
    if parameters["wait_policy"] is not None:
        changed.update(_waiting(parameters["wait_policy"], parameters["openmp"]))
    if parameters["onednn"] is not None:
        changed.update(dict.fromkeys(_ONEDNN.get(framework, ()), str(int(parameters["onednn"]))))
    if framework == "mxnet":
        changed.update(_mxnet(parameters))
    if framework.startswith("keras-"):
        changed["KERAS_BACKEND"] = framework[len("keras-") :]
    if framework == "keras-torch":
        changed["KERAS_TORCH_DEVICE"] = "cuda" if parameters["device"] == "gpu" else "cpu"
    if framework.endswith("tensorflow"):
        changed.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # warnings and errors
    if framework != "command":
        changed.setdefault("HF_HUB_OFFLINE", "1")  # Hugging Face libraries read local files only
    if framework != "command" and parameters["device"] == "cpu":
        changed.update(_without_gpus(framework))
    else:  # an index in CUDA_VISIBLE_DEVICES must be the same GPU for the monitor
        changed.setdefault("CUDA_DEVICE_ORDER", PCI_BUS_ID)
    return changed


def _mxnet(parameters: Mapping[str, Any]) -> Dict[str, str]:
    threads = parameters["inter_op_threads"]
    workers = {} if threads is None else {"MXNET_CPU_WORKER_NTHREADS": str(threads)}
    # Equal float32 arithmetic in all frameworks: cuDNN would round the inputs of convolutions to TF32 (10 bits).
    return {**workers, "NVIDIA_TF32_OVERRIDE": "0"} if parameters["device"] == "gpu" else workers


def _waiting(policy: str, openmp: Optional[str]) -> Dict[str, str]:
    """Return OMP_WAIT_POLICY, and KMP_BLOCKTIME of Intel's and LLVM's runtime (ms of spinning), which overrides it."""
    own = {} if openmp in (None, "gnu") else {"KMP_BLOCKTIME": "infinite" if policy == "active" else "0"}
    return {"OMP_WAIT_POLICY": policy.upper(), **own}


def _without_gpus(framework: str) -> Dict[str, str]:
    # Otherwise Keras on PyTorch would use a GPU, and TensorFlow would take the memory of all GPUs. HIP is AMD's.
    hidden = {"CUDA_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1"}
    # Otherwise JAX would warn that it finds no GPU.
    return {**hidden, "JAX_PLATFORMS": "cpu"} if framework.endswith("jax") else hidden


_TENSORFLOW = ("TF_ENABLE_ONEDNN_OPTS",)
# MXNet 1 uses the former name of oneDNN. PyTorch has a function instead of a variable.
_ONEDNN = {"tensorflow": _TENSORFLOW, "keras-tensorflow": _TENSORFLOW, "mxnet": ("MXNET_MKLDNN_ENABLED",)}
