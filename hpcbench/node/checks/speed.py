"""The speed of this node, by short kernels on all cores of the job and on each of its GPUs, to be compared with others.

peak_kernel.py has the kernels. Each rate is the best of ten short runs, so that short interference does not change it.
"""

import os
import time
from typing import List, Optional, Sequence

from ...core.check_result import OK
from ...core.node_speed import MEMORY, NodeSpeed, Rate
from ..host import cpuinfo, gpus, hostname
from ..host.sysfs import System
from . import load
from .peaks import DevicePeaks, NotMeasured, of_counts, of_gpu, usable_cores


def measure_speed(system: System, pythons: Sequence[str]) -> NodeSpeed:
    """Return the rates of the kernels, and the load of other processes while they ran.

    The first of `pythons` with numpy, otherwise torch, measures the CPUs; the first whose torch supports it, a GPU.
    """
    rates: List[Rate] = []
    missing: List[str] = []
    before, start, used_s = load.snapshot(system), time.monotonic(), _used_by_kernels_s()
    cores = usable_cores(system)
    try:
        rates += _rates(of_counts(system, cores, [len(cores)], pythons), cpuinfo.model() or "unknown CPU", None)
    except NotMeasured as reason:
        missing.append("CPUs: %s" % reason)
    for index in range(gpus.count()):
        try:
            measured = of_gpu(system, pythons, device="cuda:%d" % index)
        except NotMeasured as reason:
            missing.append("GPU %d: %s" % (index, reason))
            continue
        rates += _rates(measured, measured.gpu_model or gpus.name(index) or "unknown GPU", index)
    ours = (_used_by_kernels_s() - used_s) / (time.monotonic() - start)
    seen = load.judge(system, before, load.snapshot(system), time.monotonic() - start, ours)
    with_interference = () if seen.level == OK else (seen,)
    return NodeSpeed(hostname.name(os.environ), tuple(rates), tuple(missing), with_interference)


def _rates(measured: DevicePeaks, model: str, gpu: Optional[int]) -> List[Rate]:
    """Return a rate of matrix products for each dtype, and one of memory if there is room for the arrays."""
    rates = []
    for peak in measured.peaks:
        rates.append(Rate(model, peak.cpus, gpu, "%s products" % peak.dtype, peak.flops_per_s, peak.measured_by))
    first = measured.peaks[0]
    if first.bytes_per_s is not None:
        rates.append(Rate(model, first.cpus, gpu, MEMORY, first.bytes_per_s, first.measured_by))
    return rates


def _used_by_kernels_s() -> float:
    """Return the CPU time of the child processes that have ended, in seconds: those of the kernels."""
    times = os.times()
    return times.children_user + times.children_system
