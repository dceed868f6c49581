"""The environment variables that change a measurement, and those of them that came from outside."""

from __future__ import annotations

import pytest

from hpcbench.core.variables import performance

EFFECTS = {
    "OMP_NUM_THREADS": "thread count",
    "MKL_NUM_THREADS": "thread count",
    "OPENBLAS_NUM_THREADS": "thread count",
    "NUMEXPR_MAX_THREADS": "thread count",
    "VECLIB_MAXIMUM_THREADS": "thread count",
    "TF_NUM_INTRAOP_THREADS": "thread count",
    "MKL_DYNAMIC": "thread count",
    "BLIS_JC_NT": "thread count",
    "OMP_PROC_BIND": "CPU binding",
    "OMP_PLACES": "CPU binding",
    "KMP_AFFINITY": "CPU binding",
    "GOMP_CPU_AFFINITY": "CPU binding",
    "KMP_BLOCKTIME": "OpenMP runtime",
    "OMP_WAIT_POLICY": "OpenMP runtime",
    "NVIDIA_TF32_OVERRIDE": "arithmetic precision",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "arithmetic precision",
    "MKL_ENABLE_INSTRUCTIONS": "math libraries",
    "TF_ENABLE_ONEDNN_OPTS": "math libraries",
    "MALLOC_ARENA_MAX": "memory allocation",
    "PYTORCH_CUDA_ALLOC_CONF": "memory allocation",
    "LD_PRELOAD": "preloaded libraries",
    "CUDA_LAUNCH_BLOCKING": "GPU",
    "CUDA_DEVICE_ORDER": "GPU",
    "NCCL_ALGO": "communication",
    "OMPI_MCA_btl": "communication",
    "I_MPI_FABRICS": "communication",
    "MV2_USE_CUDA": "communication",
    "MPICH_GPU_SUPPORT_ENABLED": "communication",
    "FI_PROVIDER": "communication",
    "I_MPI_PIN_DOMAIN": "CPU binding",
    "MV2_ENABLE_AFFINITY": "CPU binding",
    "XLA_FLAGS": "framework",
    "TORCH_LOGS": "framework",
}
WITHOUT = (
    *("CUDA_HOME", "CUDA_VISIBLE_DEVICES", "TORCH_HOME", "NCCL_VERSION", "PYTORCH_BUILD_NUMBER", "TRITON_CACHE_DIR"),
    *("LD_LIBRARY_PATH", "LOADEDMODULES", "NVIDIA_VISIBLE_DEVICES", "PATH", "SLURM_JOB_ID", "TF_CPP_MIN_LOG_LEVEL"),
    *("I_MPI_ROOT", "FI_PROVIDER_PATH", "OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_precondition_transports"),
)


@pytest.mark.parametrize("name", [*EFFECTS, *WITHOUT])
def test_a_variable_has_an_effect_or_none(name: str) -> None:
    assert performance.effect(name) == EFFECTS.get(name)
    assert performance.is_recorded(name) or name not in EFFECTS


def test_a_variable_for_a_location_has_no_effect_and_is_recorded() -> None:
    recorded = ("CUDA_HOME", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "LOADEDMODULES", "NCCL_VERSION")
    assert all(map(performance.is_recorded, recorded))


def test_what_the_case_or_the_set_up_has_set_is_not_from_outside() -> None:
    environment = {"OMP_NUM_THREADS": "1", "OMP_PLACES": "cores", "KMP_BLOCKTIME": "0", "HOME": "/home/me"}
    assert performance.outside(environment, [], "") == ["KMP_BLOCKTIME", "OMP_NUM_THREADS", "OMP_PLACES"]
    assert performance.outside(environment, ["OMP_NUM_THREADS"], "_\nOMP_PLACES\n") == ["KMP_BLOCKTIME"]


def test_a_warning_says_what_they_change() -> None:
    assert performance.warning({"OMP_NUM_THREADS": "1", "LD_PRELOAD": "/x.so"}) == (
        "set outside the experiment and the site file: OMP_NUM_THREADS=1 (thread count), "
        "LD_PRELOAD=/x.so (preloaded libraries)"
    )
