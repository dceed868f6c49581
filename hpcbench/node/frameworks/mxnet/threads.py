"""The effective threads of MXNet's engine, counted by operations that are pushed to the engine."""

import ctypes
import os
import threading
from typing import Any, Dict, Set

import mxnet as mx
from mxnet.base import _LIB, check_call

from ...launch import dynamic_linker

TIMEOUT_S = 10.0  # for existing threads, on a busy machine
EXTRA_S = 0.1  # for a thread beyond the expected number

_OPERATION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class _Context(ctypes.Structure):
    """The first fields of mxnet::Context, the device of an operation; 1 is the CPU."""

    _fields_ = [("device_type", ctypes.c_int), ("device_id", ctypes.c_int32)]


def in_effect() -> Dict[str, int]:
    """Return `intra_op`, OpenMP's threads for one operation, and `inter_op`, the engine's concurrent operations."""
    # A preloaded runtime serves the whole process; otherwise MXNet's library uses its own.
    everybodys = dynamic_linker.provider("omp_get_max_threads")
    openmp: Any = ctypes.CDLL(None if everybodys else mx.libinfo.find_lib_path()[0])
    expected = int(os.environ.get("MXNET_CPU_WORKER_NTHREADS") or 1)
    lock, together, resume = threading.Lock(), threading.Event(), threading.Event()
    inside: Set[int] = set()
    widths: Set[int] = set()

    def operation(run_context: Any, parameter: Any) -> None:
        with lock:
            inside.add(threading.get_ident())
            widths.add(openmp.omp_get_max_threads())
            if len(inside) >= expected:
                together.set()
        resume.wait(TIMEOUT_S)

    callback = _OPERATION(operation)
    mx.nd.waitall()
    for _ in range(expected + 1):
        check_call(_LIB.MXEnginePushSync(callback, None, None, ctypes.byref(_Context(1, 0)), *[None, 0] * 3, b"probe"))
    together.wait(TIMEOUT_S)
    resume.wait(EXTRA_S)
    found = {"intra_op": max(widths), "inter_op": len(inside)}
    resume.set()
    mx.nd.waitall()
    return found
