"""Settings of PyTorch on CPUs that are set by functions, and their effective values."""

from typing import Optional

import torch

from ...errors import Unsupported

_GRAIN = 32768  # minimum number of elements per thread of an operation (GRAIN_SIZE of ATen/TensorIterator.h)
_DENORMAL = 1e-310  # below float64's smallest normal number, 2.2e-308


def set_flush_denormals(flush: Optional[bool]) -> None:
    """Set the flushing of denormal numbers, for this thread and the threads that it starts: they inherit the register.

    Raise Unsupported if the CPU cannot flush.
    """
    if flush is not None and not torch.set_flush_denormal(flush):
        raise Unsupported("this CPU cannot flush denormal numbers to zero (torch.set_flush_denormal)")


def flushes_denormals() -> Optional[bool]:
    """Return whether a sum of denormal numbers is 0 in all threads of an operation; None if threads differ."""
    numbers = torch.full((2 * _GRAIN * torch.get_num_threads(),), _DENORMAL, dtype=torch.float64)
    kept = int((numbers + numbers).view(torch.int64).count_nonzero())  # as bits: a comparison would flush, too
    return {0: True, numbers.numel(): False}.get(kept)


def set_onednn(use: Optional[bool]) -> None:
    """Turn oneDNN on or off; None leaves it. Raise Unsupported if it is requested and was not built in."""
    if use and not torch.backends.mkldnn.is_available():
        raise Unsupported("PyTorch %s was built without oneDNN" % torch.__version__)
    if use is not None:
        torch.backends.mkldnn.set_flags(use)


def uses_onednn() -> bool:
    """Return whether oneDNN is built in and on."""
    return bool(torch.backends.mkldnn.is_available() and torch._C._get_mkldnn_enabled())
