"""The program that measures peak performance, with any Python that has the library: `python -c SOURCE REQUEST`.

It imports nothing of hpcbench, and prints one line of JSON. Two kernels run on every CPU of the request at once, with
one thread bound to each. Each thread has its own arrays, which it touches first, so that they are in near memory:

- a product of two square matrices by the library's BLAS, with one thread (by environment variables): 2 n^3 FLOPs for
  matrices of n by n. One product per CPU is as fast as one over all CPUs, and some BLAS have fewer threads than large
  nodes have CPUs;
- c = a + b over arrays much larger than the caches: "Add" of STREAM (McCalpin, 1995, "Memory bandwidth and machine
  balance in current high performance computers", IEEE TCCA Newsletter). Its traffic is that of "Triad", which numpy
  cannot do in one pass. As in STREAM, 12 bytes count per float32 element, two reads and one write, without the
  write-allocate traffic of c.

A peak is the best of several short runs, since other processes can only reduce it. On a GPU one thread runs the
kernels.
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
    """The kernels in numpy."""

    def __init__(self, device: str) -> None:
        import numpy

        self.numpy: Any = numpy
        self.gpu_model = None

    def name(self) -> str:
        """Return `numpy 2.4.6, scipy-openblas 0.3.31`, or without the BLAS for a numpy that does not report it."""
        version = "numpy %s" % self.numpy.__version__
        try:
            blas = self.numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
            return "%s, %s %s" % (version, blas["name"], blas["version"])
        except (TypeError, KeyError):
            return version

    def product(self, size: int, dtype: str) -> Step:
        """Return a function that multiplies two matrices of `size` by `size`."""
        generator = self.numpy.random.default_rng(0)
        left, right = (generator.random((size, size), dtype=dtype) for _ in range(2))
        result = self.numpy.empty_like(left)
        return lambda: self.numpy.matmul(left, right, out=result)

    def add(self, length: int) -> Step:
        """Return a function that adds two float32 arrays of `length`."""
        left, right, result = (self.numpy.ones(length, dtype="float32") for _ in range(3))
        return lambda: self.numpy.add(left, right, out=result)


class Torch:
    """The kernels in PyTorch, on `cpu` or on a GPU such as `cuda:0` (also AMD's), with float32 products not in TF32."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch: Any = torch
        self.device = device
        self.gpu_model = None
        if on_gpu(device):
            if not torch.cuda.is_available():
                raise ImportError("torch %s sees no GPU" % torch.__version__)
            torch.cuda.set_device(device)
            self.gpu_model = torch.cuda.get_device_name(device)
            torch.backends.cuda.matmul.allow_tf32 = False

    def name(self) -> str:
        """Return name and version of PyTorch."""
        return "torch %s" % self.torch.__version__

    def product(self, size: int, dtype: str) -> Step:
        """Return a function that multiplies two matrices of `size` by `size`."""
        kind = {"device": self.device, "dtype": getattr(self.torch, dtype)}
        left, right = (self.torch.rand(size, size, **kind) for _ in range(2))
        result = self.torch.empty_like(left)
        return lambda: self._finished(self.torch.mm(left, right, out=result))

    def add(self, length: int) -> Step:
        """Return a function that adds two float32 arrays of `length`."""
        left, right, result = (self.torch.ones(length, device=self.device) for _ in range(3))
        return lambda: self._finished(self.torch.add(left, right, out=result))

    def _finished(self, result: Any) -> None:
        if on_gpu(self.device):
            self.torch.cuda.synchronize()


LIBRARIES = {"numpy": Numpy, "torch": Torch}


def on_gpu(device: str) -> bool:
    """Return whether a device of PyTorch is a GPU."""
    return device.startswith("cuda")


def measure(request: Dict[str, Any]) -> Dict[str, Any]:
    """Return the peak of a request: FLOP/s by dtype and bytes/s of all CPUs together, or what is `missing`.

    The request has `library`, `device`, `cpus`, `dtypes`, `size` of the matrices, and `length` of the arrays of each
    thread, 0 for none.
    """
    try:
        library: Any = LIBRARIES[request["library"]](request["device"])
    except ImportError as error:
        return {"missing": str(error)}
    places: List[Optional[int]] = [None] if on_gpu(request["device"]) else request["cpus"]
    size, length = request["size"], request["length"]
    flops = {}
    for dtype in request["dtypes"]:
        flops[dtype] = 2 * size**3 * best_rate(partial(library.product, size, dtype), places)
    moved = 3 * ELEMENT * length * best_rate(partial(library.add, length), places) if length else None
    by = "%s, Python %s" % (library.name(), platform.python_version())
    return {"flops_per_s": flops, "bytes_per_s": moved, "by": by, "gpu_model": library.gpu_model}


def best_rate(make: Callable[[], Step], places: Sequence[Optional[int]]) -> float:
    """Return the steps per second over all threads in the best run. Each place has a thread with its own step."""
    together = threading.Barrier(len(places))

    def work(cpu: Optional[int]) -> List[float]:
        try:
            if cpu is not None:
                os.sched_setaffinity(0, [cpu])  # only this thread
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
        raise error  # the cause, not its consequence in the other threads
    return max(map(sum, zip(*(each.result() for each in working))))


def _rate(step: Step, together: threading.Barrier) -> float:
    """Return the steps per second of this thread while all threads run."""
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
    os.sched_setaffinity(0, asked["cpus"])  # before a library reads the number of CPUs
    print(json.dumps(measure(asked)))
