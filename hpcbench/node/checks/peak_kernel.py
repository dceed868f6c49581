"""What measures a peak, in a process of its own and by whichever Python has the library: `python -c THIS REQUEST`.

It stands alone, imports nothing of hpcbench, and prints one line of JSON. Two kernels run on every CPU of the request
at once, one thread bound to each, and each with arrays of its own, which it touches first and so has near to it:

- a product of two square matrices by the library's BLAS, which gets one thread (from the environment): 2 n^3 operations
  for matrices of n by n. One product on each CPU, and not one on all: no BLAS reaches more that way, and some have
  fewer threads than large nodes have CPUs;
- c = a + b over arrays much larger than the caches: "Add" of STREAM (McCalpin, 1995, "Memory bandwidth and machine
  balance in current high performance computers", IEEE TCCA Newsletter). Its traffic is that of "Triad", which numpy
  cannot do in one pass. Counted as there: 12 bytes for each element of float32, two read and one written; what the
  caches read of c before it is written (write-allocate) is not counted.

A peak is the best of several short runs: others can only take from it. On a GPU the same is done by one thread.
"""

import json
import os
import platform
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence

RUNS, RUN_S = 10, 0.05
ELEMENT = 4  # bytes of a float32

Step = Callable[[], Any]


class Numpy:
    def __init__(self, device: str) -> None:
        import numpy

        self.numpy: Any = numpy
        self.gpu_model = None

    def name(self) -> str:
        """`numpy 2.4.6, scipy-openblas 0.3.31`; older ones do not tell their BLAS this way."""
        version = "numpy %s" % self.numpy.__version__
        try:
            blas = self.numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
            return "%s, %s %s" % (version, blas["name"], blas["version"])
        except (TypeError, KeyError):
            return version

    def product(self, size: int, dtype: str) -> Step:
        generator = self.numpy.random.default_rng(0)
        left, right = (generator.random((size, size), dtype=dtype) for _ in range(2))
        result = self.numpy.empty_like(left)
        return lambda: self.numpy.matmul(left, right, out=result)

    def add(self, length: int) -> Step:
        left, right, result = (self.numpy.ones(length, dtype="float32") for _ in range(3))
        return lambda: self.numpy.add(left, right, out=result)


class Torch:
    """On `cpu`, or on `cuda`, which is AMD's GPUs, too. float32 is that, and not TF32."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch: Any = torch
        self.device = device
        self.gpu_model = None
        if device == "cuda":
            if not torch.cuda.is_available():
                raise ImportError("torch %s sees no GPU" % torch.__version__)
            self.gpu_model = torch.cuda.get_device_name(0)
            torch.backends.cuda.matmul.allow_tf32 = False

    def name(self) -> str:
        return "torch %s" % self.torch.__version__

    def product(self, size: int, dtype: str) -> Step:
        kind = {"device": self.device, "dtype": getattr(self.torch, dtype)}
        left, right = (self.torch.rand(size, size, **kind) for _ in range(2))
        result = self.torch.empty_like(left)
        return lambda: self._finished(self.torch.mm(left, right, out=result))

    def add(self, length: int) -> Step:
        left, right, result = (self.torch.ones(length, device=self.device) for _ in range(3))
        return lambda: self._finished(self.torch.add(left, right, out=result))

    def _finished(self, result: Any) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()


LIBRARIES = {"numpy": Numpy, "torch": Torch}


def measure(request: Dict[str, Any]) -> Dict[str, Any]:
    """`library`, `device`, `cpus`, `dtypes`, `size` of the matrices, `length` of each thread's arrays, or 0 for none.

    Operations per second by dtype and bytes per second of all CPUs together; or what is `missing`.
    """
    try:
        library: Any = LIBRARIES[request["library"]](request["device"])
    except ImportError as error:
        return {"missing": str(error)}
    places: List[Optional[int]] = [None] if request["device"] == "cuda" else request["cpus"]
    size, length = request["size"], request["length"]
    flops = {}
    for dtype in request["dtypes"]:
        flops[dtype] = 2 * size**3 * best_rate(partial(library.product, size, dtype), places)
    moved = 3 * ELEMENT * length * best_rate(partial(library.add, length), places) if length else None
    by = "%s, Python %s" % (library.name(), platform.python_version())
    return {"flops_per_s": flops, "bytes_per_s": moved, "by": by, "gpu_model": library.gpu_model}


def best_rate(make: Callable[[], Step], places: Sequence[Optional[int]]) -> float:
    """Steps per second of one thread at each place together, in the best run; each makes a step of its own."""
    together = threading.Barrier(len(places))

    def work(cpu: Optional[int]) -> List[float]:
        try:
            if cpu is not None:
                os.sched_setaffinity(0, [cpu])  # of this thread alone
            step = make()
            step()
            return [_rate(step, together) for _ in range(RUNS)]
        except Exception:
            together.abort()  # the others would wait for ever
            raise

    with ThreadPoolExecutor(len(places)) as pool:
        working = [pool.submit(work, cpu) for cpu in places]
    failed = [error for error in (each.exception() for each in working) if error]
    for error in sorted(failed, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error  # the one that broke the barrier, and not what the others met there
    return max(map(sum, zip(*(each.result() for each in working))))


def _rate(step: Step, together: threading.Barrier) -> float:
    """Steps per second of this thread while all of them work."""
    together.wait()
    start, steps = time.perf_counter(), 0
    while True:
        step()
        steps += 1
        elapsed_s = time.perf_counter() - start
        if elapsed_s >= RUN_S:
            return steps / elapsed_s


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    os.sched_setaffinity(0, asked["cpus"])  # before a library looks how many there are
    print(json.dumps(measure(asked)))
