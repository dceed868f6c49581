"""The GPUs that this process sees, from the driver's library, without opening them.

The driver respects CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER. An index counts the visible GPUs, as in every framework.
"""

import ctypes
from typing import Any, Optional, Tuple

# The libraries of CUDA and ROCm, and their functions that initialize them and count the GPUs.
_DRIVERS = (("libcuda.so.1", "cuInit", "cuDeviceGetCount"), ("libamdhip64.so", "hipInit", "hipGetDeviceCount"))
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*, from cuda.h


def count() -> int:
    """Return the number of NVIDIA's GPUs or, if there are none, of AMD's."""
    for library, start, ask in _DRIVERS:
        driver, found = _library(library), ctypes.c_int(0)
        if driver and getattr(driver, start)(0) == 0 and getattr(driver, ask)(ctypes.byref(found)) == 0:
            return found.value
    return 0


def name(index: int) -> Optional[str]:
    """Return the model of a GPU; None if it is unknown."""
    text = ctypes.create_string_buffer(256)
    return text.value.decode() if _query("cuDeviceGetName", index, text, len(text)) else None


def identity(index: int) -> Optional[str]:
    """Return an id that is equal in every process that sees this GPU, or this MIG instance; None if it is unknown."""
    number = ctypes.create_string_buffer(16)
    # The older function returns the same id for all MIG instances of a GPU.
    known = _query("cuDeviceGetUuid_v2", index, number) or _query("cuDeviceGetUuid", index, number)
    return number.raw.hex() if known else None


def capability(index: int) -> Optional[Tuple[int, int]]:
    """Return CUDA's compute capability, (major, minor); None if it is unknown."""
    parts = (ctypes.c_int(0), ctypes.c_int(0))
    for part, attribute in zip(parts, (_MAJOR, _MINOR)):
        if not _query("cuDeviceGetAttribute", index, ctypes.byref(part), attribute):
            return None
    return parts[0].value, parts[1].value


def _query(function: str, index: int, *arguments: Any) -> bool:
    """Return whether CUDA's driver has filled in `arguments` for this GPU."""
    driver, device = _library("libcuda.so.1"), ctypes.c_int(0)
    if not driver or driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), index):
        return False
    ask = getattr(driver, function, None)  # missing in older drivers
    return ask is not None and ask(*arguments, device) == 0


def _library(path: str) -> Optional[ctypes.CDLL]:
    try:
        return ctypes.CDLL(path)
    except OSError:
        return None
