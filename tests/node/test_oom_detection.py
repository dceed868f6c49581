"""The words by which it is told that memory ran out, and those that only speak of memory."""

from __future__ import annotations

import re

import pytest

from hpcbench.node import oom_detection

# As their sources and users' reports have them.
SURE = {
    "PYTORCH": [
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried",
        "[enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: not enough memory: you tried",
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity)",
        "HIP out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 63.98 GiB",
        "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call",
        "CUDA driver error: out of memory",
        "Triton Error [CUDA]: out of memory",
        "NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled cuda error\nLast error:\nCuda failure 2 'out of memory'",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "std::bad_alloc",
    ],
    "TENSORFLOW": [
        "{{function_node __wrapped__Fill}} OOM when allocating tensor with shape[10000000] and type float on CPU:0",
        "Out of memory while trying to allocate 36.38TiB. [Op:__inference_f_16]",
        "{{function_node __wrapped__AddV2}} failed to allocate memory [Op:AddV2] name:",
        "Failed copying input tensor from CPU:0 to GPU:0 in order to run _EagerConst: Dst tensor is not initialized.",
        "cuDNN launch failure: CUDNN_STATUS_ALLOC_FAILED",
    ],
    "JAX": [
        "RESOURCE_EXHAUSTED: Out of memory allocating 400000000000000 bytes.",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 33762398024 bytes.",
        "RESOURCE_EXHAUSTED: Failed to allocate request for 2.0GiB (2147483648B) on device ordinal 0",
        "INTERNAL: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    ],
    "MXNET": [
        'Traceback (most recent call last):\n  File "../x.h", line 75\nMXNetError: Failed to allocate CPU Memory',
        'Traceback (most recent call last):\n  File "x.h"\nMXNetError: cudaMalloc retry failed: out of memory',
        "Check failed: e == cudaSuccess || e == cudaErrorCudartUnloading: CUDA: out of memory",
        "std::bad_alloc",
    ],
}
UNSURE = [
    "CUDA error: an illegal memory access was encountered",
    "the kernel ran out of memory operands",
    "this is not enough memory bandwidth",
    "could not create a memory object",
    "expected a tensor in channels_last memory format",
    "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 110592, available: 101376",
    "RESOURCE_EXHAUSTED: Sent message larger than max (4194309 vs. 4194304)",
    "out of resource: shared memory, Required: 147456, Hardware limit: 101376",
    "{{function_node __wrapped__WriteFile}} /data/x; No space left on device [Op:WriteFile]",
    "unable to open shared memory object </torch_1_2> in read/write mode: Too many open files (24)",
    "Failed to allocate a port",
    "Size of tensor you are trying to allocate is larger than 2^31 elements",
    "",
]


@pytest.mark.parametrize(("framework", "words"), [(name, words) for name, listed in SURE.items() for words in listed])
def test_the_words_of_an_allocator_mean_that_memory_ran_out(framework: str, words: str) -> None:
    assert re.search(getattr(oom_detection, framework), words)


@pytest.mark.parametrize("framework", SURE)
@pytest.mark.parametrize("words", UNSURE)
def test_words_that_only_speak_of_memory_mean_nothing(framework: str, words: str) -> None:
    assert not re.search(getattr(oom_detection, framework), words)


def report(*ends: str) -> list[str]:
    """What Python prints of an exception that nobody caught."""
    return ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "    step()", *ends]


@pytest.mark.parametrize(
    "raised",
    [
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 1.28 TiB for an array with shape (17640000,)",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
        "torch.cuda.OutOfMemoryError: HIP out of memory.",
        f"RuntimeError: {SURE['PYTORCH'][0]}",
        f"jax.errors.JaxRuntimeError: {SURE['JAX'][0]}",
        f"tensorflow.python.framework.errors_impl.ResourceExhaustedError: {SURE['TENSORFLOW'][0]}",
    ],
)
@pytest.mark.parametrize(
    "after",
    [
        [],
        [
            "",
            "2026-11-22 12:00:00.000001: W tensorflow/core/framework/local_rendezvous.cc:404] a library says good-bye",
        ],
        ["I0000 00:00:1763812800.000001  4711 rocm_dnn.cc:12] a library says good-bye"],
        ["[rank0]:[W1122 12:00:00.000001 ProcessGroupNCCL.cpp:1250] Warning: destroy_process_group() was not called"],
        ["[W ProcessGroupNCCL.cpp:1113] Warning: destroy_process_group() was not called"],
        ["/usr/lib/python3.11/multiprocessing/resource_tracker.py:224: UserWarning: 1 leaked", "  warnings.warn('x')"],
        [
            "CUDA kernel errors might be asynchronously reported at some other API call.",
            "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
            "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        ],
        [
            "--------------------",
            "For simplicity, JAX has removed its internal frames from the traceback of the following",
        ],
        ["\t [[{{node MatMul}}]]", "Hint: If you want to see a list of allocated tensors when OOM happens, add"],
    ],
)
def test_a_program_whose_last_word_is_that_memory_ran_out(raised: str, after: list[str]) -> None:
    assert oom_detection.last_word(["starting", *report(raised), *after]) == raised


def test_of_mxnet_the_exception_follows_its_own_traceback() -> None:
    of_cpp = ["mxnet.base.MXNetError: Traceback (most recent call last):", '  File "../src/storage/x.h", line 187']
    said = "MXNetError: cudaMalloc retry failed: out of memory"
    assert oom_detection.last_word([*report(), *of_cpp, said]) == said


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["MemoryError"],
        ["CUDA out of memory. Tried to allocate 20.00 MiB."],
        report(),
        report("ValueError: CUDA out of memory is what we look for"),
        report("RuntimeError: the kernel ran out of memory operands"),
        report("tensorflow.errors_impl.ResourceExhaustedError: /data/x; No space left on device"),
        [*report("MemoryError"), "falling back to a smaller cache", "error: no such data set"],
        [*report("MemoryError"), "2026-11-22 12:00:00,001 ERROR no such data set"],
        [*report("MemoryError"), "trying half of the batch", *report("AssertionError: the loss is nan")],
        report("NotAMemoryErrorAtAll: CUDA out of memory."),
    ],
)
def test_any_other_last_word_means_nothing(lines: list[str]) -> None:
    assert oom_detection.last_word(lines) is None


@pytest.mark.parametrize(
    "line",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.",
        "slurmstepd: error: Detected 1 oom-kill event(s) in step 12.0 cgroup. Some of your processes may have been",
        "50 %slurmstepd: error: Detected 2 oom_kill events in StepId=12.0. Some of the step tasks have been OOM",
        "slurmstepd: error: Step 12.0 exceeded memory limit (1100 > 1024), being killed",
        "slurmstepd: error: StepId=12.0 exceeded memory limit (1100 > 1024), being killed",
        "srun: error: n1: task 0: Out Of Memory",
        "srun: error: n[1-2]: tasks 0-3,7: Out Of Memory",
    ],
)
def test_slurm_says_that_it_or_the_kernel_killed_tasks_for_memory(line: str) -> None:
    assert oom_detection.by_slurm(["starting", line, "srun: Terminating StepId=12.0"])


@pytest.mark.parametrize(
    "line",
    [
        "warning: out of memory soon",
        "exceeded memory limit of the cache",
        "oom_kill event seen on another node",
        "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO TIME LIMIT ***",
        "srun: error: n1: task 0: Killed",
    ],
)
def test_words_of_the_program_are_none_of_slurm(line: str) -> None:
    assert not oom_detection.by_slurm([line])
