"""What stands in a worker's environment before its framework is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.core.variables.worker import for_worker

USERS = {"PATH": "/bin", "OMP_NUM_THREADS": "17"}


@pytest.fixture
def changed(make_parameters: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, str]]:
    """What differs from the supervisor's environment."""

    def change(environment: dict[str, str] = USERS, **changes: Any) -> dict[str, str]:
        before = dict(environment)
        after = for_worker(make_parameters(**changes), environment)
        assert environment == before, "the environment that was given is left as it was"
        assert set(before) <= set(after)
        return {name: value for name, value in after.items() if before.get(name) != value}

    return change


ON_GPU = {"device": "gpu", "gpus_per_task": 1}
GPUS = {"CUDA_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "0,1"}


COMMAND = {"framework": "command", "model": None, "command": "true"}


OFFLINE = {"HF_HUB_OFFLINE": "1"}


@pytest.mark.parametrize(("case", "others"), [(ON_GPU, OFFLINE), (COMMAND, {})])
def test_a_plain_case_numbers_gpus_as_the_monitor_does_and_leaves_the_rest_alone(
    changed: Callable[..., dict[str, str]], case: dict[str, Any], others: dict[str, str]
) -> None:
    assert changed(GPUS, **case) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **others}
    assert changed({"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, **case) == others, "chosen by the user"
    assert "CUDA_DEVICE_ORDER" not in changed(), "on the CPU"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_hugging_face_libraries_are_offline_unless_the_user_decides(
    changed: Callable[..., dict[str, str]], framework: str
) -> None:
    assert changed(framework=framework)["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in changed({"HF_HUB_OFFLINE": "0"}, framework=framework)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_openmp_gets_the_threads_of_every_framework(changed: Callable[..., dict[str, str]], framework: str) -> None:
    """It sizes its pool at import, before any setter can be called."""
    assert changed(framework=framework, intra_op_threads=3)["OMP_NUM_THREADS"] == "3"
    assert "OMP_NUM_THREADS" not in changed(framework=framework)


@pytest.mark.parametrize("backend", ["torch", "jax", "tensorflow"])
def test_keras_is_told_its_backend_whatever_the_user_has_set(
    changed: Callable[..., dict[str, str]], backend: str
) -> None:
    assert changed({"KERAS_BACKEND": "other"}, framework=f"keras-{backend}")["KERAS_BACKEND"] == backend


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_case_on_the_cpu_sees_no_gpu(changed: Callable[..., dict[str, str]], framework: str) -> None:
    on_cpu, on_gpu = changed(GPUS, framework=framework), changed(GPUS, framework=framework, **ON_GPU)
    assert {name: on_cpu[name] for name in GPUS} == dict.fromkeys(GPUS, "-1")
    assert not set(GPUS) & set(on_gpu)


def test_keras_on_pytorch_is_told_its_device_whatever_the_user_has_set(changed: Callable[..., dict[str, str]]) -> None:
    """Unset, it takes a GPU where there is one."""
    other = {"KERAS_TORCH_DEVICE": "xpu"}
    assert changed(other, framework="keras-torch")["KERAS_TORCH_DEVICE"] == "cpu"
    assert changed(other, framework="keras-torch", **ON_GPU)["KERAS_TORCH_DEVICE"] == "cuda"
    assert "KERAS_TORCH_DEVICE" not in changed(framework="keras-jax")


@pytest.mark.parametrize("framework", ["jax", "keras-jax"])
def test_jax_on_the_cpu_does_not_look_for_a_gpu(changed: Callable[..., dict[str, str]], framework: str) -> None:
    assert changed(framework=framework)["JAX_PLATFORMS"] == "cpu"
    assert "JAX_PLATFORMS" not in changed(framework=framework, **ON_GPU)


def test_mxnet_on_a_gpu_computes_float32_in_float32(changed: Callable[..., dict[str, str]]) -> None:
    """NVIDIA's libraries read this when they are first used, which can be while MXNet is imported."""
    assert changed(framework="mxnet", device="gpu", gpus_per_task=1)["NVIDIA_TF32_OVERRIDE"] == "0"
    assert "NVIDIA_TF32_OVERRIDE" not in changed(framework="mxnet")


def test_what_is_preloaded_comes_before_what_the_user_preloads(
    make_parameters: Callable[..., dict[str, Any]],
) -> None:
    users = {"LD_PRELOAD": "/usr/lib/libusers.so"}
    both = for_worker(make_parameters(), users, ["/lib/libomp.so.5", "/lib/libjemalloc.so.2"])
    assert both["LD_PRELOAD"] == "/lib/libomp.so.5:/lib/libjemalloc.so.2:/usr/lib/libusers.so"
    assert for_worker(make_parameters(), {}, ["/lib/libomp.so.5"])["LD_PRELOAD"] == "/lib/libomp.so.5"
    assert for_worker(make_parameters(), users)["LD_PRELOAD"] == "/usr/lib/libusers.so"


def test_glibcs_allocator_is_told_to_keep_what_is_freed_only_where_it_is_asked_for(
    changed: Callable[..., dict[str, str]],
) -> None:
    told = changed({"MALLOC_MMAP_MAX_": "65536"}, allocator="glibc-retain")
    assert (told["MALLOC_MMAP_MAX_"], told["MALLOC_TRIM_THRESHOLD_"]) == ("0", "-1")
    assert not any(name.startswith("MALLOC") for name in changed(allocator="jemalloc"))


@pytest.mark.parametrize(("openmp", "blocktime"), [("intel", "0"), ("llvm", "0"), ("gnu", None), (None, None)])
def test_a_wait_policy_is_told_in_the_words_of_each_runtime(
    changed: Callable[..., dict[str, str]], openmp: str | None, blocktime: str | None
) -> None:
    told = changed(openmp=openmp, wait_policy="passive")
    assert (told["OMP_WAIT_POLICY"], told.get("KMP_BLOCKTIME")) == ("PASSIVE", blocktime)
    assert changed(openmp="llvm", wait_policy="active")["KMP_BLOCKTIME"] == "infinite"


@pytest.mark.parametrize(
    ("framework", "variable"),
    [
        ("tensorflow", "TF_ENABLE_ONEDNN_OPTS"),
        ("keras-tensorflow", "TF_ENABLE_ONEDNN_OPTS"),
        ("mxnet", "MXNET_MKLDNN_ENABLED"),
    ],
)
def test_onednn_is_chosen_by_the_frameworks_own_variable(
    changed: Callable[..., dict[str, str]], framework: str, variable: str
) -> None:
    assert changed(framework=framework, onednn=True)[variable] == "1"
    assert changed(framework=framework, onednn=False)[variable] == "0"
    assert variable not in changed(framework=framework)
    assert variable not in changed(framework="pytorch", onednn=False)


def test_mxnet_reads_its_threads_when_it_is_imported(changed: Callable[..., dict[str, str]]) -> None:
    assert changed(framework="mxnet", inter_op_threads=2)["MXNET_CPU_WORKER_NTHREADS"] == "2"
    assert "MXNET_CPU_WORKER_NTHREADS" not in changed(framework="pytorch", inter_op_threads=2)
