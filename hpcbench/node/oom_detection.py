"""Detect that memory ran out, from the messages of the frameworks' allocators, of Python programs and of Slurm.

The patterns have no other meaning. TensorFlow and XLA also report RESOURCE_EXHAUSTED for a full disk, a message that is
too long, or a kernel that exceeds the shared memory of a GPU, and any error may mention memory.
"""

import re
from typing import List, Optional

# Messages of CUDA and HIP that PyTorch and MXNet pass on, of the driver, Triton, NCCL, cuBLAS, cuDNN and others.
_OF_GPUS = (
    r"\b(?:CUDA|HIP|XPU)(?: driver)?(?: error)?:? out of memory",
    r"\bTriton Error \[(?:CUDA|HIP)\]: out of memory",
    r"\bCuda failure (?:\d+ )?'out of memory'",
    r"\bcudaMalloc(?: retry)? failed: out of memory",
    r"\bCUDA_ERROR_OUT_OF_MEMORY\b",
    r"\bhipErrorOutOfMemory\b",
    r"\b(?:CU|HIP)\w+_ALLOC_FAILED\b",
    r"\bmiopenStatusAllocFailed\b",
)
_OF_CPP = (r"\bstd::bad_alloc\b",)
_OF_XLA = (
    r"\bOut of memory (?:while trying to allocate|allocating) \d",
    r"\bFailed to allocate (?:request for )?[\d.]+ ?(?:[KMGT]i?B|bytes)",
    r"\bRan out of memory in memory space\b",
)
_OF_PYTORCH = (r"\bDefaultCPUAllocator: (?:can't allocate|not enough) memory",)
# The destination of a copy is not initialized if it could not be allocated.
_OF_TENSORFLOW = (
    r"\bOOM when allocating tensor\b",
    r"\bfailed to allocate memory\b",
    r"\bDst tensor is not initialized",
)
_OF_MXNET = (r"\bFailed to allocate \w+ Memory\b",)
_OF_ONNXRUNTIME = (r"\bFailed to allocate memory for requested buffer of size \d",)

# Patterns as text, which `re` compiles at their first use: a rank uses few of them.
PYTORCH = "|".join((*_OF_PYTORCH, *_OF_GPUS, *_OF_CPP))
TENSORFLOW = "|".join((*_OF_TENSORFLOW, *_OF_XLA, *_OF_GPUS, *_OF_CPP))
JAX = "|".join((*_OF_XLA, *_OF_GPUS, *_OF_CPP))
MXNET = "|".join((*_OF_MXNET, *_OF_GPUS, *_OF_CPP))
ONNXRUNTIME = "|".join((*_OF_ONNXRUNTIME, *_OF_GPUS, *_OF_CPP))

# Exceptions of Python, NumPy, PyTorch and CuPy that have no other meaning, and those that require one of the patterns
# above.
_BY_NAME = ("MemoryError", "_ArrayMemoryError", "OutOfMemoryError")
_BY_WORDS = {
    **dict.fromkeys(("RuntimeError", "AcceleratorError", "DistBackendError"), PYTORCH),
    **dict.fromkeys(("ResourceExhaustedError", "InternalError"), TENSORFLOW),
    **dict.fromkeys(("JaxRuntimeError", "XlaRuntimeError"), JAX),
    "MXNetError": MXNET,
}
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = r"(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?:: (.*))?\Z"
# Lines that may follow the exception: the rest of its message, and final messages of the libraries.
_AFTER = (
    r"\s|(?:CUDA|HIP) kernel errors might be asynchronously reported|For debugging consider passing (?:CUDA|AMD)_"
    r"|Compile with `TORCH_USE_(?:CUDA|HIP)_DSA`|Search for `(?:cuda|hip)Error"  # PyTorch
    r"|-{20}\Z|For simplicity, JAX has removed its internal frames"
    r"|Hint: If you want to see a list of allocated tensors|Detected at node |<stack traces unavailable>"  # TensorFlow
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] \S+:\d+\] "  # TensorFlow's log, Abseil's, PyTorch's
    r"|[IWE]\d{4} \d\d:\d\d:\S+ +\d+ \S+:\d+\] "
    r"|(?:\[rank\d+\]:)?\[[IWE]\d* ?\S* ?\w+\.cpp:\d+\] "
    r"|\S+:\d+: \w*Warning: |(?:srun|slurmstepd)\S*: "
)

# The beginning of an error of slurmstepd in the log of a job; since Slurm 26.05, it may be the time.
SLURMSTEPD = r"(?:slurmstepd\S*:|^\[[^\]]*\]) error: "
# From cgroups, or from periodic checks of each process (JobAcctGather); Slurm 17.11 to 26.05.
_BY_SLURM = (
    SLURMSTEPD + r".*(?:oom.kill event|exceeded (?:job )?memory limit)"
    r"|srun: error: \S+: tasks? [\d,-]+: Out Of Memory"
)


def last_word(lines: List[str]) -> Optional[str]:
    """Return the last uncaught exception on standard error if it means that memory ran out, otherwise None."""
    begun = max((place for place, line in enumerate(lines) if line.endswith(_TRACEBACK)), default=None)
    message = (
        [] if begun is None else [line for line in lines[begun + 1 :] if line.strip() and not line.startswith(" ")]
    )
    raised = re.match(_RAISED, message[0]) if message else None
    if raised is None or not all(re.match(_AFTER, line) for line in message[1:]):
        return None
    name, words = raised.group(1), raised.group(2) or ""
    sure = name in _BY_NAME or (name in _BY_WORDS and re.search(_BY_WORDS[name], words))
    return message[0] if sure else None


def by_slurm(lines: List[str]) -> bool:
    """Return whether a log reports that Slurm or the kernel killed tasks of the job because memory ran out."""
    return any(re.search(_BY_SLURM, line) for line in lines)
